#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/glob.h"
#include "model/source_traits.h"

namespace patchbay {

/// Conditions on the sysfs attributes and udev properties of a device. Plain values; discovery/
/// evaluates them.

/// The numbers that lsusb and lspci -n show as "vendor:product". An absent number matches any.
struct HardwareId {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> product;
  bool operator==(const HardwareId&) const = default;
};

/// A USB device. One entry of each list must match; an empty list matches any device.
struct UsbPattern {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = true, .reads_sysfs = true};
  std::vector<HardwareId> ids = {};
  std::vector<NamePattern> serials = {};
  std::vector<NamePattern> ports = {};  ///< the place on its bus, as in sysfs: "1-1.2"
  bool operator==(const UsbPattern&) const = default;
};

/// A PCI function. One entry of each list must match; an empty list matches any function.
struct PciPattern {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = true, .reads_sysfs = true};
  std::vector<HardwareId> ids = {};
  std::vector<NamePattern> addresses = {};  ///< as in sysfs: "0000:3b:00.0"
  bool operator==(const PciPattern&) const = default;
};

/// A device by the keys of udev rules. All properties and attributes must match, and one pattern of
/// each list.
struct UdevPattern {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = false, .reads_sysfs = true};
  using Values = std::vector<std::pair<std::string, std::vector<NamePattern>>>;
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

/// Returns whether a USB device can have this name in /sys/bus/usb/devices: "1-1.2", or "usb1" for
/// a root hub. Source: Documentation/ABI/testing/sysfs-bus-usb of Linux.
bool IsUsbPort(std::string_view name);

/// Returns whether a PCI function can have this name in /sys/bus/pci/devices: "0000:3b:00.0". The
/// domain has more than four digits behind a VMD controller.
bool IsPciAddress(std::string_view name);

}  // namespace patchbay
