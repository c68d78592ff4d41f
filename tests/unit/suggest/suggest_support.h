#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "suggest/suggest.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay::test {

inline const std::string kXhci = "/sys/devices/pci0000:00/0000:00:14.0";

/// A host with a USB controller, for devices that a test adds.
class SuggestTest : InMemory, public testing::Test {
 protected:
  SuggestTest() {
    sysfs_.Device(kXhci, {.subsystem = "pci", .driver = "xhci_hcd"});
    sysfs_.Device(kXhci + "/usb1", {.subsystem = "usb", .devtype = "usb_device"});
  }

  /// Adds a USB device with one interface. Returns the path of the latter.
  std::string Usb(const std::string& port, const std::string& id, const std::string& serial,
                  FakeDevice::Pairs attributes = {}) {
    const std::string path = kXhci + "/usb1/" + port;
    attributes.emplace_back("idVendor", id.substr(0, 4));
    attributes.emplace_back("idProduct", id.substr(5));
    if (!serial.empty()) attributes.emplace_back("serial", serial);
    sysfs_.Device(path, {.subsystem = "usb",
                         .devtype = "usb_device",
                         .number = "189:" + std::to_string(++devices_),
                         .node = "/dev/bus/usb/001/00" + std::to_string(devices_),
                         .attributes = attributes});
    const std::string interface = path + "/" + port + ":1.0";
    sysfs_.Device(interface, {.subsystem = "usb",
                              .devtype = "usb_interface",
                              .attributes = {{"bInterfaceNumber", "00"}}});
    return interface;
  }

  /// Adds the tty of a USB serial adapter.
  void Tty(const std::string& interface, int number) {
    const std::string name = "ttyUSB" + std::to_string(number);
    sysfs_.Device(interface + "/" + name + "/tty/" + name,
                  {.subsystem = "tty", .number = "188:" + std::to_string(number)});
  }

  /// Returns the file for these words, or for the whole host.
  std::string Suggested(std::vector<std::string> words = {}) {
    return SuggestionsToml(Suggest(HostRoot(tree_.path()), {.devices = std::move(words)}));
  }

  TempTree tree_;
  FakeSysfs sysfs_{tree_};
  int devices_ = 0;
};

/// Returns the lines of a file that are not comments.
inline std::string WithoutComments(const std::string& toml) {
  std::string rest;
  for (std::size_t start = 0; start < toml.size();) {
    const std::size_t end = toml.find('\n', start) + 1;
    const std::string line = toml.substr(start, end - start);
    if (line.find('#') != line.find_first_not_of(' ')) rest += line;
    start = end;
  }
  return rest;
}

}  // namespace patchbay::test
