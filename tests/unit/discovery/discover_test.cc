#include "discovery/discover.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>

#include "support/fake_sysfs.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::CountMatch;
using test::Grouped;
using test::Ids;
using test::IsLegalId;
using test::MakeTemplate;
using test::PathMatch;
using test::Paths;
using test::RegexMatch;
using test::Rejected;
using test::Resource;
using test::WithId;
using test::Without;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DiscoverTest : public testing::Test {
 protected:
  Discovery Find(std::vector<MatchSpec> matches) const {
    return Discover(Resource(std::move(matches)), host_, "node-1");
  }
  static MatchSpec Files(const std::vector<std::string_view>& globs) {
    return PathMatch(globs, NodeType::kFile);
  }

  test::TempTree tree_;
  HostRoot host_{tree_.path()};
};

TEST_F(DiscoverTest, EmptyHostIsACompleteScan) {
  const Discovery found = Find({Files({"/dev/*"}), RegexMatch("/dev/.*")});
  EXPECT_THAT(found.devices, IsEmpty());
  EXPECT_THAT(found.rejected, IsEmpty());
  EXPECT_THAT(found.directories, ElementsAre("/"));
  EXPECT_TRUE(found.complete);
}

TEST_F(DiscoverTest, MaxDevicesKeepsTheFirstInTheOrderOfIds) {
  for (const char* name : {"dev/x10", "dev/x9", "dev/x2", "dev/y1", "dev/y2"}) tree_.File(name);
  MatchSpec limited = Files({"/dev/x*"});
  limited.max_devices = 2;
  const Discovery found = Find({limited, Files({"/dev/y*"})});
  EXPECT_THAT(Ids(found), ElementsAre("x2", "x9", "y1", "y2"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("limit /dev/x10"));
  EXPECT_THAT(found.rejected.at(0).detail, HasSubstr("max_devices of the match is 2"));
  limited.max_devices = 3;
  EXPECT_THAT(Find({limited}).rejected, IsEmpty());
}

TEST_F(DiscoverTest, MaxDevicesOfOneAllowsAFixedId) {
  for (const char* name : {"dev/x1", "dev/x2"}) tree_.File(name);
  MatchSpec one = WithId(Files({"/dev/x*"}), "card");
  EXPECT_THAT(Find({one}).devices, IsEmpty()) << "without it, each rejects the other";
  one.max_devices = 1;
  const Discovery found = Find({one});
  EXPECT_THAT(Ids(found), ElementsAre("card"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/x1"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("limit /dev/x2"));
}

TEST_F(DiscoverTest, FillsEveryFieldOfANode) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.CharDevice("dev/ttyUSB3", 188, 3);
  tree_.Link("dev/serial/by-id/usb-A9", "../../ttyUSB3");
  const Discovery found = Find({PathMatch({"/dev/serial/by-id/*"})});
  ASSERT_THAT(found.devices, SizeIs(1));
  Device expected{
      "usb-A9", {{"/dev/serial/by-id/usb-A9", "/dev/ttyUSB3", FileType::kCharacter, 188, 3}}, {}};
  expected.nodes[0].inode = HostRoot(tree_.path()).Resolve("/dev/ttyUSB3")->inode;
  EXPECT_EQ(found.devices.front(), expected);
}

TEST_F(DiscoverTest, ListsInTheOrderOfIds) {
  for (const int n : {10, 9, 1, 100, 2}) tree_.File("dev/tty" + std::to_string(n));
  EXPECT_THAT(Ids(Find({Files({"/dev/*"})})),
              ElementsAre("tty1", "tty2", "tty9", "tty10", "tty100"));
}

TEST_F(DiscoverTest, TheFirstMatchKeepsANode) {
  tree_.File("dev/a1");
  tree_.File("dev/a2");
  const Discovery found =
      Find({WithId(RegexMatch(R"(/dev/a(?P<n>1))", NodeType::kFile), "first-{n}"),
            WithId(Files({"/dev/a*", "/dev/*1"}), "second-{name}")});
  EXPECT_THAT(Ids(found), ElementsAre("first-1", "second-a2"));
  EXPECT_EQ(found.devices.front().nodes.front().captures, (NamedValues{{"n", "1"}}));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(DiscoverTest, ReportsAnotherPathOfADeviceForTheMatchThatFoundIt) {
  tree_.File("dev/node");
  tree_.Link("dev/link", "node");
  const Discovery found =
      Discover(Resource({Files({"/dev/node"}), Files({"/dev/link"}), Files({"/dev/other"})}), host_,
               ScanRequest{.report = true});
  EXPECT_THAT(Ids(found), SizeIs(1));
  ASSERT_THAT(found.reports, SizeIs(3));
  EXPECT_THAT(found.reports[0].drops.size() + found.reports[1].drops.size(), 1u);
}

TEST_F(DiscoverTest, NextMatchMayListAnExcludedNode) {
  tree_.File("dev/a1");
  tree_.File("dev/a2");
  const Discovery found =
      Find({Without(WithId(Files({"/dev/a*"}), "x{name}"), "/dev/*1"), Files({"/dev/*"})});
  EXPECT_THAT(Ids(found), ElementsAre("a1", "xa2"));
}

TEST_F(DiscoverTest, LinksToOneNodeAreOneDevice) {
  tree_.File("dev/node");
  tree_.Link("dev/b", "node");
  tree_.Link("dev/a", "b");
  tree_.Link("dev/c", "/dev/a");
  const Discovery found = Find({Files({"/dev/?"})});
  EXPECT_THAT(Ids(found), ElementsAre("a"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(DiscoverTest, RejectsAllDevicesWithADuplicateId) {
  tree_.File("dev/a/x");
  tree_.File("dev/b/x");
  tree_.File("dev/b/y");
  const Discovery found = Find({Files({"/dev/a/*"}), Files({"/dev/b/*"})});
  EXPECT_THAT(Ids(found), ElementsAre("y"));
  EXPECT_THAT(Rejected(found.rejected),
              ElementsAre("duplicate_id /dev/a/x", "duplicate_id /dev/b/x"));
  for (const Rejection& r : found.rejected) {
    EXPECT_EQ(
        r.detail,
        "2 devices have the ID \"x\"; set id = \"{path}\" in the match, which differs for each");
  }
}

TEST_F(DiscoverTest, RejectsIdsThatDifferOnlyInSlashAndColon) {
  tree_.File("dev/a/b");
  tree_.File("dev/a:b");
  const Discovery found = Find({Files({"/dev/**"})});
  EXPECT_THAT(Ids(found), IsEmpty());
  EXPECT_THAT(Rejected(found.rejected),
              ElementsAre("duplicate_id /dev/a/b", "duplicate_id /dev/a:b"));
}

TEST_F(DiscoverTest, RendersIdTemplates) {
  tree_.File("dev/x7");
  struct Case {
    std::string_view id, expected;
  };
  const Case cases[] = {
      {"{n}", "7"},
      {"{n:>3}", "__7-0d020bf9"},
      {"fixed", "fixed"},
      {"{name}@{node_name}", "x7@node-1"},
      {"{path}", ":dev:x7"},
      {"{resource}.{n}", "example.com:thing.7"},
      {"{{{n}}}", "_7_-45455887"},
      {"", "-4fd0bfc1"},
  };
  for (const Case& c : cases) {
    const auto found = Find({WithId(RegexMatch(R"(/dev/x(?P<n>\d))", NodeType::kFile), c.id)});
    EXPECT_THAT(Ids(found), ElementsAre(c.expected)) << c.id;
  }
}

TEST_F(DiscoverTest, InvalidIdRejectsOnlyThatDevice) {
  tree_.File("dev/" + std::string(200, 'a'));
  tree_.File("dev/b");
  std::string id;
  for (int i = 0; i < 30; ++i) id += "{name}";
  const Discovery found = Find({WithId(Files({"/dev/*"}), id), WithId(CountMatch(1), "{path}")});
  EXPECT_THAT(Ids(found), ElementsAre(std::string(30, 'b')));
  EXPECT_THAT(Rejected(found.rejected),
              ElementsAre("missing_variable /dev/" + std::string(200, 'a'), "missing_variable 0"));
}

TEST_F(DiscoverTest, IdsDoNotDependOnOtherDevices) {
  const std::vector<std::string> names = {"a b", "a_b", "x1",  "x2",  "x10",
                                          "é",   "y",   "y-1", "z z", std::string(200, 'l')};
  for (const std::string& name : names) tree_.File("dev/" + name);
  std::map<std::string, std::string> ids;
  for (const Device& device : Find({Files({"/dev/*"})}).devices) {
    ids[device.nodes.front().path] = device.id;
  }
  ASSERT_THAT(ids, SizeIs(names.size()));
  for (const std::string& name : names) {
    tree_.Remove("dev/" + name);
    for (const Device& device : Find({Files({"/dev/*"})}).devices) {
      EXPECT_EQ(device.id, ids[device.nodes.front().path]);
    }
    tree_.File("dev/" + name);
  }
}

TEST_F(DiscoverTest, IdsLeaveRoomForTheReplica) {
  tree_.File("dev/" + std::string(63, 'a'));
  tree_.File("dev/" + std::string(63, 'b'));
  tree_.File("dev/" + std::string(255, 'c'));
  for (const int replicas : {1, 2, 10, 11, 1000}) {
    ResourceSpec spec = Resource({Files({"/dev/*"})});
    spec.replicas = replicas;
    const Discovery found = Discover(spec, host_, "");
    ASSERT_THAT(found.devices, SizeIs(3));
    for (const Device& device : found.devices) {
      for (const int replica : {0, replicas - 1}) {
        EXPECT_TRUE(IsLegalId(AdvertisedId(spec, device.id, replica))) << device.id;
      }
    }
  }
}

TEST_F(DiscoverTest, SortsRejections) {
  // Directory entries have no order; the same errors must have the same order.
  std::vector<std::string> expected;
  for (const int n : {7, 2, 9, 4, 0, 5, 8, 1, 6, 3}) {
    tree_.Link("dev/x" + std::to_string(n), "nowhere");
  }
  for (int n = 0; n < 10; ++n) expected.push_back("/dev/x" + std::to_string(n));
  std::vector<std::string> paths;
  for (const Rejection& r : Find({Files({"/dev/*"})}).rejected) paths.push_back(r.path);
  EXPECT_EQ(paths, expected);
}

TEST_F(DiscoverTest, UnreadableDirectoryDoesNotHideOthers) {
  tree_.File("dev/good/x");
  tree_.Link("dev/loop", "loop");
  const Discovery found = Find({RegexMatch("/dev/loop/.*"), Files({"/dev/good/*"})});
  EXPECT_THAT(Ids(found), ElementsAre("x"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("unreadable /dev/loop/"));
  EXPECT_FALSE(found.complete);
}

class NumaNodeOfDevice : public DiscoverTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    Function("0000:00:01.0", "0", {"a0", "b0", "c0"});
    Function("0000:00:02.0", "1", {"a1", "c1"});
    Function("0000:00:03.0", "-1", {"b2", "c2"});
    tree_.CharDevice("dev/d9", 1, 3);  // it is not in sysfs
  }

  /// Creates a function of a PCI device with its nodes.
  void Function(const std::string& address, const std::string& numa_node,
                const std::vector<std::string>& nodes) {
    const std::string path = "/sys/devices/pci0000:00/" + address;
    sysfs_.Device(path, {.subsystem = "pci", .attributes = {{"numa_node", numa_node}}});
    for (const std::string& node : nodes) {
      sysfs_.Device(path + "/misc/" + node,
                    {.subsystem = "misc", .number = "240:" + std::to_string(++minor_)});
    }
  }

  /// Returns the NUMA nodes by device ID.
  std::map<std::string, std::optional<int>> NumaNodes(const ResourceSpec& spec) const {
    std::map<std::string, std::optional<int>> nodes;
    for (const Device& device : Discover(spec, host_, "").devices) {
      nodes[device.id] = device.numa_node;
    }
    return nodes;
  }
  using Nodes = std::map<std::string, std::optional<int>>;

  int minor_ = 0;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(NumaNodeOfDevice, EqualsThatOfItsNodes) {
  EXPECT_EQ(NumaNodes(Resource({PathMatch({"/dev/c?", "/dev/d?"})})),
            (Nodes{{"c0", 0}, {"c1", 1}, {"c2", std::nullopt}, {"d9", std::nullopt}}));
}

TEST_F(NumaNodeOfDevice, IsUnsetIfItsNodesDiffer) {
  EXPECT_EQ(NumaNodes(Resource({Grouped(RegexMatch("/dev/(?P<group>[abc]).*"), "group")})),
            (Nodes{{"a", std::nullopt}, {"b", 0}, {"c", std::nullopt}}));
  // Another device on the first node does not change the result for the second.
  Function("0000:00:04.0", "0", {"a2"});
  EXPECT_EQ(NumaNodes(Resource({Grouped(RegexMatch("/dev/(?P<group>a).*"), "group")})),
            (Nodes{{"a", std::nullopt}}));
}

TEST_F(NumaNodeOfDevice, IsAvailableToTemplatesWithoutTopology) {
  ResourceSpec spec = Resource({PathMatch({"/dev/a?"})});
  spec.topology = false;
  spec.env.emplace_back(MakeTemplate("NUMA"), MakeTemplate("node {numa_node:>2}"));
  EXPECT_EQ(NumaNodes(spec), (Nodes{{"a0", 0}, {"a1", 1}}));
}

/// A tree of files, directories and links with hostile names.
void Grow(test::TempTree& tree, std::mt19937& random, bool nodes) {
  static const std::vector<std::string> names = {"a",
                                                 "b",
                                                 "c0",
                                                 "c1",
                                                 "c00",
                                                 "c10",
                                                 ".h",
                                                 "a b",
                                                 "a\nb",
                                                 "x:y",
                                                 "é",
                                                 "\xff",
                                                 "{a}",
                                                 "*",
                                                 "[",
                                                 "\\",
                                                 "::0",
                                                 "..x",
                                                 std::string(255, 'q')};
  const auto pick = [&] { return names[random() % names.size()]; };
  std::vector<std::string> directories = {"dev"};
  tree.Dir("dev");
  for (int i = 0; i < 40; ++i) {
    const std::string parent = directories[random() % directories.size()];
    const std::string path = parent + "/" + pick();
    if (std::filesystem::exists(std::filesystem::symlink_status(tree.path(path)))) continue;
    switch (random() % 6) {
      case 0:
        if (path.size() > 600) break;
        tree.Dir(path);
        directories.push_back(path);
        break;
      case 1: tree.Link(path, pick()); break;
      case 2:
        tree.Link(path, "/" + directories[random() % directories.size()] + "/" + pick());
        break;
      case 3:
        if (nodes) {
          tree.CharDevice(path, 240, static_cast<unsigned>(i));
          break;
        }
        [[fallthrough]];
      default: tree.File(path); break;
    }
  }
}

TEST_F(DiscoverTest, InvariantsHoldOnRandomTrees) {
  std::mt19937 random(4711);
  const std::vector<std::vector<MatchSpec>> resources = {
      {PathMatch({"/**"}, NodeType::kAny)},
      {PathMatch({"/dev/*"}, NodeType::kAny), PathMatch({"/dev/*/*"}, NodeType::kFile)},
      {RegexMatch("/dev/(?P<rest>.*)", NodeType::kAny), PathMatch({"/**"}, NodeType::kAny)},
      {WithId(RegexMatch(R"(/dev/(.*/)?c(?P<n>\d+))", NodeType::kAny), "{n}")},
      {PathMatch({"/dev/**/{a,b,c*}", "/dev/**/x*"}, NodeType::kAny), CountMatch(3)},
  };
  std::size_t devices = 0, rejections = 0;
  for (int round = 0; round < 60; ++round) {
    test::TempTree tree;
    const HostRoot host(tree.path());
    Grow(tree, random, geteuid() == 0);
    for (const auto& matches : resources) {
      ResourceSpec spec = Resource(matches);
      spec.replicas = 1 + static_cast<int>(random() % 12);
      const Discovery found = Discover(spec, host, "node");
      devices += found.devices.size();
      rejections += found.rejected.size();
      std::set<std::string> real_paths;
      for (std::size_t i = 0; i < found.devices.size(); ++i) {
        const Device& device = found.devices[i];
        ASSERT_TRUE(IsLegalId(AdvertisedId(spec, device.id, spec.replicas - 1))) << device.id;
        ASSERT_TRUE(i == 0 || IdLess(found.devices[i - 1].id, device.id)) << device.id;
        for (const DeviceNode& node : device.nodes) {
          ASSERT_TRUE(real_paths.insert(node.real_path).second) << node.real_path;
          const auto there = host.Resolve(node.path);
          ASSERT_TRUE(there) << node.path;
          ASSERT_EQ(there->path, node.real_path);
          ASSERT_EQ(there->minor, node.minor);
        }
      }
      for (const Rejection& r : found.rejected) ASSERT_FALSE(r.detail.empty()) << r.path;
      for (const std::string& directory : found.directories) {
        const auto there = host.Resolve(directory);
        ASSERT_TRUE(there && there->type == FileType::kDirectory) << directory;
        ASSERT_EQ(there->path, directory);
      }
      const Discovery again = Discover(spec, host, "node");
      ASSERT_EQ(again.devices, found.devices);
      ASSERT_EQ(again.rejected, found.rejected);
    }
  }
  EXPECT_GT(devices, 1000u) << "the trees have too few devices for a meaningful test";
  EXPECT_GT(rejections, 1000u);
}

}  // namespace
}  // namespace patchbay
