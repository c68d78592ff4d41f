// Run under umockdev-wrapper, which shows the tree at $UMOCKDEV_DIR as /sys to this process,
// including libudev; a mount provides /run with the udev database. The properties of libudev can
// thus be compared with those of Patchbay for the same tree, without real devices.

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
#include "support/libudev.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::Contains;
using testing::ElementsAre;
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

  /// Reads all devices, with the root "/" and with the root of the tree, and compares both with
  /// libudev. Returns the properties of the device at `path`.
  Properties AgreeWithLibudev(const std::string& path) {
    const Sysfs here(HostRoot("/")), below(HostRoot(tree_.path()));
    const auto all = [](std::string_view) { return true; };
    const SysfsPaths found = here.Devices(all);
    EXPECT_THAT(found.errors, IsEmpty());
    EXPECT_THAT(found.paths, Contains(path)) << "not run under umockdev-wrapper?";
    EXPECT_EQ(found.paths, below.Devices(all).paths);
    EXPECT_EQ(here.properties().HasDatabase(), below.properties().HasDatabase());
    for (const std::string& device : found.paths) {
      const auto read_here = here.Read(device), read_below = below.Read(device);
      EXPECT_TRUE(read_here) << read_here.error().message;
      EXPECT_TRUE(read_below) << read_below.error().message;
      if (!read_here || !read_below) continue;
      EXPECT_EQ(*read_here, *read_below) << device;
      EXPECT_EQ(test::DifferenceFromLibudev(device, read_here->properties), "") << device;
    }
    return here.Read(path).value_or(SysfsDevice()).properties;
  }

  test::TempTree tree_;
  test::FakeSysfs fake_{tree_};
};

TEST_F(UmockdevTest, AgreesWithLibudevOnDevices) {
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
  fake_.Device(pci + "/net/eth0", {.subsystem = "net",
                                   .ifindex = "2",
                                   .uevent = {{"INTERFACE", "eth0"}},
                                   .udev = {{"ID_NET_NAME", "eno1"}}});
  fake_.Device("/sys/devices/virtual/sound/a!b", {.subsystem = "sound", .udev = {{"A", "1"}}});
  const Properties properties = AgreeWithLibudev(port);
  EXPECT_THAT(properties, Contains(Pair("ID_SERIAL", "FTDI_A9")));
  EXPECT_THAT(properties, Contains(Pair("DEVLINKS",
                                        "/dev/serial/by-id/a /dev/serial/by-id/b "
                                        "/dev/serial/by-path/p")));
  EXPECT_THAT(properties, Contains(Pair("DEVNAME", "/dev/ttyUSB0")));
}

TEST_F(UmockdevTest, AgreesWithLibudevOnValues) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x",
                      .number = "240:0",
                      .uevent = {{"PRODUCT", "a=b=c"}, {"TYPE", ""}, {"OF_NAME", "1"}},
                      .udev = {{"PRODUCT", ""},
                               {"OF_NAME", "2"},
                               {"TYPE", "a\tb"},
                               {"LONG", std::string(300, 's')},
                               {"LONGEST", std::string(4096, 's')},
                               {"TOO_LONG", std::string(4097, 's')},
                               {"CONTROL", "a\x1b[31m"},
                               {"BYTES", "\xff\xfe"},
                               {"WORDS", " a  b "},
                               {"MAKER", "M\xc3\xbcller"}}});
  EXPECT_THAT(AgreeWithLibudev(card), Contains(Pair("LONG", std::string(300, 's'))));
}

TEST_F(UmockdevTest, AgreesWithLibudevWithoutADatabase) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x", .number = "240:0"});
  EXPECT_THAT(AgreeWithLibudev(card), SizeIs(5));
  tree_.Dir("/run/udev/data");
  AgreeWithLibudev(card);
}

// The uevent file of a HID device contains its serial number; a newline in it adds lines.
TEST_F(UmockdevTest, SerialNumberCannotForgeUeventLines) {
  const std::string usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
  const std::string hid = usb + "/1-1:1.0/0003:DEAD:BEEF.0001";
  const std::string disk = "/sys/devices/virtual/block/sda";
  fake_.Device(disk, {.subsystem = "block", .number = "8:0", .udev = {{"ID_SERIAL", "disk"}}});
  fake_.Device(usb, {.subsystem = "usb", .number = "189:1", .node = "bus/usb/001/002"});
  fake_.Device(usb + "/1-1:1.0", {.subsystem = "usb"});
  fake_.Device(hid, {.subsystem = "hid", .driver = "hid-generic"});
  tree_.File(hid + "/uevent",
             "DRIVER=hid-generic\nHID_ID=0003:0000DEAD:0000BEEF\nHID_NAME=Evil\nHID_PHYS=x\n"
             "HID_UNIQ=A1\nDEVNAME=sda\nMAJOR=8\nMINOR=0\nSUBSYSTEM=block\nDEVTYPE=disk\n"
             "MODALIAS=hid:b0003g0001v0000DEADp0000BEEF\n");
  const Properties by_libudev = test::ReadByLibudev(hid);
  EXPECT_THAT(by_libudev, Contains(Pair("DEVNAME", "/dev/sda"))) << "libudev trusts it";
  for (const HostRoot& host : {HostRoot("/"), HostRoot(tree_.path())}) {
    const auto device = Sysfs(host).Read(hid);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->node, "");
    EXPECT_EQ(device->number, std::nullopt);
    EXPECT_EQ(device->subsystem, "hid");
    EXPECT_THAT(device->properties,
                ElementsAre(Pair("DEVPATH", hid.substr(4)), Pair("DRIVER", "hid-generic"),
                            Pair("HID_ID", "0003:0000DEAD:0000BEEF"), Pair("HID_NAME", "Evil"),
                            Pair("SUBSYSTEM", "hid")));
  }
}

TEST_F(UmockdevTest, ReadFailsForARemovedDevice) {
  const std::string card = "/sys/devices/virtual/x/card0";
  fake_.Device(card, {.subsystem = "x"});
  const Sysfs here(HostRoot("/")), below(HostRoot(tree_.path()));
  ASSERT_TRUE(here.Read(card));
  fake_.Remove(card);
  for (const Sysfs* sysfs : {&here, &below}) {
    const auto gone = sysfs->Read(card);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound) << gone.error().message;
  }
}

}  // namespace
}  // namespace patchbay
