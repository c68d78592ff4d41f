#include "discovery/conditions.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace patchbay {
namespace {

using Mismatch = std::optional<std::string>;

/// Compares a number of a device, in hexadecimal with or without "0x", with that of the pattern.
Mismatch WrongNumber(std::string_view what, std::optional<std::uint16_t> wanted,
                     const SysfsDevice& device, std::string_view attribute, const Sysfs& sysfs) {
  if (!wanted) return std::nullopt;
  const auto text = sysfs.Attribute(device.path, attribute);
  if (!text) return text.error().message;
  std::string_view digits = *text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (parsed.ec == std::errc() && number == *wanted) return std::nullopt;
  return format("its {} is {}, not {:04x}", what, digits, *wanted);
}

std::string Texts(const std::vector<NamePattern>& patterns) {
  std::string texts;
  for (const NamePattern& pattern : patterns) {
    texts += (texts.empty() ? "" : " or ") + pattern.text();
  }
  return texts;
}

Mismatch WrongProperty(const UdevPattern& udev, const SysfsDevice& device, const Sysfs& sysfs) {
  for (const auto& [name, pattern] : udev.properties) {
    const auto found = device.properties.find(name);
    if (found == device.properties.end()) {
      return format("it has no property {}{}", name,
                    sysfs.properties().HasDatabase()
                        ? ""
                        : "; there is no udev database: mount the host's /run/udev");
    }
    if (!pattern.Matches(found->second)) {
      return format("its property {} is \"{}\", not {}", name, found->second, pattern.text());
    }
  }
  return std::nullopt;
}

bool HasAttributes(const UdevPattern& udev, const SysfsDevice& device, const Sysfs& sysfs) {
  return std::all_of(udev.attributes.begin(), udev.attributes.end(), [&](const auto& attribute) {
    const auto value = sysfs.Attribute(device.path, attribute.first);
    return value && attribute.second.Matches(*value);
  });
}

/// Returns the reason if neither the device nor an ancestor has all attributes: the first attribute
/// that none of them has.
std::string MissingAttribute(const UdevPattern& udev, const DeviceAncestry& device,
                             const Sysfs& sysfs) {
  for (const auto& [name, pattern] : udev.attributes) {
    std::string seen;
    bool met = false;
    for (const SysfsDevice& one : device.devices) {
      const auto value = sysfs.Attribute(one.path, name);
      if (!value && value.error().kind != ErrorKind::kNotFound) return value.error().message;
      if (!value) continue;
      met = met || pattern.Matches(*value);
      if (seen.empty()) seen = *value;
    }
    if (met) continue;
    if (seen.empty()) return format("neither it nor a parent device has the attribute {}", name);
    return format("its attribute {} is \"{}\", not {}", name, seen, pattern.text());
  }
  return "its attributes match, but not all of one device";
}

}  // namespace

std::optional<std::string> Unmet(const UsbPattern& usb, const DeviceAncestry& device,
                                 const Sysfs& sysfs) {
  const SysfsDevice* found = device.UsbDevice();
  if (found == nullptr) return "it is not a USB device, nor a child of one";
  if (auto wrong = WrongNumber("USB vendor", usb.vendor, *found, "idVendor", sysfs)) return wrong;
  if (auto wrong = WrongNumber("USB product", usb.product, *found, "idProduct", sysfs)) {
    return wrong;
  }
  if (!usb.serial) return std::nullopt;
  const auto serial = sysfs.Attribute(found->path, "serial");
  if (!serial) {
    return serial.error().kind == ErrorKind::kNotFound ? "it has no serial number"
                                                       : serial.error().message;
  }
  if (usb.serial->Matches(*serial)) return std::nullopt;
  return format("its serial number is \"{}\", not {}", *serial, usb.serial->text());
}

std::optional<std::string> Unmet(const PciPattern& pci, const DeviceAncestry& device,
                                 const Sysfs& sysfs) {
  const SysfsDevice* found = device.PciDevice();
  if (found == nullptr) return "it is not a PCI device, nor a child of one";
  if (auto wrong = WrongNumber("PCI vendor", pci.vendor, *found, "vendor", sysfs)) return wrong;
  return WrongNumber("PCI device", pci.device, *found, "device", sysfs);
}

std::optional<std::string> Unmet(const UdevPattern& udev, const DeviceAncestry& device,
                                 const Sysfs& sysfs) {
  const SysfsDevice& self = device.self();
  if (!udev.subsystems.empty() && !MatchesAny(udev.subsystems, self.subsystem)) {
    return format("its subsystem is \"{}\", not {}", self.subsystem, Texts(udev.subsystems));
  }
  if (!udev.drivers.empty() &&
      std::none_of(device.devices.begin(), device.devices.end(), [&](const SysfsDevice& one) {
        return !one.driver.empty() && MatchesAny(udev.drivers, one.driver);
      })) {
    return format("neither it nor a parent device has the driver {}", Texts(udev.drivers));
  }
  if (auto wrong = WrongProperty(udev, self, sysfs)) return wrong;
  if (udev.attributes.empty() ||
      std::any_of(device.devices.begin(), device.devices.end(),
                  [&](const SysfsDevice& one) { return HasAttributes(udev, one, sysfs); })) {
    return std::nullopt;
  }
  return MissingAttribute(udev, device, sysfs);
}

bool IsOfOtherKind(const UsbPattern& usb, const DeviceAncestry& device, const Sysfs& sysfs) {
  return Unmet(UsbPattern{usb.vendor, {}, {}}, device, sysfs).has_value();
}

bool IsOfOtherKind(const PciPattern& pci, const DeviceAncestry& device, const Sysfs& sysfs) {
  return Unmet(PciPattern{pci.vendor, {}}, device, sysfs).has_value();
}

bool IsOfOtherKind(const UdevPattern& udev, const DeviceAncestry& device, const Sysfs& sysfs) {
  return Unmet(UdevPattern{udev.subsystems, {}, {}, {}}, device, sysfs).has_value();
}

bool IsOfOtherKind(const HardwarePatterns& conditions, const DeviceAncestry& device,
                   const Sysfs& sysfs) {
  return (conditions.usb && IsOfOtherKind(*conditions.usb, device, sysfs)) ||
         (conditions.pci && IsOfOtherKind(*conditions.pci, device, sysfs)) ||
         (conditions.udev && IsOfOtherKind(*conditions.udev, device, sysfs));
}

std::optional<std::string> Unmet(const HardwarePatterns& conditions, const DeviceAncestry& device,
                                 const Sysfs& sysfs) {
  Mismatch unmet;
  if (conditions.usb) unmet = Unmet(*conditions.usb, device, sysfs);
  if (!unmet && conditions.pci) unmet = Unmet(*conditions.pci, device, sysfs);
  if (!unmet && conditions.udev) unmet = Unmet(*conditions.udev, device, sysfs);
  return unmet;
}

}  // namespace patchbay
