#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temp_tree.h"

namespace patchbay::test {

/// A device for FakeSysfs. Empty fields are left out.
struct FakeDevice {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string subsystem = {};
  std::string driver = {};
  std::string devtype = {};
  std::string number = {};   ///< "188:0"; of a block device where the subsystem is "block"
  std::string node = {};     ///< below /dev; with a number, the name where it is empty
  std::string ifindex = {};  ///< of a network interface
  Pairs attributes = {};     ///< "numa_node", "power/control"; a newline is appended
  Pairs uevent = {};         ///< further lines of the kernel, such as PRODUCT
  Pairs udev = {};           ///< properties in udev's database
  std::vector<std::string> links = {};  ///< of udev, below /dev
};

/// Creates devices in the /sys, /run/udev and, as root, the /dev of a tree, in the layout of the
/// kernel and udev. Create parents before their children.
class FakeSysfs {
 public:
  explicit FakeSysfs(TempTree& tree) : tree_(tree) {
    tree_.Dir("/sys/devices");
    tree_.Dir("/sys/class");
    tree_.Dir("/sys/bus");
  }

  /// `path` is the syspath: "/sys/devices/pci0000:00/0000:00:02.0".
  void Device(const std::string& path, const FakeDevice& device) {
    const std::string name = std::filesystem::path(path).filename();
    std::string number = device.number;
    std::string uevent;
    std::string node = device.node.empty() && !number.empty() ? NodeName(name) : device.node;
    if (!number.empty()) {
      const auto colon = number.find(':');
      uevent += "MAJOR=" + number.substr(0, colon) + "\nMINOR=" + number.substr(colon + 1) + "\n";
    }
    AddLine(uevent, "DEVNAME", node);
    AddLine(uevent, "DEVTYPE", device.devtype);
    AddLine(uevent, "IFINDEX", device.ifindex);
    AddLine(uevent, "DRIVER", device.driver);
    for (const auto& [key, value] : device.uevent) uevent += key + "=" + value + "\n";
    tree_.File(path + "/uevent", uevent);
    for (const auto& [key, value] : device.attributes) tree_.File(path + "/" + key, value + "\n");
    if (!device.ifindex.empty()) tree_.File(path + "/ifindex", device.ifindex + "\n");

    if (!device.subsystem.empty()) AddToSubsystem(path, name, device);
    if (!number.empty()) AddNode(path, node, device);
    AddToDatabase(path, name, device);
  }

  /// Removes everything that Device created for a path and the paths below it.
  void Remove(const std::string& path) {
    std::erase_if(made_, [&](const auto& made) {
      if (made.first != path && !made.first.starts_with(path + "/")) return false;
      for (const std::string& file : made.second) tree_.Remove(file);
      return true;
    });
    tree_.Remove(path);
  }

 private:
  static void AddLine(std::string& text, const std::string& key, const std::string& value) {
    if (!value.empty()) text += key + "=" + value + "\n";
  }

  static std::string NodeName(std::string name) {
    for (char& c : name) c = c == '!' ? '/' : c;
    return name;
  }

  /// Creates a link as in sysfs: relative, to a path that ends with a name.
  void Link(const std::string& from, const std::filesystem::path& to) {
    const auto directory = std::filesystem::path(from).parent_path();
    tree_.Link(from, (to.parent_path().lexically_relative(directory) / to.filename()).string());
  }

  void AddToSubsystem(const std::string& path, const std::string& name, const FakeDevice& device) {
    static const std::set<std::string> kBuses = {
        "cpu",  "hid", "i2c",    "mdio_bus", "nd",         "pci",  "platform", "pnp",
        "scsi", "spi", "serial", "usb",      "usb-serial", "vdpa", "virtio",   "vmbus"};
    const bool is_bus = kBuses.contains(device.subsystem);
    const std::string subsystem = (is_bus ? "/sys/bus/" : "/sys/class/") + device.subsystem;
    const std::string entry = subsystem + (is_bus ? "/devices/" : "/") + name;
    Link(path + "/subsystem", subsystem);
    Link(entry, path);
    made_[path].push_back(entry);
    if (!device.driver.empty()) {
      const std::string driver = "/sys/bus/" + device.subsystem + "/drivers/" + device.driver;
      tree_.Dir(driver);
      Link(path + "/driver", driver);
    }
    if (is_bus) return;
    auto above = std::filesystem::path(path).parent_path();
    while (above != "/sys/devices") {
      if (std::filesystem::exists(tree_.path(above.string() + "/uevent"))) {
        return Link(path + "/device", above);
      }
      above = above.parent_path();
    }
  }

  void AddNode(const std::string& path, const std::string& node, const FakeDevice& device) {
    const bool is_block = device.subsystem == "block";
    const std::string entry =
        std::string("/sys/dev/") + (is_block ? "block/" : "char/") + device.number;
    Link(entry, path);
    tree_.File(path + "/dev", device.number + "\n");
    made_[path].push_back(entry);
    if (geteuid() != 0) return;
    unsigned major = 0, minor = 0;
    if (std::sscanf(device.number.c_str(), "%u:%u", &major, &minor) != 2) {
      throw std::runtime_error("a device number is written major:minor");
    }
    if (is_block) {
      tree_.BlockDevice("/dev/" + node, major, minor);
    } else {
      tree_.CharDevice("/dev/" + node, major, minor);
    }
    made_[path].push_back("/dev/" + node);
    for (const std::string& link : device.links) {
      tree_.Link("/dev/" + link, "/dev/" + node);
      made_[path].push_back("/dev/" + link);
    }
  }

  void AddToDatabase(const std::string& path, const std::string& name, const FakeDevice& device) {
    if (device.udev.empty() && device.links.empty()) return;
    std::string text = "I:4711\nL:-100\nG:systemd\nQ:systemd\nV:1\n";
    for (const std::string& link : device.links) text += "S:" + link + "\n";
    for (const auto& [key, value] : device.udev) text += "E:" + key + "=" + value + "\n";
    std::string key = "+" + device.subsystem + ":" + name;
    if (!device.ifindex.empty()) key = "n" + device.ifindex;
    if (!device.number.empty()) key = (device.subsystem == "block" ? "b" : "c") + device.number;
    tree_.File("/run/udev/data/" + key, text);
    made_[path].push_back("/run/udev/data/" + key);
  }

  TempTree& tree_;
  std::map<std::string, std::vector<std::string>> made_;  ///< outside of a device's directory
};

}  // namespace patchbay::test
