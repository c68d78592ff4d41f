#include "discovery/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::InMemory;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr char kUsb[] = "/sys/devices/pci0000:00/0000:00:14.0/usb1";
constexpr char kHub[] = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
constexpr char kStick[] = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.2";
constexpr char kPort[] =
    "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.2/1-1.2:1.0/ttyUSB0/tty/ttyUSB0";

class SysfsTest : public testing::Test {
 protected:
  /// Creates a serial adapter behind a hub, like the kernel.
  void AddSerialAdapter() {
    fake_.Device("/sys/devices/pci0000:00/0000:00:14.0",
                 {.subsystem = "pci", .driver = "xhci_hcd", .attributes = {{"numa_node", "1"}}});
    fake_.Device(kUsb, {.subsystem = "usb",
                        .driver = "usb",
                        .devtype = "usb_device",
                        .number = "189:0",
                        .node = "bus/usb/001/001"});
    fake_.Device(kHub, {.subsystem = "usb", .driver = "usb", .devtype = "usb_device"});
    fake_.Device(kStick, {.subsystem = "usb",
                          .driver = "usb",
                          .devtype = "usb_device",
                          .attributes = {{"idVendor", "0403"}, {"serial", "A9XYZ"}},
                          .uevent = {{"PRODUCT", "403/6001/600"}}});
    const std::string interface = std::string(kStick) + "/1-1.2:1.0";
    fake_.Device(interface, {.subsystem = "usb", .driver = "ftdi_sio", .devtype = "usb_interface"});
    fake_.Device(interface + "/ttyUSB0", {.subsystem = "usb-serial", .driver = "ftdi_sio"});
    fake_.Device(kPort, {.subsystem = "tty",
                         .number = "188:0",
                         .udev = {{"ID_SERIAL_SHORT", "A9XYZ"}},
                         .links = {"serial/by-id/usb-A9"}});
  }

  std::vector<std::string> Devices(std::string_view subsystem) {
    return Sysfs(host_).Devices([&](std::string_view name) { return name == subsystem; }).paths;
  }
  ErrorKind AttributeFails(const std::string& path, std::string_view name) {
    const auto value = Sysfs(host_).Attribute(path, name);
    EXPECT_FALSE(value) << name << " is " << *value;
    return value ? ErrorKind::kPrecondition : value.error().kind;
  }

  test::TempTree tree_;
  test::FakeSysfs fake_{tree_};
  HostRoot host_{tree_.path()};
};

const auto kAll = [](std::string_view) { return true; };
const auto kNone = [](const std::string&) { return false; };

TEST_F(SysfsTest, FindsTheDevicesOfASubsystem) {
  AddSerialAdapter();
  EXPECT_THAT(Devices("tty"), ElementsAre(kPort));
  EXPECT_THAT(Devices("usb"), ElementsAre(kUsb, kHub, kStick, std::string(kStick) + "/1-1.2:1.0"));
  EXPECT_THAT(Devices("usb-serial"), SizeIs(1));
  EXPECT_THAT(Devices("net"), IsEmpty());
  const SysfsPaths all = Sysfs(host_).Devices(kAll);
  EXPECT_THAT(all.paths, SizeIs(7));
  EXPECT_TRUE(std::is_sorted(all.paths.begin(), all.paths.end()));
  EXPECT_THAT(all.errors, IsEmpty());
  fake_.Remove(kStick);
  EXPECT_THAT(Devices("tty"), IsEmpty());
  EXPECT_THAT(Devices("usb"), ElementsAre(kUsb, kHub));
}

TEST_F(SysfsTest, ListsADeviceOnceThatIsLinkedTwice) {
  fake_.Device("/sys/devices/virtual/mei", {.subsystem = "mei"});
  tree_.Link("/sys/bus/mei/devices/mei", "../../../devices/virtual/mei");
  EXPECT_THAT(Devices("mei"), ElementsAre("/sys/devices/virtual/mei"));
}

TEST_F(SysfsTest, IgnoresEntriesThatAreNotDevices) {
  fake_.Device("/sys/devices/virtual/net/lo", {.subsystem = "net", .ifindex = "1"});
  tree_.File("/sys/class/net/bonding_masters");
  tree_.Dir("/sys/class/net/directory");
  tree_.Link("/sys/class/net/loop", "loop");
  tree_.Link("/sys/class/net/outside", "../../../../../../etc/passwd");
  tree_.Link("/sys/class/net/above", "../../devices");
  tree_.File("/sys/class/file");
  tree_.Link("/sys/class/circle", "circle");
  const SysfsPaths all = Sysfs(host_).Devices(kAll);
  EXPECT_THAT(all.paths, ElementsAre("/sys/devices/virtual/net/lo"));
  for (const Error& error : all.errors) EXPECT_THAT(error.message, HasSubstr("/sys/class/circle"));
}

