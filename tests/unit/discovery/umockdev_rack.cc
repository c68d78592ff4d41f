// Complete scans of a machine that umockdev-run simulates from rack.umockdev: this process sees its
// /sys and /dev. The udev database is that of the simulated machine: umockdev 0.19 shows it at
// /run/udev/data, and it is mounted there for older versions.
//
// The nodes are regular files that umockdev presents as devices in lstat and fstatat. A scan uses
// no other system calls on them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "config/load.h"
#include "specs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::Paths;
using test::Rejected;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

class UmockdevRack : public testing::Test {
 protected:
  void SetUp() override {
    const char* const machine = std::getenv("UMOCKDEV_DIR");
    ASSERT_NE(machine, nullptr) << "not run by umockdev-run";
    run_ = std::filesystem::path(machine) / "run";
    std::filesystem::create_directories(run_ / "udev/data");
    Database("c81:0", "E:ID_V4L_CAPABILITIES=:capture:");
    Database("c81:1", "E:ID_V4L_CAPABILITIES=:");
    for (const std::string n : {"0", "1"}) {
      Database("c188:" + n, "S:serial/by-id/usb-FTDI-if0" + n + "\nE:ID_MODEL=FT2232\n" +
                                "E:ID_SERIAL_SHORT=FT42\nE:ID_USB_INTERFACE_NUM=0" + n);
    }
    Database("c188:2", "E:ID_MODEL=FT232R");
    Database("n4", "E:ID_PATH=pci-0000:00:1f.0");
    Database("+pci:0000:3b:00.0", "E:ID_MODEL_FROM_DATABASE=Navi 21");
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(run_.c_str(), "/run", nullptr, MS_BIND, nullptr) != 0) {
      GTEST_SKIP() << "mounting is not allowed here: " << std::strerror(errno);
    }
  }
  void TearDown() override { umount2("/run", MNT_DETACH); }

  void Database(const std::string& key, const std::string& lines) const {
    std::ofstream(run_ / "udev/data" / key) << "I:4711\n" << lines << "\nV:1\n";
  }

  /// Scans for a resource with this match, as loaded from a file.
  static Discovery Find(std::string_view match, const HostRoot& host = HostRoot("/")) {
    const Loaded loaded = LoadTexts(
        {{"rack.toml", Format("[[resource]]\nname = 'a.com/x'\n[[resource.match]]\n{}\n", match)}});
    EXPECT_TRUE(loaded.model) << loaded.diagnostics.RenderText();
    if (!loaded.model) return {};
    const ScanRequest request{.report = true};
    return Discover(loaded.model->resources.front(), host, request);
  }
  static std::string WhyNot(const Discovery& found, const std::string& what) {
    for (const MatchReport::Drop& drop : found.reports.at(0).drops) {
      if (drop.syspath == what || drop.paths.front() == what) return drop.detail;
    }
    return "";
  }

  std::filesystem::path run_;
};

TEST_F(UmockdevRack, UsbDeviceContainsAllItsNodes) {
  const Discovery found = Find("usb = '046d:*'");
  EXPECT_THAT(found.rejected, IsEmpty());
  ASSERT_THAT(Ids(found), ElementsAre("046d:0825-CAFE0001"));
  const Device& camera = found.devices.front();
  EXPECT_THAT(Paths(found), ElementsAre("/dev/bus/usb/001/002", "/dev/media0", "/dev/snd/controlC1",
                                        "/dev/snd/pcmC1D0c", "/dev/video0", "/dev/video1"));
  for (const DeviceNode& node : camera.nodes) {
    EXPECT_EQ(node.type, FileType::kCharacter) << node.path;
    if (node.path != "/dev/video1") continue;
    EXPECT_EQ(std::pair(node.major, node.minor), std::pair(81U, 1U));
    EXPECT_THAT(node.values, AllOf(Contains(Pair("driver", "uvcvideo")),
                                   Contains(Pair("ID_V4L_CAPABILITIES", ":"))));
  }
  EXPECT_THAT(camera.numa_node, Optional(0));
}

