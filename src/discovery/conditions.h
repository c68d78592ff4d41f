#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/device_ancestry.h"
#include "model/hardware_patterns.h"
#include "model/spec.h"

namespace patchbay {

/// Why a sysfs device does not match a pattern.
struct Mismatch {
  std::string why;             ///< for an administrator: "its USB ID is 1a86:7523, not 0403:*"
  bool is_unreadable = false;  ///< whether a value could not be read, so that it might match
  bool is_missing = false;     ///< whether the device lacks what the pattern compares
};

/// Returns why a sysfs device does not match the pattern; nothing if it does. A USB or PCI pattern
/// applies to the nearest such device among the device and its ancestors.
std::optional<Mismatch> FirstMismatch(const UsbPattern& usb, const DeviceAncestry& device,
                                      const Sysfs& sysfs);
std::optional<Mismatch> FirstMismatch(const PciPattern& pci, const DeviceAncestry& device,
                                      const Sysfs& sysfs);
std::optional<Mismatch> FirstMismatch(const UdevPattern& udev, const DeviceAncestry& device,
                                      const Sysfs& sysfs);
/// Returns the first pattern that does not match.
std::optional<Mismatch> FirstMismatch(const HardwarePatterns& conditions,
                                      const DeviceAncestry& device, const Sysfs& sysfs);

/// Why a sysfs device is not selected by the conditions of a match.
struct Unselected {
  std::string why;  ///< for an administrator
  /// The conditions of `not` that exclude it with its whole device: "usb", "pci" or "udev".
  std::vector<std::string_view> negated_by = {};
  bool is_negated() const { return !negated_by.empty(); }
};

/// Returns why the device does not meet the conditions of the match, or meets the USB, PCI or udev
/// conditions of its `not`. A device for which `not` cannot be checked is excluded.
std::optional<Unselected> WhyUnselected(const MatchSpec& match, const DeviceAncestry& device,
                                        const Sysfs& sysfs);

/// Returns why `not` of the match compared nothing, because the device lacks what it compares; ""
/// otherwise. The device passed WhyUnselected.
std::string WhyNotCompared(const MatchSpec& match, const DeviceAncestry& device,
                           const Sysfs& sysfs);

/// Returns the conditions that `not` of the match has, as in Unselected.
std::vector<std::string_view> ConditionsOfNot(const MatchSpec& match);
/// Returns the keys of one of them, as the configuration has them: "not.pci, not.pci_address".
std::string KeysOfNot(const MatchSpec& match, std::string_view condition);

/// Returns whether the device has another vendor or subsystem than the pattern, or is of another
/// kind, so that the pattern is probably not intended for it.
bool IsOfOtherKind(const UsbPattern& usb, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const PciPattern& pci, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const UdevPattern& udev, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const HardwarePatterns& conditions, const DeviceAncestry& device,
                   const Sysfs& sysfs);

}  // namespace patchbay
