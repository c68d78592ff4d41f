#include "discovery/device_notes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::MakeTemplate;
using test::PathMatch;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceNotesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    sysfs_.Device("/sys/devices/virtual/tty/ttyX0", {.subsystem = "tty", .number = "188:0"});
    sysfs_.Device("/sys/devices/virtual/tty/ttyX1", {.subsystem = "tty", .number = "188:1"});
  }
  void Own(const std::string& path, gid_t gid, mode_t mode) {
    const std::string file = tree_.path(path);
    ASSERT_EQ(chown(file.c_str(), 0, gid), 0);
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
  }
  std::vector<std::string> Notes() const {
    std::vector<std::string> texts;
    for (const DeviceNote& note : Discover(spec_, HostRoot(tree_.path()), "node-1").notes) {
      texts.push_back(note.device + ": " + note.text);
    }
    return texts;
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
  ResourceSpec spec_ = test::Resource({PathMatch({"/dev/ttyX0"})});
};

TEST_F(DeviceNotesTest, NamesTheRuleForANodeThatNoGroupCanOpen) {
  Own("/dev/ttyX0", 0, 0660);
  EXPECT_THAT(Notes(), IsEmpty()) << "it is about grant_group";
  spec_.grant_group = true;
  EXPECT_THAT(
      Notes(),
      ElementsAre(AllOf(
          HasSubstr("ttyX0: /dev/ttyX0: group is root: a container that is not root cannot open "
                    "it; set the group by udev"),
          HasSubstr(R"(SUBSYSTEM=="tty", KERNEL=="ttyX[0-9]*", GROUP="dialout", MODE="0660")"))));
  Own("/dev/ttyX0", 20, 0600);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("mode is 0600")));
  Own("/dev/ttyX0", 20, 0640);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("mode is 0640"))) << "it cannot be written";
  spec_.device_nodes[0].permissions = "r";
  EXPECT_THAT(Notes(), IsEmpty());
  spec_.device_nodes[0].permissions = "rw";
  Own("/dev/ttyX0", 20, 0660);
  EXPECT_THAT(Notes(), IsEmpty());
  Own("/dev/ttyX0", 0, 0666);
  EXPECT_THAT(Notes(), IsEmpty());
}

/// A security key, whose properties and names are text of the device, with the permissions of root.
class UdevRuleTest : public DeviceNotesTest {
 protected:
  void SetUp() override {
    DeviceNotesTest::SetUp();
    if (IsSkipped()) return;
    const std::string usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-5";
    sysfs_.Device("/sys/devices/pci0000:00/0000:00:14.0",
                  {.subsystem = "pci", .attributes = {{"vendor", "0x8086"}, {"device", "0xa0ed"}}});
    sysfs_.Device(
        usb, {.subsystem = "usb",
              .devtype = "usb_device",
              .attributes = {
                  {"idVendor", "1050"}, {"idProduct", "0407"}, {"serial", "A\", MODE=\"0777"}}});
    sysfs_.Device(usb + "/1-5:1.1/hidraw/hidraw1",
                  {.subsystem = "hidraw",
                   .number = "239:1",
                   .udev = {{"ID_FIDO_TOKEN", "1"}, {"ID_MODEL", "A\", MODE=\"0777"}},
                   .links = {"keys/usb-A"}});
    Own("/dev/hidraw1", 0, 0600);
  }
  /// Returns the conditions of the rule in the note, without those for the kind of node.
  std::string RuleFor(const MatchSpec& match) {
    spec_ = test::Resource({match});
    spec_.grant_group = true;
    const std::vector<std::string> notes = Notes();
    if (notes.size() != 1) return testing::PrintToString(notes);
    const std::string begin = R"(.rules: SUBSYSTEM=="hidraw", KERNEL=="hidraw[0-9]*")";
    const std::string end = R"(, GROUP="dialout", MODE="0660")";
    const auto from = notes.front().find(begin), to = notes.front().find(end);
    if (from == std::string::npos || to == std::string::npos) return notes.front();
    return notes.front().substr(from + begin.size(), to - from - begin.size());
  }
  static std::vector<NamePattern> Any(std::string_view pattern) {
    return CompileAlternatives(pattern).value();
  }
};