TEST_F(UmockdevRack, UdevPropertiesFilterTheNodes) {
  const Discovery found =
      Find("usb = '046d:*'\nudev = { properties = { ID_V4L_CAPABILITIES = '*:capture:*' } }");
  ASSERT_THAT(Ids(found), ElementsAre("046d:0825-CAFE0001"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/video0"));
  EXPECT_EQ(WhyNot(found, "/dev/video1"),
            "its property ID_V4L_CAPABILITIES is \":\", not *:capture:*");
}

TEST_F(UmockdevRack, IdContainsThePortWithoutASerialNumber) {
  EXPECT_THAT(Ids(Find("usb = '0403:*'")), ElementsAre("0403:6001@1-3", "0403:6010-FT42"));
  EXPECT_THAT(Ids(Find("usb = '0403:*'\nserial = 'FT?2'")), ElementsAre("0403:6010-FT42"));
}

TEST_F(UmockdevRack, GraphicsCardContainsCardAndRenderNode) {
  const Discovery found = Find(
      "pci = '1002:*'\nudev = { subsystem = 'drm' }\n"
      "require = ['/dev/dri/card*', '/dev/dri/renderD*']");
  EXPECT_THAT(found.rejected, IsEmpty());
  ASSERT_THAT(Ids(found), ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/dri/card0", "/dev/dri/renderD128"));
  EXPECT_THAT(found.devices.front().numa_node, Optional(1));
  EXPECT_THAT(found.devices.front().values,
              AllOf(Contains(Pair("pci_vendor", "1002")),
                    Contains(Pair("ID_MODEL_FROM_DATABASE", "Navi 21"))));
}

TEST_F(UmockdevRack, VfioFunctionContainsItsGroupNode) {
  const Discovery found = Find("pci = '8086:1889'\nrequire = '/dev/vfio/[0-9]*'");
  EXPECT_THAT(found.rejected, IsEmpty());
  ASSERT_THAT(Ids(found), ElementsAre("0000:5e:02.0"));
  const Device& function = found.devices.front();
  DeviceNode group{"/dev/vfio/42", "/dev/vfio/42", FileType::kCharacter, 235, 0};
  group.values = function.nodes.at(0).values;
  group.inode = function.nodes.at(0).inode;
  EXPECT_THAT(function.nodes, ElementsAre(group));
  EXPECT_THAT(function.values, Contains(Pair("driver", "vfio-pci")));
  EXPECT_THAT(function.numa_node, Optional(1));
}

TEST_F(UmockdevRack, MatchesGlobsOnPropertiesAndAttributes) {
  const Discovery found = Find(
      "udev = { subsystem = 'tty', properties = { ID_MODEL = 'FT*', ID_USB_INTERFACE_NUM = '01' },"
      " attributes = { idProduct = '60?0' } }");
  ASSERT_THAT(Ids(found), ElementsAre("0403:6010-FT42-if01"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB1"));
  EXPECT_THAT(found.devices.front().nodes.front().values,
              AllOf(Contains(Pair("ID_SERIAL_SHORT", "FT42")), Contains(Pair("usb_port", "1-2")),
                    Contains(Pair("DEVLINKS", "/dev/serial/by-id/usb-FTDI-if01"))));
  EXPECT_THAT(found.devices.front().numa_node, Optional(0));
  const std::string tty = "/sys/devices/pci0000:00/0000:00:14.0/usb1/";
  EXPECT_THAT(WhyNot(found, tty + "1-2/1-2:1.0/ttyUSB0/tty/ttyUSB0"),
              HasSubstr("ID_USB_INTERFACE_NUM is \"00\", not 01"));
  EXPECT_THAT(WhyNot(found, tty + "1-3/1-3:1.0/ttyUSB2/tty/ttyUSB2"),
              HasSubstr("no property ID_USB_INTERFACE_NUM"));
}

TEST_F(UmockdevRack, NetworkInterfaceHasNoNode) {
  const Discovery found = Find(
      "udev = { subsystem = 'net', properties = { ID_PATH = 'pci-*' }, "
      "attributes = { type = '280' } }");
  ASSERT_THAT(Ids(found), ElementsAre("can0"));
  EXPECT_THAT(found.devices.front().nodes, IsEmpty());
  EXPECT_THAT(found.devices.front().values, Contains(Pair("driver", "peak_pci")));
  EXPECT_EQ(found.devices.front().numa_node, std::nullopt) << "the firmware does not provide it";
}

TEST_F(UmockdevRack, PathMatchesHaveConditionsAndNumaNodes) {
  const Discovery found = Find(
      "path = ['/dev/video*', '/dev/dri/card0']\n"
      "usb = '046d:0825'\nudev = { properties = { ID_V4L_CAPABILITIES = ':capture:' } }");
  ASSERT_THAT(Ids(found), ElementsAre("video0"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/video0"));
  EXPECT_THAT(found.devices.front().numa_node, Optional(0));
  EXPECT_EQ(WhyNot(found, "/dev/dri/card0"), "it is not a USB device, nor a child of one");
}

TEST_F(UmockdevRack, GroupsNodesByAProperty) {
  const Discovery found = Find("udev = { subsystem = 'tty' }\ngroup_by = 'ID_SERIAL_SHORT'");
  ASSERT_THAT(Ids(found), ElementsAre("FT42"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("missing_variable /dev/ttyUSB2"));
}

TEST_F(UmockdevRack, ReportsTheMissingUdevDatabase) {
  const std::string_view match = "udev = { subsystem = 'net', properties = { ID_PATH = 'pci-*' } }";
  EXPECT_THAT(Ids(Find(match)), ElementsAre("can0"));
  // The same machine under another root, without its database.
  std::filesystem::remove_all(run_ / "udev");
  const Discovery by_files = Find(match, HostRoot(std::getenv("UMOCKDEV_DIR")));
  EXPECT_THAT(by_files.devices, IsEmpty());
  EXPECT_THAT(WhyNot(by_files, "/sys/devices/pci0000:00/0000:00:1f.0/net/can0"),
              HasSubstr("it has no property ID_PATH; there is no udev database"));
}

}  // namespace
}  // namespace patchbay
