#pragma once

#include <vector>

#include "discovery/sysfs.h"
#include "model/device.h"

namespace patchbay {

/// A device of sysfs and those it sits on, itself first: a tty, its port, its interface, its USB
/// device, the hub. A view of one moment.
struct Lineage {
  std::vector<SysfsDevice> devices;  ///< never empty

  const SysfsDevice& self() const { return devices.front(); }
  /// The nearest of its kind; null where there is none.
  const SysfsDevice* UsbDevice() const;
  const SysfsDevice* UsbInterface() const;
  const SysfsDevice* PciDevice() const;
};

/// Fails when the device has gone. Ancestors that cannot be read are left out.
Result<Lineage> LineageOf(const Sysfs& sysfs, const std::string& syspath);

/// What templates can say of the device: `driver`, `usb_vendor`, `usb_product`, `usb_serial`,
/// `usb_port` (its place, "1-1.2"), `usb_interface`, `pci_address`, `pci_vendor`, `pci_device`, as
/// far as it has them, numbers in four hexadecimal digits; then its udev properties.
NamedValues ValuesOf(const Lineage& lineage, const Sysfs& sysfs);

/// The stable name of a USB device: "0403:6001-A9007YHT" by its serial number, or
/// "0403:6001@1-1.2" by the port it is plugged into.
std::string UsbIdentity(const SysfsDevice& device, const Sysfs& sysfs);

}  // namespace patchbay
