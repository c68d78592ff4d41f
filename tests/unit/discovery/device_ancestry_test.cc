#include "discovery/device_ancestry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "os/unique_fd.h"
#include "specs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::InMemory;
using test::Resource;
using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

/// Counts how often files of a device are opened from now on: its `uevent` file, and the numbers of
/// a PCI device.
class Reads {
 public:
  explicit Reads(const test::TempTree& tree) : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree.path("sys"))) {
      const std::string name = entry.path().filename();
      if (name != "uevent" && name != "vendor" && name != "device") continue;
      if (!entry.is_regular_file() || entry.is_symlink()) continue;
      // With both, two consecutive opens are not merged.
      const int watch = inotify_add_watch(fd_.get(), entry.path().c_str(), IN_OPEN | IN_CLOSE);
      if (watch < 0) throw std::runtime_error("cannot watch a file");
      paths_[watch] = entry.path().lexically_relative(tree.path()).string();
    }
  }

  /// By file; -1 if unknown, because there were too many.
  std::map<std::string, int> Count() {
    std::map<std::string, int> counts;
    alignas(inotify_event) std::array<char, 64 * 1024> buffer;
    ssize_t length = 0;
    while ((length = read(fd_.get(), buffer.data(), buffer.size())) > 0) {
      for (ssize_t at = 0; at < length;) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof event);
        at += static_cast<ssize_t>(sizeof event + event.len);
        if ((event.mask & IN_Q_OVERFLOW) != 0) return {{"too many", -1}};
        if ((event.mask & IN_OPEN) != 0) ++counts[paths_.at(event.wd)];
      }
    }
    return counts;
  }
  std::size_t files() const { return paths_.size(); }

 private:
  UniqueFd fd_;
  std::map<int, std::string> paths_;
};

constexpr int kHubs = 10;
constexpr int kPorts = 50;

/// A host with kHubs * kPorts serial adapters behind hubs.
class ManyAdapters : InMemory, public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    sysfs_.Device(kController, {.subsystem = "pci",
                                .driver = "xhci_hcd",
                                .attributes = {{"vendor", "0x8086"}, {"device", "0xa36d"}}});
    sysfs_.Device(kController + "/usb1", {.subsystem = "usb", .devtype = "usb_device"});
    for (int hub = 0; hub < kHubs; ++hub) {
      sysfs_.Device(Hub(hub), {.subsystem = "usb", .devtype = "usb_device"});
      for (int port = 0; port < kPorts; ++port) Adapter(hub, port);
    }
  }

  static std::string Hub(int hub) { return kController + "/usb1/1-" + std::to_string(hub); }

  void Adapter(int hub, int port) {
    const int number = hub * kPorts + port;
    const std::string name = "1-" + std::to_string(hub) + "." + std::to_string(port);
    const std::string usb = Hub(hub) + "/" + name, interface = usb + "/" + name + ":1.0";
    const std::string tty = "ttyUSB" + std::to_string(number);
    sysfs_.Device(usb, {.subsystem = "usb",
                        .driver = "usb",
                        .devtype = "usb_device",
                        .attributes = {{"idVendor", "0403"},
                                       {"idProduct", "6001"},
                                       {"serial", "S" + std::to_string(number)}}});
    sysfs_.Device(interface, {.subsystem = "usb",
                              .driver = "ftdi_sio",
                              .devtype = "usb_interface",
                              .attributes = {{"bInterfaceNumber", "00"}}});
    sysfs_.Device(interface + "/" + tty, {.subsystem = "usb-serial", .driver = "ftdi_sio"});
    sysfs_.Device(interface + "/" + tty + "/tty/" + tty,
                  {.subsystem = "tty", .number = "188:" + std::to_string(number)});
  }

  static inline const std::string kController = "/sys/devices/pci0000:00/0000:00:14.0";
  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(ManyAdapters, ScanReadsEachDeviceOnce) {
  const MatchSpec usb{.source = UsbPattern{{{0x0403, 0x6001}}}, .exclude = {}, .id = {}};
  MatchSpec udev;
  udev.source = UdevPattern{{NamePattern::Compile("tty").value()}, {}, {}, {}};
  MatchSpec path = test::PathMatch({"/dev/ttyUSB*"});
  path.conditions.usb = UsbPattern{{{0x0403, std::nullopt}}};

  Reads reads(tree_);
  ASSERT_EQ(reads.files(), 4 + kHubs + 4 * kHubs * kPorts);
  for (const MatchSpec& match : {usb, udev, path}) {
    const Discovery found = Discover(Resource({match}), HostRoot(tree_.path()), "");
    EXPECT_THAT(found.devices, SizeIs(kHubs * kPorts));
    const auto counts = reads.Count();
    EXPECT_EQ(counts.size(), reads.files());
    for (const auto& [file, count] : counts) EXPECT_EQ(count, 1) << file;
  }
}

TEST(DeviceAncestriesTest, StripsTheHexPrefixOnlyFromNumbers) {
  test::TempTree tree;
  test::FakeSysfs fake(tree);
  fake.Device("/sys/devices/pci0000:00/0000:00:14.0",
              {.subsystem = "pci", .attributes = {{"vendor", "0x8086"}, {"device", ""}}});
  const std::string path = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
  fake.Device(path,
              {.subsystem = "usb",
               .devtype = "usb_device",
               .attributes = {
                   {"idVendor", "0403"}, {"serial", "0x17"}, {"busnum", "3"}, {"devnum", "12"}}});
  const Sysfs sysfs{HostRoot(tree.path())};
  DeviceAncestries ancestries(sysfs);
  const auto device = ancestries.Of(path);
  ASSERT_TRUE(device);
  const NamedValues all = ancestries.ValuesOf(*device);
  EXPECT_THAT(NamedValues(all.begin(), all.begin() + 10),
              ElementsAre(Pair("parent", "0000:00:14.0"), Pair("usb_vendor", "0403"),
                          Pair("usb_serial", "0x17"), Pair("usb_port", "1-1"), Pair("usb_bus", "3"),
                          Pair("usb_device", "12"), Pair("pci_address", "0000:00:14.0"),
                          Pair("pci_slot", "0000:00:14"), Pair("pcie_root", "pci0000:00"),
                          Pair("pci_vendor", "8086")));
  EXPECT_EQ(ancestries.UsbIdentity(device->self()), "0403:-0x17");
}

TEST(DeviceAncestriesTest, CachesTheFirstRead) {
  test::TempTree tree;
  test::FakeSysfs fake(tree);
  fake.Device("/sys/devices/virtual/x/a", {.subsystem = "x"});
  const Sysfs sysfs{HostRoot(tree.path())};
  DeviceAncestries ancestries(sysfs);
  EXPECT_EQ(ancestries.Of("/sys/devices/virtual/x/b").error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(ancestries.Of("/sys/devices/virtual/x/a"));
  fake.Remove("/sys/devices/virtual/x/a");
  fake.Device("/sys/devices/virtual/x/b", {.subsystem = "x"});
  EXPECT_EQ(ancestries.Of("/sys/devices/virtual/x/a")->self().subsystem, "x");
  EXPECT_FALSE(ancestries.Of("/sys/devices/virtual/x/b"));
}

}  // namespace
}  // namespace patchbay
