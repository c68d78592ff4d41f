#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "discovery/sysfs.h"
#include "model/device.h"

namespace patchbay {

/// A device of sysfs and those it sits on, itself first: a tty, its port, its interface, its USB
/// device, the hub. A view into the Lineages it came from, and lives no longer.
struct Lineage {
  std::vector<std::reference_wrapper<const SysfsDevice>> devices;  ///< never empty

  const SysfsDevice& self() const { return devices.front(); }
  /// The nearest of its kind; null where there is none.
  const SysfsDevice* UsbDevice() const;
  const SysfsDevice* UsbInterface() const;
  const SysfsDevice* PciDevice() const;
};

/// What the devices of one pass are and sit on, as of the moment when each was first asked for: a
/// hub is read once, however much is plugged into it. Lives no longer than `sysfs`. Any one thread
/// at a time; not for the loop.
class Lineages {
 public:
  explicit Lineages(const Sysfs& sysfs) : sysfs_(sysfs) {}
  Lineages(const Lineages&) = delete;
  Lineages& operator=(const Lineages&) = delete;

  /// Fails with kNotFound when the device has gone. Ancestors that cannot be read are left out.
  Result<Lineage> Of(const std::string& syspath);

  /// What templates can say of the device: `driver`, `usb_vendor`, `usb_product`, `usb_serial`,
  /// `usb_port` (its place, "1-1.2"), `usb_interface`, `pci_address`, `pci_vendor`, `pci_device`,
  /// as far as it has them, numbers in four hexadecimal digits; then its udev properties.
  NamedValues ValuesOf(const Lineage& lineage);

  /// What a USB device or PCI function is, as `usb` and `pci` have it: "0403:6001".
  std::string NumbersOf(const SysfsDevice& device);

  /// The stable name of a USB device: "0403:6001-A9007YHT" by its serial number, or
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
