#pragma once

#include <optional>
#include <string>

#include "discovery/device_ancestry.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Why a device of sysfs does not meet the condition, in words for an administrator; nothing if it
/// does. A USB or PCI pattern is held to the nearest such device in the lineage.
std::optional<std::string> Unmet(const UsbPattern& usb, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
std::optional<std::string> Unmet(const PciPattern& pci, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
std::optional<std::string> Unmet(const UdevPattern& udev, const DeviceAncestry& device,
                                 const Sysfs& sysfs);
/// Whether the device is of another vendor or subsystem than the pattern asks for, or no such
/// device at all, so that the pattern was hardly meant for it.
bool IsOfOtherKind(const UsbPattern& usb, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const PciPattern& pci, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const UdevPattern& udev, const DeviceAncestry& device, const Sysfs& sysfs);
bool IsOfOtherKind(const HardwarePatterns& conditions, const DeviceAncestry& device,
                   const Sysfs& sysfs);
/// The first that is not met.
std::optional<std::string> Unmet(const HardwarePatterns& conditions, const DeviceAncestry& device,
                                 const Sysfs& sysfs);

}  // namespace patchbay
