#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "discovery/sysfs.h"
#include "model/device.h"
#include "model/glob.h"

namespace patchbay {

/// A sysfs device and its ancestors, the device first: a tty, its port, its interface, its USB
/// device, the hub. It refers to the DeviceAncestries that returned it, which must outlive it.
struct DeviceAncestry {
  std::vector<std::reference_wrapper<const SysfsDevice>> devices;  ///< never empty

  const SysfsDevice& self() const { return devices.front(); }
  /// The nearest ancestor of this kind, or the device itself; null if there is none.
  const SysfsDevice* UsbDevice() const;
  const SysfsDevice* UsbInterface() const;
  const SysfsDevice* PciDevice() const;
  /// The USB device, otherwise the PCI function.
  const SysfsDevice* Card() const { return UsbDevice() != nullptr ? UsbDevice() : PciDevice(); }
};

/// Returns whether the device has an attribute or property with such a value, or a parent up to its
/// USB device or PCI function: those of the hub or bridge above are not its own. May block.
bool HasAttribute(const DeviceAncestry& device, const std::string& name,
                  const std::vector<NamePattern>& value, const Sysfs& sysfs);

/// The devices of one scan with their ancestors, as of the moment when each was first requested: a
/// hub is read once for all devices below it. `sysfs` must outlive it. For one thread at a time,
/// not the loop.
class DeviceAncestries {
 public:
  explicit DeviceAncestries(const Sysfs& sysfs) : sysfs_(sysfs) {}
  DeviceAncestries(const DeviceAncestries&) = delete;
  DeviceAncestries& operator=(const DeviceAncestries&) = delete;

  /// Fails with kNotFound if the device was removed. Ancestors that cannot be read are left out.
  Result<DeviceAncestry> Of(const std::string& syspath);

  /// Returns the template variables of the device that configuration.md lists from `driver` on, as
  /// far as it has them, IDs in four hexadecimal digits; then its udev properties.
  NamedValues ValuesOf(const DeviceAncestry& ancestry);

  /// Returns vendor and product of a USB device or PCI function, as `usb` and `pci` have it:
  /// "0403:6001".
  std::string NumbersOf(const SysfsDevice& device);

  /// Returns the stable name of a USB device: "0403:6001-A9007YHT" by its serial number, or
  /// "0403:6001@1-1.2" by the port it is plugged into.
  std::string UsbIdentity(const SysfsDevice& device);

 private:
  struct Known {
    Result<SysfsDevice> device;
    const Known* above = nullptr;
  };
  const Known& Know(const std::string& syspath);
  const NamedValues& OwnValues(const SysfsDevice& device);

  const Sysfs& sysfs_;
  std::unordered_map<std::string, Known> known_;  ///< by syspath
  std::unordered_map<const SysfsDevice*, NamedValues> values_;
};

}  // namespace patchbay