TEST_F(SysfsTest, NamesTheMissingSysMount) {
  const test::TempTree empty;
  const SysfsPaths none = Sysfs(HostRoot(empty.path())).Devices(kAll);
  EXPECT_THAT(none.paths, IsEmpty());
  ASSERT_THAT(none.errors, SizeIs(1));
  EXPECT_THAT(none.errors[0].message, HasSubstr("mount the host's /sys at " + empty.path("sys")));

  tree_.Remove("/sys/bus");
  EXPECT_THAT(Sysfs(host_).Devices(kAll).errors, IsEmpty()) << "a system without buses";
}

TEST_F(SysfsTest, ReportsUnreadableDirectories) {
  fake_.Device("/sys/devices/virtual/net/lo", {.subsystem = "net"});
  fake_.Device("/sys/devices/virtual/tty/tty1", {.subsystem = "tty"});
  chmod(tree_.path().c_str(), 0711);
  chmod(tree_.path("/sys/class/net").c_str(), 0);
  SysfsPaths found;
  {
    const bool was_root = geteuid() == 0;
    ASSERT_TRUE(!was_root || seteuid(65534) == 0);
    found = Sysfs(host_).Devices(kAll);
    ASSERT_TRUE(!was_root || seteuid(0) == 0);
  }
  chmod(tree_.path("/sys/class/net").c_str(), 0755);
  EXPECT_THAT(found.paths, ElementsAre("/sys/devices/virtual/tty/tty1")) << "the scan continues";
  ASSERT_THAT(found.errors, SizeIs(1));
  EXPECT_THAT(found.errors[0].message, HasSubstr("/sys/class/net: Permission denied"));
}

TEST_F(SysfsTest, ReadsADevice) {
  AddSerialAdapter();
  const auto port = Sysfs(host_).Read(kPort);
  ASSERT_TRUE(port) << port.error().message;
  const SysfsDevice expected{kPort,
                             "ttyUSB0",
                             "tty",
                             "",
                             DeviceNumber{FileType::kCharacter, 188, 0},
                             "/dev/ttyUSB0",
                             {{"DEVLINKS", "/dev/serial/by-id/usb-A9"},
                              {"DEVNAME", "/dev/ttyUSB0"},
                              {"DEVPATH", kPort + 4},
                              {"ID_SERIAL_SHORT", "A9XYZ"},
                              {"MAJOR", "188"},
                              {"MINOR", "0"},
                              {"SUBSYSTEM", "tty"}}};
  EXPECT_EQ(*port, expected);
  const auto stick = Sysfs(host_).Read(kStick);
  ASSERT_TRUE(stick);
  EXPECT_EQ(stick->driver, "usb");
  EXPECT_EQ(stick->number, std::nullopt);
  EXPECT_TRUE(IsUsbDevice(*stick));
  EXPECT_FALSE(IsUsbInterface(*stick));
  EXPECT_EQ(stick->node, "");
  EXPECT_THAT(stick->properties, Contains(Pair("PRODUCT", "403/6001/600")));
  EXPECT_EQ(Sysfs(host_).Read(kUsb)->node, "/dev/bus/usb/001/001");
}

