#include "discovery/device_ancestry.h"

#include <algorithm>

#include "base/escape.h"

namespace patchbay {
namespace {

template <class Wanted>
const SysfsDevice* Nearest(const DeviceAncestry& ancestry, Wanted wanted) {
  const auto& devices = ancestry.devices;
  const auto found = std::find_if(devices.begin(), devices.end(), wanted);
  return found == devices.end() ? nullptr : &found->get();
}

bool IsPciDevice(const SysfsDevice& device) { return device.subsystem == "pci"; }

/// Returns the root of a PCI device, "pci0000:00": the first directory of its syspath. An RC bridge
/// of a virtual machine may be named otherwise; then there is none.
std::optional<std::string> PcieRootOf(std::string_view syspath) {
  constexpr std::string_view kDevices = "/sys/devices/";
  if (!syspath.starts_with(kDevices)) return std::nullopt;
  syspath.remove_prefix(kDevices.size());
  const std::string_view root = syspath.substr(0, syspath.find('/'));
  if (!root.starts_with("pci")) return std::nullopt;
  return std::string(root);
}

}  // namespace

const SysfsDevice* DeviceAncestry::UsbDevice() const { return Nearest(*this, IsUsbDevice); }
const SysfsDevice* DeviceAncestry::UsbInterface() const { return Nearest(*this, IsUsbInterface); }
const SysfsDevice* DeviceAncestry::PciDevice() const { return Nearest(*this, IsPciDevice); }

bool HasAttribute(const DeviceAncestry& device, const std::string& name,
                  const std::vector<NamePattern>& value, const Sysfs& sysfs) {
  for (const SysfsDevice& one : device.devices) {
    const auto property = one.properties.find(name);
    if (property != one.properties.end() && MatchesAny(value, property->second)) return true;
    const auto found = sysfs.Attribute(one.path, name);
    if (found && MatchesAny(value, *found)) return true;
    if (IsUsbDevice(one) || one.subsystem == "pci") return false;
  }
  return false;
}

const DeviceAncestries::Known& DeviceAncestries::Know(const std::string& syspath) {
  const auto at = known_.find(syspath);
  if (at != known_.end()) return at->second;
  Known& known = known_.emplace(syspath, Known{sysfs_.Read(syspath)}).first->second;
  if (const auto above = sysfs_.Parent(syspath)) known.above = &Know(*above);
  return known;
}

Result<DeviceAncestry> DeviceAncestries::Of(const std::string& syspath) {
  const Known* known = &Know(syspath);
  if (!known->device) return Failure(known->device.error());
  DeviceAncestry ancestry;
  for (; known != nullptr; known = known->above) {
    if (known->device) ancestry.devices.emplace_back(*known->device);
  }
  return ancestry;
}

/// Adds the values of a device for itself and its descendants.
const NamedValues& DeviceAncestries::OwnValues(const SysfsDevice& device) {
  const auto [at, is_new] = values_.try_emplace(&device);
  NamedValues& values = at->second;
  if (!is_new) return values;
  const auto add = [&](std::string_view name, std::string_view attribute) {
    auto text = sysfs_.Attribute(device.path, attribute);
    // A USB device can have any text as its serial number. Templates get only plain text.
    if (text && !text->empty() && IsPrintable(*text)) values.emplace_back(name, std::move(*text));
  };
  const auto add_number = [&](std::string_view name, std::string_view attribute) {
    add(name, attribute);
    if (values.empty() || values.back().first != name) return;
    // Numbers are "0x10ee" for PCI and "0403" for USB.
    if (values.back().second.starts_with("0x")) values.back().second.erase(0, 2);
  };
  if (IsUsbDevice(device)) {
    add_number("usb_vendor", "idVendor");
    add_number("usb_product", "idProduct");
    add("usb_serial", "serial");
    values.emplace_back("usb_port", device.name);
    add("usb_bus", "busnum");
    add("usb_device", "devnum");
  } else if (IsUsbInterface(device)) {
    add("usb_interface", "bInterfaceNumber");
  } else if (IsPciDevice(device)) {
    values.emplace_back("pci_address", device.name);
    values.emplace_back("pci_slot", device.name.substr(0, device.name.rfind('.')));
    if (const auto root = PcieRootOf(device.path)) values.emplace_back("pcie_root", *root);
    add_number("pci_vendor", "vendor");
    add_number("pci_device", "device");
  }
  return values;
}

NamedValues DeviceAncestries::ValuesOf(const DeviceAncestry& ancestry) {
  NamedValues values;
  const auto* driven = Nearest(ancestry, [](const SysfsDevice& d) { return !d.driver.empty(); });
  if (driven != nullptr) values.emplace_back("driver", driven->driver);
  if (ancestry.devices.size() > 1) values.emplace_back("parent", ancestry.devices[1].get().name);
  for (const auto* device : {ancestry.UsbDevice(), ancestry.UsbInterface(), ancestry.PciDevice()}) {
    if (device == nullptr) continue;
    const NamedValues& own = OwnValues(*device);
    values.insert(values.end(), own.begin(), own.end());
  }
  const auto& properties = ancestry.self().properties;
  values.insert(values.end(), properties.begin(), properties.end());
  return values;
}

std::string DeviceAncestries::NumbersOf(const SysfsDevice& device) {
  std::string vendor, product;
  for (const auto& [name, value] : OwnValues(device)) {
    if (name == "usb_vendor" || name == "pci_vendor") vendor = value;
    if (name == "usb_product" || name == "pci_device") product = value;
  }
  return vendor + ":" + product;
}

std::string DeviceAncestries::UsbIdentity(const SysfsDevice& device) {
  std::string serial;
  for (const auto& [name, value] : OwnValues(device)) {
    if (name == "usb_serial") serial = value;
  }
  return NumbersOf(device) + (serial.empty() ? "@" + device.name : "-" + serial);
}

}  // namespace patchbay
