#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/glob.h"

namespace patchbay {

/// What sysfs and udev must say of a device. Plain values; discovery/ knows how to ask.

/// A USB device by the numbers of its descriptor. An absent number is any.
struct UsbPattern {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> product;
  std::optional<NamePattern> serial;
  bool operator==(const UsbPattern&) const = default;
};

/// A PCI function by the numbers of its configuration space. An absent number is any.
struct PciPattern {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  bool operator==(const PciPattern&) const = default;
};

/// A device as udev rules know it. Of a list one must match, of everything else all.
struct UdevPattern {
  using Values = std::vector<std::pair<std::string, NamePattern>>;
  std::vector<NamePattern> subsystems;  ///< of the device itself; empty: any
  std::vector<NamePattern> drivers;     ///< of the device or one it sits on; empty: any
  Values properties;                    ///< of the device itself
  Values attributes;  ///< all of one device: itself or one it sits on, as ATTRS in udev's rules
  bool operator==(const UdevPattern&) const = default;
};

/// All of them must be met; none is no condition.
struct HardwarePatterns {
  std::optional<UsbPattern> usb;
  std::optional<PciPattern> pci;
  std::optional<UdevPattern> udev;

  bool empty() const { return !usb && !pci && !udev; }
  bool operator==(const HardwarePatterns&) const = default;
};

}  // namespace patchbay