TEST_F(UdevRuleTest, HasTheConditionsOfTheMatch) {
  MatchSpec match;
  match.source = UdevPattern{Any("hidraw"), {}, {{"ID_FIDO_TOKEN", Any("{1,2}")}}, {}};
  EXPECT_EQ(RuleFor(match), R"(, ENV{ID_FIDO_TOKEN}=="1|2")");
  match.conditions.usb = UsbPattern{{{0x0403, {}}, {0x1050, 0x0407}}, Any("A*"), Any("1-[0-9]")};
  EXPECT_EQ(RuleFor(match),
            R"(, ENV{ID_FIDO_TOKEN}=="1|2", ATTRS{idVendor}=="1050", ATTRS{idProduct}=="0407", )"
            R"(ATTRS{serial}=="A*", KERNELS=="1-[0-9]")");
  match.conditions.pci = PciPattern{{{0x8086, {}}}, {}};
  EXPECT_THAT(RuleFor(match), testing::Not(HasSubstr("8086"))) << "ATTRS are of one parent";
  match = PathMatch({"/dev/hidraw*"});
  EXPECT_EQ(RuleFor(match), "");
  match.conditions.pci = PciPattern{{{0x8086, {}}}, Any("0000:00:14.0")};
  EXPECT_EQ(RuleFor(match), R"(, ATTRS{vendor}=="0x8086", KERNELS=="0000:00:14.0")");
  match.conditions.pci.reset();
  match.conditions.udev = UdevPattern{{}, {}, {}, {{"idVendor", Any("10*")}}};
  EXPECT_EQ(RuleFor(match), R"(, ATTRS{idVendor}=="10*")");
  match = {};
  match.source = UsbPattern{{{0x1050, {}}}, {}, {}};
  match.conditions.udev = UdevPattern{Any("hidraw"), {}, {}, {}};
  EXPECT_EQ(RuleFor(match), R"(, ATTRS{idVendor}=="1050")");
  EXPECT_EQ(RuleFor(PathMatch({"/dev/keys/{usb,pci}-*"})), R"(, SYMLINK=="keys/usb-*")");
}

TEST_F(UdevRuleTest, HasNoPatternThatUdevWouldReadInAnotherWay) {
  MatchSpec match = PathMatch({"/dev/hidraw1"});
  const auto property = [&](std::string_view pattern) {
    match.conditions.udev = UdevPattern{{}, {}, {{"ID_MODEL", Any(pattern)}}, {}};
    return RuleFor(match);
  };
  EXPECT_EQ(property("A*"), R"(, ENV{ID_MODEL}=="A*")");
  EXPECT_EQ(property("*"), R"(, ENV{ID_MODEL}=="?*")");
  EXPECT_EQ(property("A\", MODE=\"*"), "");
  EXPECT_EQ(property("A[\"]*"), "");
  EXPECT_EQ(property("A\\\"*"), "");
  EXPECT_EQ(property("{A*,a|b}"), "") << "| is an alternative in udev";
}

TEST_F(UdevRuleTest, NameOfADeviceIsNoPattern) {
  sysfs_.Device("/sys/devices/virtual/tty/tty*\"x", {.subsystem = "tty", .number = "188:7"});
  Own("/dev/tty*\"x", 0, 0600);
  spec_ = test::Resource({PathMatch({"/dev/tty?\"x"})});
  spec_.grant_group = true;
  EXPECT_THAT(Notes(), ElementsAre(testing::EndsWith("set the group by udev")));
}

TEST_F(DeviceNotesTest, ComparesNamesOfGraphicsNodesWithTheKernel) {
  sysfs_.Device("/sys/devices/virtual/drm/renderD129",
                {.subsystem = "drm", .number = "226:129", .node = "dri/renderD129"});
  tree_.Link("/dev/dri/by-path/pci-render", "../renderD129");
  const auto notes = [&](std::string_view path, std::optional<std::string_view> container_path) {
    spec_ = test::Resource({PathMatch({path})});
    if (container_path) spec_.device_nodes[0].container_path = MakeTemplate(*container_path);
    return Notes();
  };
  const std::string_view link = "/dev/dri/by-path/pci-render";
  EXPECT_THAT(notes(link, {}),
              ElementsAre(HasSubstr("/dev/dri/renderD129 is " + std::string(link))));
  EXPECT_THAT(notes(link, "/dev/dri/renderD128"),
              ElementsAre(AllOf(HasSubstr("/dev/dri/renderD129 is /dev/dri/renderD128"),
                                HasSubstr("container_path = \"{real_path}\""))));
  EXPECT_THAT(notes(link, "{real_path}"), IsEmpty());
  EXPECT_THAT(notes("/dev/dri/renderD129", {}), IsEmpty());
  EXPECT_THAT(notes("/dev/ttyX0", "/dev/dri/renderD128"), IsEmpty());
}

TEST_F(DeviceNotesTest, NamesDevicesThatRequestTheSameLink) {
  spec_ = test::Resource({PathMatch({"/dev/serial/by-id/*"})});
  tree_.Link("/dev/serial/by-id/usb-Acme", "../../ttyX0");
  for (const std::string slash : {"", "\\x2f"}) {
    const std::string links = "/run/udev/links/" + slash + "serial\\x2fby-id\\x2fusb-Acme";
    tree_.File(links + "/c188:0", "");
    EXPECT_THAT(Notes(), IsEmpty());
    tree_.File(links + "/c188:1", "");
    EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("usb-Acme: 2 devices request the link "
                                                     "/dev/serial/by-id/usb-Acme"),
                                           HasSubstr("c188:0, c188:1"), HasSubstr("usb_port"))));
    tree_.Remove(links);
  }
}

}  // namespace
}  // namespace patchbay
