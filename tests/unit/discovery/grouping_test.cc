#include "discovery/grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "specs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Grouped;
using test::Ids;
using test::RegexMatch;
using test::Rejected;
using test::Resource;
using test::Without;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSound = R"(/dev/snd/(?P<kind>control|pcm)C(?P<card>\d+)(?P<rest>.*))";

class GroupingTest : public testing::Test {
 protected:
  void Add(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) tree_.File("dev/snd/" + node);
  }

  Discovery Find(const std::vector<std::string_view>& require = {},
                 std::string_view by = "card") const {
    return Discover(Resource({Grouped(RegexMatch(kSound, NodeType::kFile), by, require)}),
                    HostRoot(tree_.path()), "");
  }

  static std::vector<std::string> PathsOf(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes) paths.push_back(node.path);
    return paths;
  }

  test::TempTree tree_;
};

TEST_F(GroupingTest, GroupsNodesByValueInPathOrder) {
  Add({"pcmC1D10p", "pcmC1D2p", "controlC1", "controlC0", "pcmC0D0c", "timer"});
  const Discovery found = Find();
  ASSERT_THAT(Ids(found), ElementsAre("0", "1"));
  EXPECT_THAT(PathsOf(found.devices[0]), ElementsAre("/dev/snd/controlC0", "/dev/snd/pcmC0D0c"));
  EXPECT_THAT(PathsOf(found.devices[1]),
              ElementsAre("/dev/snd/controlC1", "/dev/snd/pcmC1D2p", "/dev/snd/pcmC1D10p"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(GroupingTest, TogetherMakesOneDeviceOfAllNodes) {
  MatchSpec match = test::PathMatch({"/dev/kvm", "/dev/{net/tun,vfio/*}"}, NodeType::kFile);
  match.together = true;
  const auto find = [&] { return Discover(Resource({match}), HostRoot(tree_.path()), ""); };
  for (const char* node : {"dev/vfio/7", "dev/kvm", "dev/vfio/12"}) tree_.File(node);
  Discovery found = find();
  EXPECT_THAT(found.devices, IsEmpty()) << "each alternative needs a node";
  ASSERT_THAT(Rejected(found.rejected), ElementsAre("incomplete /dev/kvm"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("needs a node /dev/net/tun; it has /dev/kvm"));
  const MatchSpec named = test::WithId(match, "vm");
  EXPECT_THAT(Discover(Resource({named}), HostRoot(tree_.path()), "").rejected.at(0).detail,
              HasSubstr("the device \"vm\" needs a node"));
  tree_.File("dev/net/tun");
  found = find();
  ASSERT_THAT(found.devices, testing::SizeIs(1));
  EXPECT_THAT(PathsOf(found.devices[0]),
              ElementsAre("/dev/kvm", "/dev/net/tun", "/dev/vfio/7", "/dev/vfio/12"));
  EXPECT_THAT(found.rejected, IsEmpty());
  const std::string id = found.devices[0].id;
  EXPECT_THAT(id, testing::StartsWith("kvm+tun+"));
  std::filesystem::remove(tree_.path() + "/dev/vfio/12");
  EXPECT_EQ(find().devices.at(0).id, id) << "the ID does not depend on the nodes";
}

TEST_F(GroupingTest, EveryNodeKeepsItsOwnValues) {
  Add({"controlC7", "pcmC7D0p"});
  const Discovery found = Find();
  ASSERT_THAT(Ids(found), ElementsAre("7"));
  EXPECT_EQ(found.devices[0].nodes[0].captures,
            (NamedValues{{"kind", "control"}, {"card", "7"}, {"rest", ""}}));
  EXPECT_EQ(found.devices[0].nodes[1].captures,
            (NamedValues{{"kind", "pcm"}, {"card", "7"}, {"rest", "D0p"}}));
}

TEST_F(GroupingTest, RejectsOnlyDevicesThatLackARequiredNode) {
  Add({"controlC0", "pcmC0D0p", "controlC1", "pcmC2D0p"});
  const Discovery found = Find({"/dev/snd/controlC*", "/dev/snd/pcmC*"});
  EXPECT_THAT(Ids(found), ElementsAre("0"));
  ASSERT_THAT(Rejected(found.rejected),
              ElementsAre("incomplete /dev/snd/controlC1", "incomplete /dev/snd/pcmC2D0p"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("/dev/snd/pcmC*"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("\"1\""));
  EXPECT_THAT(found.rejected[1].detail, HasSubstr("/dev/snd/controlC*"));
}

TEST_F(GroupingTest, RejectsNodesWithoutTheGroupingValue) {
  tree_.File("dev/a1");
  tree_.File("dev/b");
  const MatchSpec match = RegexMatch(R"(/dev/(a(?P<n>\d)|b))", NodeType::kFile);
  const Discovery found = Discover(Resource({Grouped(match, "n")}), HostRoot(tree_.path()), "");
  EXPECT_THAT(Ids(found), ElementsAre("1"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("missing_variable /dev/b"));
}

TEST_F(GroupingTest, DoesNotGroupAcrossMatches) {
  tree_.File("dev/a1");
  tree_.File("dev/b1");
  const auto match = [](std::string_view pattern) {
    return test::WithId(Grouped(RegexMatch(pattern, NodeType::kFile), "n"), "{name}");
  };
  const Discovery found =
      Discover(Resource({match(R"(/dev/a(?P<n>\d))"), match(R"(/dev/b(?P<n>\d))")}),
               HostRoot(tree_.path()), "");
  EXPECT_THAT(Ids(found), ElementsAre("a1", "b1"));
}

TEST_F(GroupingTest, GroupsByAnyVariable) {
  Add({"controlC0", "controlC1", "pcmC0D0p"});
  EXPECT_THAT(Ids(Find({}, "kind")), ElementsAre("control", "pcm"));
  EXPECT_THAT(Ids(Find({}, "name")), ElementsAre("controlC0", "controlC1", "pcmC0D0p"));
}

TEST_F(GroupingTest, RequireWorksWithoutGroupBy) {
  Add({"controlC0", "pcmC0D0p"});
  MatchSpec match = RegexMatch(kSound, NodeType::kFile);
  match.require.push_back(Glob::Compile("/dev/snd/pcm*").value());
  const Discovery found = Discover(Resource({match}), HostRoot(tree_.path()), "");
  EXPECT_THAT(Ids(found), ElementsAre("pcmC0D0p"));
}

TEST_F(GroupingTest, ExcludedNodeExcludesItsDevice) {
  Add({"controlC0", "pcmC0D0p", "controlC1", "pcmC1D3p", "hwC1D0"});
  tree_.Link("dev/snd/by-path/pci-hdmi", "../pcmC1D3p");
  const auto found = [&](std::string_view exclude) {
    return Discover(
        Resource({Grouped(Without(RegexMatch(kSound, NodeType::kFile), exclude), "card")}),
        HostRoot(tree_.path()), ScanRequest{.report = true});
  };
  for (const char* exclude : {"/dev/snd/controlC1", "/dev/snd/{controlC1,x}",
                              "/dev/snd/by-path/pci-hdmi", "/dev/snd/by-path/*"}) {
    const Discovery discovery = found(exclude);
    EXPECT_THAT(Ids(discovery), ElementsAre("0")) << exclude;
    EXPECT_THAT(discovery.rejected, IsEmpty()) << exclude;
    std::vector<std::string> drops;
    for (const auto& drop : discovery.reports.at(0).drops) drops.push_back(drop.detail);
    EXPECT_THAT(drops, testing::UnorderedElementsAre(
                           HasSubstr("it is excluded by "),
                           HasSubstr("the device \"1\", which it belongs to, is excluded: it is")));
  }
  EXPECT_THAT(Ids(found("/dev/snd/timer")), ElementsAre("0", "1"));
}

TEST_F(GroupingTest, PatternOfNodesExcludesOnlyThem) {
  Add({"controlC0", "pcmC0D0p", "controlC1", "pcmC1D3p"});
  const Discovery found = Discover(
      Resource(
          {Grouped(Without(RegexMatch(kSound, NodeType::kFile), "/dev/snd/control*"), "card")}),
      HostRoot(tree_.path()), "");
  EXPECT_THAT(test::Paths(found), ElementsAre("/dev/snd/pcmC0D0p", "/dev/snd/pcmC1D3p"));
}

TEST_F(GroupingTest, NameOfADeviceExcludesItDespiteAPatternOfNodes) {
  Add({"controlC0", "pcmC0D0p", "controlC1", "pcmC1D3p"});
  MatchSpec match = Grouped(RegexMatch(kSound, NodeType::kFile), "card");
  match = Without(Without(match, "/dev/snd/control*"), "/dev/snd/controlC1");
  EXPECT_THAT(test::Paths(Discover(Resource({match}), HostRoot(tree_.path()), "")),
              ElementsAre("/dev/snd/pcmC0D0p"));
}

TEST_F(GroupingTest, ExcludedNodeWithoutAValueHasNoDevice) {
  tree_.File("dev/a1");
  tree_.File("dev/b");
  const MatchSpec match = RegexMatch(R"(/dev/(a(?P<n>\d)|b))", NodeType::kFile);
  const Discovery found =
      Discover(Resource({Grouped(Without(match, "/dev/b"), "n")}), HostRoot(tree_.path()), "");
  EXPECT_THAT(Ids(found), ElementsAre("1"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(GroupingTest, TogetherLosesOnlyTheExcludedNode) {
  Add({"controlC0", "seq", "timer"});
  MatchSpec match = Without(test::PathMatch({"/dev/snd/*"}, NodeType::kFile), "/dev/snd/seq");
  match.together = true;
  EXPECT_THAT(test::Paths(Discover(Resource({match}), HostRoot(tree_.path()), "")),
              ElementsAre("/dev/snd/controlC0", "/dev/snd/timer"));
}

/// Nodes that are grouped by what sysfs has of them.
class SysfsGroupingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  }

  /// A drive with a block node and its SCSI generic node.
  void Drive(const std::string& host, const std::string& address, int number,
             const std::string& bus = "scsi") {
    const std::string device = kController + "/" + host + "/" + address;
    const std::string n = std::to_string(number);
    sysfs_.Device(device, {.subsystem = bus, .driver = "sr"});
    sysfs_.Device(device + "/block/sr" + n, {.subsystem = "block", .number = "11:" + n});
    sysfs_.Device(device + "/scsi_generic/sg" + n,
                  {.subsystem = "scsi_generic", .number = "21:" + n});
  }
  /// A function of a card with one node.
  void Function(const std::string& address, int number) {
    const std::string n = std::to_string(number);
    sysfs_.Device("/sys/devices/pci0000:3a/" + address, {.subsystem = "pci", .driver = "xclmgmt"});
    sysfs_.Device("/sys/devices/pci0000:3a/" + address + "/misc/card" + n,
                  {.subsystem = "misc", .number = "10:" + n});
  }

  Discovery Find(const std::vector<std::string_view>& paths, std::string_view by) const {
    MatchSpec match = Grouped(test::PathMatch(paths), by);
    match.conditions.udev = UdevPattern{{NamePattern::Compile("*").value()}, {}, {}, {}};
    return Discover(Resource({match}), HostRoot(tree_.path()), "");
  }
  static std::vector<std::size_t> Sizes(const Discovery& found) {
    std::vector<std::size_t> sizes;
    for (const Device& device : found.devices) sizes.push_back(device.nodes.size());
    return sizes;
  }

  static inline const std::string kController = "/sys/devices/pci0000:00/0000:00:1f.2";
  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(SysfsGroupingTest, NodesOfOneParentAreOneDevice) {
  Drive("host1", "1:0:0:0", 0);
  Drive("host2", "2:0:0:0", 1);
  const Discovery found = Find({"/dev/sr*", "/dev/sg*"}, "parent");
  EXPECT_THAT(Ids(found), ElementsAre("1:0:0:0", "2:0:0:0"));
  EXPECT_THAT(Sizes(found), ElementsAre(2, 2));
}

TEST_F(SysfsGroupingTest, ParentsOfOneNameStayTwoDevices) {
  Drive("host1", "0:0", 0);
  Drive("host2", "0:0", 1, "ata");
  const Discovery found = Find({"/dev/sr*", "/dev/sg*"}, "parent");
  EXPECT_THAT(found.devices, IsEmpty());
  EXPECT_THAT(Rejected(found.rejected),
              ElementsAre(HasSubstr("duplicate_id"), HasSubstr("duplicate_id")));
}

TEST_F(SysfsGroupingTest, FunctionsOfOneCardAreOneDevice) {
  Function("0000:3b:00.0", 1);
  Function("0000:3b:00.1", 2);
  Function("0000:5e:00.0", 3);
  const Discovery found = Find({"/dev/card*"}, "pci_slot");
  EXPECT_THAT(Ids(found), ElementsAre("0000:3b:00", "0000:5e:00"));
  EXPECT_THAT(Sizes(found), ElementsAre(2, 1));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(SysfsGroupingTest, NotExcludesTheDeviceOfANodeThatMeetsIt) {
  Drive("host1", "1:0:0:0", 0);
  Drive("host2", "2:0:0:0", 1);
  tree_.File(kController.substr(1) + "/host2/2:0:0:0/scsi_generic/sg1/virtual", "1\n");
  for (const bool by_udev : {false, true}) {
    MatchSpec match = test::PathMatch({"/dev/sr*", "/dev/sg*"});
    if (by_udev) match.source = UdevPattern{{NamePattern::Compile("[bs]*").value()}, {}, {}, {}};
    match.negated.udev =
        UdevPattern{{}, {}, {}, {{"virtual", {NamePattern::Compile("1").value()}}}};
    EXPECT_THAT(
        test::Paths(Discover(Resource({Grouped(match, "parent")}), HostRoot(tree_.path()), "")),
        ElementsAre("/dev/sg0", "/dev/sr0"))
        << by_udev;
  }
}

TEST_F(SysfsGroupingTest, ExcludedFunctionExcludesItsCard) {
  Function("0000:3b:00.0", 1);
  Function("0000:3b:00.1", 2);
  Function("0000:5e:00.0", 3);
  MatchSpec match;
  match.source = PciPattern{};
  match = Grouped(Without(match, "/dev/card2"), "pci_slot");
  EXPECT_THAT(test::Paths(Discover(Resource({match}), HostRoot(tree_.path()), "")),
              ElementsAre("/dev/card3"));
}

TEST_F(SysfsGroupingTest, NodeThatTheMatchDoesNotFindExcludesItsDevice) {
  Drive("host1", "1:0:0:0", 0);
  Drive("host2", "2:0:0:0", 1);
  MatchSpec match = Without(test::PathMatch({"/dev/sr*"}), "/dev/sg0");
  match.conditions.udev = UdevPattern{{NamePattern::Compile("block").value()}, {}, {}, {}};
  const auto find = [&] { return Discover(Resource({match}), HostRoot(tree_.path()), ""); };
  EXPECT_THAT(find().unused_excludes, testing::SizeIs(1));
  match = Grouped(match, "parent");
  EXPECT_THAT(test::Paths(find()), ElementsAre("/dev/sr1"));
  EXPECT_THAT(find().unused_excludes, IsEmpty());
}

TEST_F(SysfsGroupingTest, WarnsOfAGroupOfSeveralCards) {
  Function("0000:3b:00.0", 1);
  Function("0000:5e:00.0", 2);
  const Discovery found = Find({"/dev/card*"}, "pcie_root");
  EXPECT_THAT(Sizes(found), ElementsAre(2));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0].text, HasSubstr("2 PCI cards, such as 0000:3b:00 and 0000:5e:00"));
  EXPECT_THAT(found.notes[0].text, HasSubstr("group_by = \"pci_slot\""));
}

TEST_F(SysfsGroupingTest, WarnsOfAPathOfTogetherThatFindsSeveralCards) {
  Function("0000:3b:00.0", 1);
  Function("0000:5e:00.0", 2);
  const auto notes_of = [&](const std::vector<std::string_view>& paths) {
    MatchSpec match = test::PathMatch(paths);
    match.together = true;
    return Discover(Resource({match}), HostRoot(tree_.path()), "").notes;
  };
  const auto notes = notes_of({"/dev/card*"});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0].text, HasSubstr("2 PCI cards, such as 0000:3b:00 and 0000:5e:00, because "
                                       "one path of together finds them"));
  EXPECT_THAT(notes_of({"/dev/card1", "/dev/card2"}), IsEmpty());
}

TEST_F(SysfsGroupingTest, WarnsOfAGroupOfSeveralDisks) {
  sysfs_.Device(kController, {.subsystem = "pci", .driver = "ahci"});
  for (const std::string n : {"0", "1"}) {
    const std::string disk = kController + "/host" + n + "/" + n + ":0:0:0";
    sysfs_.Device(disk, {.subsystem = "scsi", .driver = "sd"});
    sysfs_.Device(disk + "/block/sd" + n,
                  {.subsystem = "block", .devtype = "disk", .number = "8:" + n});
  }
  const Discovery found = Find({"/dev/sd*"}, "pci_slot");
  EXPECT_THAT(Sizes(found), ElementsAre(2));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0].text, HasSubstr("2 disks, such as 0:0:0:0 and 1:0:0:0"));
  EXPECT_THAT(Find({"/dev/sd*"}, "parent").notes, IsEmpty());
  const MatchSpec regex = Grouped(RegexMatch("/dev/(?P<kind>sd)."), "kind");
  EXPECT_EQ(Discover(Resource({regex}), HostRoot(tree_.path()), "").notes.size(), 1u)
      << "a match without conditions";
}

}  // namespace
}  // namespace patchbay
