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