TEST_F(SysfsTest, ReadFailsForARemovedDevice) {
  AddSerialAdapter();
  fake_.Remove(kPort);
  EXPECT_EQ(Sysfs(host_).Read(kPort).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(Sysfs(host_).Read("/sys/devices/pci0000:00").error().kind, ErrorKind::kNotFound)
      << "a directory without a device";
  tree_.File("/etc/uevent");
  EXPECT_EQ(Sysfs(host_).Read("/sys/devices/../../etc").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(Sysfs(host_).Read("/etc").error().kind, ErrorKind::kInvalid);
}

TEST_F(SysfsTest, RejectsNodePathsOutsideDev) {
  for (const auto& [name, node] :
       {std::pair("a", "../etc/shadow"), {"b", "/dev/snd/pcm"}, {"c", "/etc/shadow"}}) {
    const std::string path = std::string("/sys/devices/virtual/x/") + name;
    fake_.Device(path, {.subsystem = "x", .node = node});
    tree_.File(path + "/dev", "240:0\n");
  }
  EXPECT_EQ(Sysfs(host_).Read("/sys/devices/virtual/x/a")->node, "");
  EXPECT_EQ(Sysfs(host_).Read("/sys/devices/virtual/x/b")->node, "/dev/snd/pcm");
  EXPECT_EQ(Sysfs(host_).Read("/sys/devices/virtual/x/c")->node, "");
}

TEST_F(SysfsTest, FindsTheDeviceOfANode) {
  AddSerialAdapter();
  const std::string disk = "/sys/devices/virtual/block/cciss!c0d0";
  fake_.Device(disk, {.subsystem = "block", .number = "188:0"});
  const Sysfs sysfs(host_);
  EXPECT_EQ(sysfs.OfNode(FileType::kCharacter, 188, 0), kPort);
  EXPECT_EQ(sysfs.OfNode(FileType::kBlock, 188, 0), disk);
  EXPECT_EQ(sysfs.Read(disk)->name, "cciss!c0d0");
  EXPECT_EQ(sysfs.Read(disk)->node, "/dev/cciss/c0d0");
  EXPECT_EQ(sysfs.OfNode(FileType::kBlock, 188, 1).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(sysfs.OfNode(FileType::kRegular, 188, 0).error().kind, ErrorKind::kInvalid);
  tree_.Link("/sys/dev/char/1:1", "../../../../../etc");
  EXPECT_EQ(sysfs.OfNode(FileType::kCharacter, 1, 1).error().kind, ErrorKind::kNotFound);
  const test::TempTree empty;
  EXPECT_EQ(Sysfs(HostRoot(empty.path())).OfNode(FileType::kBlock, 1, 1).error().kind,
            ErrorKind::kNotFound);
}

TEST_F(SysfsTest, FindsTheParentDevice) {
  AddSerialAdapter();
  const Sysfs sysfs(host_);
  std::vector<std::string> above;
  for (auto path = sysfs.Parent(kPort); path; path = sysfs.Parent(*path)) above.push_back(*path);
  const std::string interface = std::string(kStick) + "/1-1.2:1.0";
  EXPECT_THAT(above, ElementsAre(interface + "/ttyUSB0", interface, kStick, kHub, kUsb,
                                 "/sys/devices/pci0000:00/0000:00:14.0"));
  EXPECT_EQ(sysfs.Parent("/sys/devices"), std::nullopt);
  EXPECT_EQ(sysfs.Parent(""), std::nullopt);
}

TEST_F(SysfsTest, ReadsAttributes) {
  AddSerialAdapter();
  const std::string stick = kStick;
  const std::string longest(4096, 's');
  tree_.File(stick + "/product", "USB Serial\n\n");
  tree_.File(stick + "/empty");
  tree_.File(stick + "/lines", "one\n\ttwo\n");
  tree_.File(stick + "/long", std::string(300, 'x') + "\n");
  tree_.File(stick + "/longest", longest);
  tree_.File(stick + "/compatible", std::string("acme,fpga\0", 10));
  tree_.File(stick + "/power/control", "auto\n");
  tree_.File(stick + "/maker", "M\xc3\xbcller\n");
  const Sysfs sysfs(host_);
  EXPECT_EQ(sysfs.Attribute(stick, "idVendor"), "0403");
  EXPECT_EQ(sysfs.Attribute(stick, "product"), "USB Serial");
  EXPECT_EQ(sysfs.Attribute(stick, "empty"), "");
  EXPECT_EQ(sysfs.Attribute(stick, "lines"), "one\n\ttwo");
  EXPECT_EQ(sysfs.Attribute(stick, "long"), std::string(300, 'x'));
  EXPECT_EQ(sysfs.Attribute(stick, "longest"), longest);
  EXPECT_EQ(sysfs.Attribute(stick, "compatible"), "acme,fpga");
  EXPECT_EQ(sysfs.Attribute(stick, "power/control"), "auto");
  EXPECT_EQ(sysfs.Attribute(stick, "maker"), "M\xc3\xbcller");
  EXPECT_EQ(sysfs.Attribute(stick, "subsystem"), "usb");
  EXPECT_EQ(sysfs.Attribute(stick + "/1-1.2:1.0", "driver"), "ftdi_sio");
  EXPECT_EQ(sysfs.Attribute(kPort, "device/driver"), "ftdi_sio") << "through a link";
  EXPECT_EQ(sysfs.Attribute(kPort, "device"), "ttyUSB0");
}

TEST_F(SysfsTest, RejectsInvalidAttributes) {
  AddSerialAdapter();
  const std::string stick = kStick;
  tree_.File(stick + "/long", std::string(4097, 's'));
  tree_.File(stick + "/control", "a\x1b[31mb\n");
  tree_.File(stick + "/return", "a\rb\n");
  tree_.File(stick + "/delete", "a\x7f\n");
  tree_.File(stick + "/bytes", "\xff\xfe\n");
  tree_.File(stick + "/nul", std::string("a\0b\0", 4));
  tree_.Dir(stick + "/power");
  for (const char* name : {"long", "control", "return", "delete", "bytes", "nul", "power", "", "/",
                           "/etc/passwd", "../1-1.2/idVendor", "..", "./idVendor", "power/"}) {
    EXPECT_EQ(AttributeFails(kStick, name), ErrorKind::kInvalid) << name;
  }
  EXPECT_EQ(AttributeFails(kStick, std::string_view("idVendor\0", 9)), ErrorKind::kInvalid);
  EXPECT_EQ(AttributeFails(kStick, "nothing"), ErrorKind::kNotFound);
  EXPECT_EQ(AttributeFails(kStick, "idVendor/below"), ErrorKind::kNotFound);
  EXPECT_EQ(AttributeFails("/sys/devices/gone", "idVendor"), ErrorKind::kNotFound);
}

TEST_F(SysfsTest, ReportsUnreadableAttributes) {
  fake_.Device("/sys/devices/virtual/x/a", {.subsystem = "x", .attributes = {{"reset", "1"}}});
  chmod(tree_.path().c_str(), 0711);
  chmod(tree_.path("/sys/devices/virtual/x/a/reset").c_str(), 0200);
  const bool was_root = geteuid() == 0;
  ASSERT_TRUE(!was_root || seteuid(65534) == 0);
  const auto value = Sysfs(host_).Attribute("/sys/devices/virtual/x/a", "reset");
  ASSERT_TRUE(!was_root || seteuid(0) == 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(value.error().message, HasSubstr("/reset: Permission denied"));
}

TEST_F(SysfsTest, FindsDescendantsOfADevice) {
  AddSerialAdapter();
  const Sysfs sysfs(host_);
  const std::string interface = std::string(kStick) + "/1-1.2:1.0";
  EXPECT_THAT(sysfs.Below(kStick, kNone).paths,
              ElementsAre(kStick, interface, interface + "/ttyUSB0", kPort));
  EXPECT_THAT(sysfs.Below(kPort, kNone).paths, ElementsAre(kPort));
  EXPECT_THAT(sysfs.Below("/sys/devices/gone", kNone).paths, IsEmpty());
  EXPECT_THAT(sysfs.Below(kUsb, kNone).errors, IsEmpty());

  std::vector<std::string> asked;
  const auto other_devices = [&](const std::string& path) {
    asked.push_back(path);
    return IsUsbDevice(*sysfs.Read(path));
  };
  EXPECT_THAT(sysfs.Below(kHub, other_devices).paths, ElementsAre(kHub));
  EXPECT_THAT(asked, ElementsAre(kStick)) << "nothing below a device at which it stops";
}

class LargeSysfsTest : InMemory, public SysfsTest {};

TEST_F(LargeSysfsTest, BelowEnforcesItsLimits) {
  std::string path = "/sys/devices/deep";
  fake_.Device(path, {});
  for (int level = 1; level <= Sysfs::kMaxLevels + 1; ++level) {
    path += "/x";
    fake_.Device(path, {});
  }
  tree_.Link("/sys/devices/deep/circle", "..");
  const SysfsPaths deep = Sysfs(host_).Below("/sys/devices/deep", kNone);
  EXPECT_THAT(deep.paths, SizeIs(Sysfs::kMaxLevels + 1));
  ASSERT_THAT(deep.errors, SizeIs(1));
  EXPECT_THAT(deep.errors[0].message, HasSubstr("/sys/devices/deep"));

  fake_.Device("/sys/devices/wide", {});
  for (std::size_t i = 1; i <= Sysfs::kMaxDevices; ++i) {
    tree_.File("/sys/devices/wide/" + std::to_string(i) + "/uevent");
  }
  const SysfsPaths wide = Sysfs(host_).Below("/sys/devices/wide", kNone);
  EXPECT_THAT(wide.paths, SizeIs(Sysfs::kMaxDevices));
  EXPECT_THAT(wide.errors, SizeIs(1));
  tree_.Remove("/sys/devices/wide/1");
  EXPECT_THAT(Sysfs(host_).Below("/sys/devices/wide", kNone).errors, IsEmpty());
}

TEST_F(LargeSysfsTest, ReadsThousandsOfDevices) {
  const std::string directory = "/sys/devices/virtual/misc/";
  for (int i = 0; i < 5'000; ++i) {
    fake_.Device(directory + "card" + std::to_string(i), {.subsystem = "misc"});
  }
  const Sysfs sysfs(host_);
  const SysfsPaths found = sysfs.Devices(kAll);
  EXPECT_THAT(found.errors, IsEmpty());
  ASSERT_THAT(found.paths, SizeIs(5'000));
  for (const std::string& path : found.paths) {
    const auto device = sysfs.Read(path);
    ASSERT_TRUE(device) << path;
    EXPECT_EQ(directory + device->name, path);
    EXPECT_EQ(device->subsystem, "misc");
  }
}

}  // namespace
}  // namespace patchbay
