#pragma once

#include <optional>
#include <string>

#include "discovery/device_ancestry.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Returns why a sysfs device does not match the pattern, for an administrator; nothing if it does.
/// A USB or PCI pattern applies to the nearest such device among the device and its ancestors.
std::optional<std::string> Unmet(const UsbPattern& usb, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
std::optional<std::string> Unmet(const PciPattern& pci, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
std::optional<std::string> Unmet(const UdevPattern& udev, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
/// Returns whether the device has another vendor or subsystem than the pattern, or is of another
/// kind, so that the pattern is probably not intended for it.
bool IsOfOtherKind(const UsbPattern& usb, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const PciPattern& pci, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const UdevPattern& udev, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const HardwarePatterns& conditions, const DeviceAncestry& device,
                   const Sysfs& sysfs);
/// Returns the first pattern that does not match.
std::optional<std::string> Unmet(const HardwarePatterns& conditions, const DeviceAncestry& device,
                                 const Sysfs& sysfs);

}  // namespace patchbay
