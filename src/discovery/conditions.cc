// A pattern applies to the nearest USB device or PCI function among the device and its ancestors. A
// value that was read and differs has precedence, as the reason, over one that cannot be read. For
// `not`, a value that cannot be read excludes the device.

#include "discovery/conditions.h"

#include <algorithm>

#include "base/format.h"
#include "base/number.h"

namespace patchbay {
namespace {

using Unmatched = std::optional<Mismatch>;

/// Returns the mismatch of a value that cannot be read. `missing` is the reason if it does not
/// exist.
Mismatch Unreadable(const Error& error, std::string missing) {
  if (error.kind == ErrorKind::kNotFound) return {std::move(missing), false, true};
  return {error.message, true};
}

/// The attributes of the numbers of a kind of device.
struct IdAttributes {
  std::string_view kind, vendor, product;
};
constexpr IdAttributes kUsbId{"USB", "idVendor", "idProduct"};
constexpr IdAttributes kPciId{"PCI", "vendor", "device"};

/// Reads a number in hexadecimal, with or without "0x".
Result<std::uint16_t> ReadNumber(const SysfsDevice& device, std::string_view attribute,
                                 const Sysfs& sysfs) {
  const std::string text = TRY(sysfs.Attribute(device.path, attribute));
  std::string_view digits = text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const auto number = ParseNumber<std::uint16_t>(digits, 16);
  if (!number) return Fail(ErrorKind::kNotFound, Format("its {} is \"{}\"", attribute, text));
  return *number;
}

std::string IdText(const HardwareId& id) {
  const auto text = [](std::optional<std::uint16_t> number) {
    return number ? Format("{:04x}", *number) : "*";
  };
  return text(id.vendor) + ":" + text(id.product);
}

/// Returns the items as text, separated by "or".
template <class Item, class TextOf>
std::string Either(const std::vector<Item>& items, TextOf text_of) {
  std::string texts;
  for (const Item& item : items) texts.append(texts.empty() ? "" : " or ").append(text_of(item));
  return texts;
}

std::string Texts(const std::vector<NamePattern>& patterns) {
  return Either(patterns, [](const NamePattern& pattern) { return pattern.text(); });
}

Unmatched WrongId(const std::vector<HardwareId>& ids, const IdAttributes& attributes,
                  const SysfsDevice& device, const Sysfs& sysfs) {
  if (ids.empty()) return std::nullopt;
  const auto vendor = ReadNumber(device, attributes.vendor, sysfs);
  if (!vendor) return Unreadable(vendor.error(), vendor.error().message);
  const auto product = ReadNumber(device, attributes.product, sysfs);
  const auto fits = [](std::optional<std::uint16_t> wanted, const auto& found) {
    return !wanted || (found && *wanted == *found);
  };
  if (std::ranges::any_of(ids, [&](const HardwareId& id) {
        return fits(id.vendor, vendor) && fits(id.product, product);
      })) {
    return std::nullopt;
  }
  if (!product) return Unreadable(product.error(), product.error().message);
  return Mismatch{Format("its {} ID is {}, not {}", attributes.kind, IdText({*vendor, *product}),
                         Either(ids, IdText))};
}

Unmatched WrongName(std::string_view what, const std::string& name,
                    const std::vector<NamePattern>& patterns) {
  if (patterns.empty() || MatchesAny(patterns, name)) return std::nullopt;
  return Mismatch{Format("its {} is {}, not {}", what, name, Texts(patterns))};
}

/// Returns whether a pattern matches the value of an attribute. As in udev rules, the spaces with
/// which devices fill a field, such as the model of a disk, need not be in the pattern.
bool MatchesAttribute(const std::vector<NamePattern>& patterns, const std::string& value) {
  return MatchesAny(patterns, value) ||
         MatchesAny(patterns, value.substr(0, value.find_last_not_of(' ') + 1));
}

Unmatched WrongSerial(const std::vector<NamePattern>& serials, const SysfsDevice& device,
                      const Sysfs& sysfs) {
  if (serials.empty()) return std::nullopt;
  const auto serial = sysfs.Attribute(device.path, "serial");
  if (!serial) return Unreadable(serial.error(), "it has no serial number");
  if (MatchesAttribute(serials, *serial)) return std::nullopt;
  return Mismatch{Format("its serial number is \"{}\", not {}", *serial, Texts(serials))};
}

Unmatched WrongProperty(const UdevPattern& udev, const SysfsDevice& device, const Sysfs& sysfs) {
  for (const auto& [name, patterns] : udev.properties) {
    const auto found = device.properties.find(name);
    if (found == device.properties.end()) {
      const bool is_known = sysfs.properties().HasDatabase();
      return Mismatch{
          Format("it has no property {}{}", name,
                 is_known ? "" : "; there is no udev database: mount the host's /run/udev"),
          !is_known, is_known};
    }
    if (!MatchesAny(patterns, found->second)) {
      return Mismatch{
          Format("its property {} is \"{}\", not {}", name, found->second, Texts(patterns))};
    }
  }
  return std::nullopt;
}

bool HasAttributes(const UdevPattern& udev, const SysfsDevice& device, const Sysfs& sysfs) {
  return std::all_of(udev.attributes.begin(), udev.attributes.end(), [&](const auto& attribute) {
    const auto value = sysfs.Attribute(device.path, attribute.first);
    return value && MatchesAttribute(attribute.second, *value);
  });
}

/// Returns the reason if neither the device nor an ancestor has all attributes: the first attribute
/// that none of them has.
Mismatch MissingAttribute(const UdevPattern& udev, const DeviceAncestry& device,
                          const Sysfs& sysfs) {
  for (const auto& [name, patterns] : udev.attributes) {
    std::string seen;
    bool met = false;
    for (const SysfsDevice& one : device.devices) {
      const auto value = sysfs.Attribute(one.path, name);
      if (!value && value.error().kind != ErrorKind::kNotFound)
        return {value.error().message, true};
      if (!value) continue;
      met = met || MatchesAttribute(patterns, *value);
      if (seen.empty()) seen = *value;
    }
    if (met) continue;
    if (seen.empty()) {
      return {Format("neither it nor a parent device has the attribute {}", name), false, true};
    }
    return {Format("its attribute {} is \"{}\", not {}", name, seen, Texts(patterns))};
  }
  return {"its attributes match, but not all of one device"};
}

template <class Use>
void ForEachPattern(const HardwarePatterns& patterns, Use use) {
  if (patterns.usb) use("usb", *patterns.usb);
  if (patterns.pci) use("pci", *patterns.pci);
  if (patterns.udev) use("udev", *patterns.udev);
}

}  // namespace

std::optional<Mismatch> FirstMismatch(const UsbPattern& usb, const DeviceAncestry& device,
                                      const Sysfs& sysfs) {
  const SysfsDevice* found = device.UsbDevice();
  if (found == nullptr) return Mismatch{"it is not a USB device, nor a child of one", false, true};
  if (auto wrong = WrongId(usb.ids, kUsbId, *found, sysfs)) return wrong;
  if (auto wrong = WrongName("USB port", found->name, usb.ports)) return wrong;
  return WrongSerial(usb.serials, *found, sysfs);
}

std::optional<Mismatch> FirstMismatch(const PciPattern& pci, const DeviceAncestry& device,
                                      const Sysfs& sysfs) {
  const SysfsDevice* found = device.PciDevice();
  if (found == nullptr) return Mismatch{"it is not a PCI device, nor a child of one", false, true};
  if (auto wrong = WrongId(pci.ids, kPciId, *found, sysfs)) return wrong;
  return WrongName("PCI address", found->name, pci.addresses);
}

std::optional<Mismatch> FirstMismatch(const UdevPattern& udev, const DeviceAncestry& device,
                                      const Sysfs& sysfs) {
  const SysfsDevice& self = device.self();
  if (!udev.subsystems.empty() && !MatchesAny(udev.subsystems, self.subsystem)) {
    return Mismatch{
        Format("its subsystem is \"{}\", not {}", self.subsystem, Texts(udev.subsystems))};
  }
  if (!udev.drivers.empty() &&
      std::none_of(device.devices.begin(), device.devices.end(), [&](const SysfsDevice& one) {
        return !one.driver.empty() && MatchesAny(udev.drivers, one.driver);
      })) {
    return Mismatch{
        Format("neither it nor a parent device has the driver {}", Texts(udev.drivers))};
  }
  if (auto wrong = WrongProperty(udev, self, sysfs)) return wrong;
  if (udev.attributes.empty() ||
      std::any_of(device.devices.begin(), device.devices.end(),
                  [&](const SysfsDevice& one) { return HasAttributes(udev, one, sysfs); })) {
    return std::nullopt;
  }
  return MissingAttribute(udev, device, sysfs);
}

std::optional<Mismatch> FirstMismatch(const HardwarePatterns& conditions,
                                      const DeviceAncestry& device, const Sysfs& sysfs) {
  Unmatched mismatch;
  ForEachPattern(conditions, [&](std::string_view, const auto& pattern) {
    // A value that was read has precedence over one that cannot be read.
    if (mismatch && !mismatch->is_unreadable) return;
    if (auto one = FirstMismatch(pattern, device, sysfs)) mismatch = std::move(one);
  });
  return mismatch;
}

std::optional<Unselected> WhyUnselected(const MatchSpec& match, const DeviceAncestry& device,
                                        const Sysfs& sysfs) {
  if (auto mismatch = FirstMismatch(match.conditions, device, sysfs)) {
    return Unselected{std::move(mismatch->why)};
  }
  std::optional<Unselected> negated;
  ForEachPattern(match.negated, [&](std::string_view name, const auto& pattern) {
    const auto mismatch = FirstMismatch(pattern, device, sysfs);
    if (mismatch && !mismatch->is_unreadable) return;
    if (!negated) negated.emplace();
    negated->negated_by.push_back(name);
    if (!mismatch) {
      negated->why = "it meets the conditions of \"not\"";
    } else if (negated->why.empty()) {
      negated->why = Format("the conditions of \"not\" cannot be checked: {}", mismatch->why);
    }
  });
  return negated;
}

std::string WhyNotCompared(const MatchSpec& match, const DeviceAncestry& device,
                           const Sysfs& sysfs) {
  std::string why;
  bool has_compared = false;
  ForEachPattern(match.negated, [&](std::string_view, const auto& pattern) {
    const auto mismatch = FirstMismatch(pattern, device, sysfs);
    if (mismatch && mismatch->is_missing) {
      why = mismatch->why;
    } else {
      has_compared = true;
    }
  });
  return has_compared ? "" : why;
}

std::vector<std::string_view> ConditionsOfNot(const MatchSpec& match) {
  std::vector<std::string_view> names;
  ForEachPattern(match.negated, [&](std::string_view name, const auto&) { names.push_back(name); });
  return names;
}

std::string KeysOfNot(const MatchSpec& match, std::string_view condition) {
  std::vector<std::string> keys;
  const auto add = [&](std::string_view key, bool has_it) {
    if (has_it) keys.push_back(Format("not.{}", key));
  };
  if (condition == "usb") {
    const UsbPattern& usb = *match.negated.usb;
    add("usb", !usb.ids.empty());
    add("serial", !usb.serials.empty());
    add("usb_port", !usb.ports.empty());
  } else if (condition == "pci") {
    add("pci", !match.negated.pci->ids.empty());
    add("pci_address", !match.negated.pci->addresses.empty());
  } else {
    add(condition, true);
  }
  return Format("{}", fmt::join(keys, ", "));
}

bool IsOfOtherKind(const UsbPattern& usb, const DeviceAncestry& device, const Sysfs& sysfs) {
  UsbPattern vendors;
  for (const HardwareId& id : usb.ids) vendors.ids.push_back({id.vendor, {}});
  return FirstMismatch(vendors, device, sysfs).has_value();
}

bool IsOfOtherKind(const PciPattern& pci, const DeviceAncestry& device, const Sysfs& sysfs) {
  PciPattern vendors;
  for (const HardwareId& id : pci.ids) vendors.ids.push_back({id.vendor, {}});
  return FirstMismatch(vendors, device, sysfs).has_value();
}

bool IsOfOtherKind(const UdevPattern& udev, const DeviceAncestry& device, const Sysfs& sysfs) {
  return FirstMismatch(UdevPattern{udev.subsystems, {}, {}, {}}, device, sysfs).has_value();
}

bool IsOfOtherKind(const HardwarePatterns& conditions, const DeviceAncestry& device,
                   const Sysfs& sysfs) {
  return (conditions.usb && IsOfOtherKind(*conditions.usb, device, sysfs)) ||
         (conditions.pci && IsOfOtherKind(*conditions.pci, device, sysfs)) ||
         (conditions.udev && IsOfOtherKind(*conditions.udev, device, sysfs));
}

}  // namespace patchbay
