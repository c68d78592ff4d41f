#include "discovery/lineage.h"

#include <algorithm>

namespace patchbay {
namespace {

template <class Wanted>
const SysfsDevice* Nearest(const std::vector<SysfsDevice>& devices, Wanted wanted) {
  const auto found = std::find_if(devices.begin(), devices.end(), wanted);
  return found == devices.end() ? nullptr : &*found;
}

/// An attribute that is text; nothing where there is none or it says nothing.
std::optional<std::string> Text(const Sysfs& sysfs, const SysfsDevice& device,
                                std::string_view attribute) {
  auto text = sysfs.Attribute(device.path, attribute);
  if (!text || text->empty()) return std::nullopt;
  // PCI has its numbers as "0x10ee", where USB has "0403".
  return text->starts_with("0x") ? text->substr(2) : std::move(*text);
}

}  // namespace

const SysfsDevice* Lineage::UsbDevice() const {
  return Nearest(devices, [](const SysfsDevice& d) { return d.devtype == "usb_device"; });
}

const SysfsDevice* Lineage::UsbInterface() const {
  return Nearest(devices, [](const SysfsDevice& d) { return d.devtype == "usb_interface"; });
}

const SysfsDevice* Lineage::PciDevice() const {
  return Nearest(devices, [](const SysfsDevice& d) { return d.subsystem == "pci"; });
}

Result<Lineage> LineageOf(const Sysfs& sysfs, const std::string& syspath) {
  Lineage lineage;
  lineage.devices.push_back(TRY(sysfs.Read(syspath)));
  for (auto above = sysfs.Parent(syspath); above; above = sysfs.Parent(*above)) {
    if (auto device = sysfs.Read(*above)) lineage.devices.push_back(std::move(*device));
  }
  return lineage;
}

NamedValues ValuesOf(const Lineage& lineage, const Sysfs& sysfs) {
  NamedValues values;
  const auto add = [&](std::string_view name, const SysfsDevice* device,
                       std::string_view attribute) {
    if (device == nullptr) return;
    if (auto text = Text(sysfs, *device, attribute)) values.emplace_back(name, std::move(*text));
  };
  const auto* driven =
      Nearest(lineage.devices, [](const SysfsDevice& d) { return !d.driver.empty(); });
  if (driven != nullptr) values.emplace_back("driver", driven->driver);
  const SysfsDevice* usb = lineage.UsbDevice();
  add("usb_vendor", usb, "idVendor");
  add("usb_product", usb, "idProduct");
  add("usb_serial", usb, "serial");
  if (usb != nullptr) values.emplace_back("usb_port", usb->name);
  add("usb_interface", lineage.UsbInterface(), "bInterfaceNumber");
  const SysfsDevice* pci = lineage.PciDevice();
  if (pci != nullptr) values.emplace_back("pci_address", pci->name);
  add("pci_vendor", pci, "vendor");
  add("pci_device", pci, "device");
  const auto& properties = lineage.self().properties;
  values.insert(values.end(), properties.begin(), properties.end());
  return values;
}

std::string UsbIdentity(const SysfsDevice& device, const Sysfs& sysfs) {
  const std::string numbers = Text(sysfs, device, "idVendor").value_or("") + ":" +
                              Text(sysfs, device, "idProduct").value_or("");
  const auto serial = Text(sysfs, device, "serial");
  return serial ? numbers + "-" + *serial : numbers + "@" + device.name;
}

}  // namespace patchbay
