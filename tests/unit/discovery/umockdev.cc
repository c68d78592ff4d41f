// Run under umockdev-wrapper, which shows the tree at $UMOCKDEV_DIR as /sys to this process,
// libudev included; a mount shows its /run, where udev keeps its database. So what libudev says of
// devices can be compared with what is read from the same tree by its files, without real devices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "discovery/sysfs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class UmockdevTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("UMOCKDEV_DIR", tree_.path().c_str(), 1);
    tree_.Dir("/run");
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(tree_.path("/run").c_str(), "/run", nullptr, MS_BIND, nullptr) != 0) {
      GTEST_SKIP() << "mounting is not allowed here: " << std::strerror(errno);
    }
  }
  void TearDown() override {
    umount2("/run", MNT_DETACH);
    unsetenv("UMOCKDEV_DIR");
  }

  /// Reads all devices both ways; the properties of the one at `path`.
  Properties SameBothWays(const std::string& path) {
    const Sysfs library(HostRoot("/")), files(HostRoot(tree_.path()));
    const auto all = [](std::string_view) { return true; };
    const SysfsPaths found = library.Devices(all);
    EXPECT_THAT(found.errors, IsEmpty());
    EXPECT_THAT(found.paths, Contains(path)) << "not run under umockdev-wrapper?";
    EXPECT_EQ(found.paths, files.Devices(all).paths);
    EXPECT_EQ(library.properties().HasDatabase(), files.properties().HasDatabase());
    for (const std::string& device : found.paths) {
      const auto by_library = library.Read(device), by_files = files.Read(device);
      EXPECT_TRUE(by_library) << by_library.error().message;
      EXPECT_TRUE(by_files) << by_files.error().message;
      if (!by_library || !by_files) continue;
      EXPECT_EQ(by_library->properties, by_files->properties) << device;
      EXPECT_EQ(*by_library, *by_files) << device;
    }
    return library.Read(path).value_or(SysfsDevice()).properties;
  }

  test::TempTree tree_;
  test::FakeSysfs fake_{tree_};
};

TEST_F(UmockdevTest, DevicesOfAllKinds) {
  const std::string pci = "/sys/devices/pci0000:00/0000:00:14.0";
  const std::string stick = pci + "/usb1/1-1";
  const std::string port = stick + "/1-1:1.0/ttyUSB0/tty/ttyUSB0";
  fake_.Device(pci, {.subsystem = "pci",
                     .driver = "xhci_hcd",
                     .attributes = {{"numa_node", "1"}},
                     .uevent = {{"PCI_ID", "8086:A36D"}, {"PCI_SLOT_NAME", "0000:00:14.0"}},
                     .udev = {{"ID_VENDOR_FROM_DATABASE", "Intel Corporation"}}});
  fake_.Device(pci + "/usb1", {.subsystem = "usb",
                               .driver = "usb",
                               .devtype = "usb_device",
                               .number = "189:0",
                               .node = "bus/usb/001/001"});
  fake_.Device(stick, {.subsystem = "usb",
                       .driver = "usb",
                       .devtype = "usb_device",
                       .number = "189:1",
                       .node = "bus/usb/001/002",
                       .attributes = {{"serial", "A9"}},
                       .udev = {{"ID_SERIAL_SHORT", "A9"}, {"ID_MODEL_ENC", "a\\x20b"}}});
  fake_.Device(port, {.subsystem = "tty",
                      .number = "188:0",
                      .udev = {{"ID_SERIAL", "FTDI_A9"}, {"TAGS", ":systemd:"}},
                      .links = {"serial/by-path/p", "serial/by-id/a", "serial/by-id/b"}});
  fake_.Device("/sys/devices/virtual/block/cciss!c0d0",
               {.subsystem = "block", .devtype = "disk", .number = "104:0", .udev = {{"A", "1"}}});
  fake_.Device(pci + "/net/eth0",
               {.subsystem = "net", .ifindex = "2", .udev = {{"ID_NET_NAME", "eno1"}}});
  fake_.Device("/sys/devices/virtual/sound/a!b", {.subsystem = "sound", .udev = {{"A", "1"}}});
  const Properties properties = SameBothWays(port);
  EXPECT_THAT(properties, Contains(Pair("ID_SERIAL", "FTDI_A9")));
  EXPECT_THAT(properties, Contains(Pair("DEVLINKS",
                                        "/dev/serial/by-id/a /dev/serial/by-id/b "
                                        "/dev/serial/by-path/p")));
  EXPECT_THAT(properties, Contains(Pair("DEVNAME", "/dev/ttyUSB0")));
}

TEST_F(UmockdevTest, ValuesOfAllKinds) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x",
                      .number = "240:0",
                      .uevent = {{"EMPTY", ""},
                                 {"EQUALS", "a=b=c"},
                                 {"GONE", "1"},
                                 {"KEPT", "1"},
                                 {"SPOILT", "1"}},
                      .udev = {{"GONE", ""},
                               {"KEPT", "2"},
                               {"SPOILT", "a\tb"},
                               {"LONG", std::string(300, 's')},
                               {"LONGEST", std::string(4096, 's')},
                               {"TOO_LONG", std::string(4097, 's')},
                               {"CONTROL", "a\x1b[31m"},
                               {"BYTES", "\xff\xfe"},
                               {"WORDS", " a  b "},
                               {"MAKER", "M\xc3\xbcller"}}});
  EXPECT_THAT(SameBothWays(card), Contains(Pair("LONG", std::string(300, 's'))));
}

TEST_F(UmockdevTest, WithoutADatabase) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x", .number = "240:0"});
  EXPECT_THAT(SameBothWays(card), SizeIs(5));
  tree_.Dir("/run/udev/data");
  SameBothWays(card);
}

TEST_F(UmockdevTest, ADeviceThatHasGone) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x"});
  const Sysfs library(HostRoot("/")), files(HostRoot(tree_.path()));
  ASSERT_TRUE(library.Read(card));
  fake_.Remove(card);
  for (const Sysfs* sysfs : {&library, &files}) {
    const auto gone = sysfs->Read(card);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound) << gone.error().message;
  }
}

}  // namespace
}  // namespace patchbay
