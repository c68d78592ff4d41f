#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/glob.h"

namespace patchbay {

/// Conditions on the sysfs attributes and udev properties of a device. Plain values; discovery/
/// evaluates them.

/// A USB device by the numbers of its descriptor. An absent number matches any.
struct UsbPattern {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> product;
  std::optional<NamePattern> serial;
  bool operator==(const UsbPattern&) const = default;
};

/// A PCI function by the numbers of its configuration space. An absent number matches any.
struct PciPattern {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  bool operator==(const PciPattern&) const = default;
};

/// A device by the keys of udev rules. One pattern of each list must match, and all properties and
/// attributes.
struct UdevPattern {
  using Values = std::vector<std::pair<std::string, NamePattern>>;
  std::vector<NamePattern> subsystems;  ///< of the device itself; empty: any
  std::vector<NamePattern> drivers;     ///< of the device or a parent; empty: any
  Values properties;                    ///< of the device itself
  Values attributes;  ///< all of the device, or all of one parent, like ATTRS of udev(7)
  bool operator==(const UdevPattern&) const = default;
};

/// All of them must match. If all are absent, every device matches.
struct HardwarePatterns {
  std::optional<UsbPattern> usb;
  std::optional<PciPattern> pci;
  std::optional<UdevPattern> udev;

  bool empty() const { return !usb && !pci && !udev; }
  bool operator==(const HardwarePatterns&) const = default;
};

}  // namespace patchbay
