#include "config/hardware_overlap.h"

#include <algorithm>
#include <cstdint>

#include "base/format.h"

namespace patchbay {
namespace {

using Number = std::optional<std::uint16_t>;

bool CanMeet(Number a, Number b) { return !a || !b || *a == *b; }

bool CanMeet(const NamePattern& a, const NamePattern& b) {
  return a.text() == b.text() || (a.literal() && b.Matches(a.text())) ||
         (b.literal() && a.Matches(b.text()));
}

/// Returns whether a name can match a pattern of both lists. An empty list matches any name.
bool CanMeet(const std::vector<NamePattern>& a, const std::vector<NamePattern>& b) {
  return a.empty() || b.empty() || std::ranges::any_of(a, [&](const NamePattern& x) {
           return std::ranges::any_of(b, [&](const NamePattern& y) { return CanMeet(x, y); });
         });
}

/// Returns the number that devices of both patterns have, in the format of lsusb and lspci.
std::string CommonNumber(Number a, Number b) {
  if (!a) a = b;
  return a ? Format("{:04x}", *a) : "*";
}

/// Returns the first ID that a device of both lists can have.
std::optional<std::string> CommonId(std::vector<HardwareId> a, std::vector<HardwareId> b) {
  for (auto* ids : {&a, &b}) {
    if (ids->empty()) ids->emplace_back();
  }
  for (const HardwareId& x : a) {
    for (const HardwareId& y : b) {
      if (!CanMeet(x.vendor, y.vendor) || !CanMeet(x.product, y.product)) continue;
      return Format("{}:{}", CommonNumber(x.vendor, y.vendor), CommonNumber(x.product, y.product));
    }
  }
  return std::nullopt;
}

std::optional<std::string> Common(const UsbPattern& a, const UsbPattern& b) {
  const auto id = CommonId(a.ids, b.ids);
  if (!id || !CanMeet(a.serials, b.serials) || !CanMeet(a.ports, b.ports)) return std::nullopt;
  return "the USB device " + *id;
}

std::optional<std::string> Common(const PciPattern& a, const PciPattern& b) {
  const auto id = CommonId(a.ids, b.ids);
  if (!id || !CanMeet(a.addresses, b.addresses)) return std::nullopt;
  return "the PCI device " + *id;
}

/// Returns whether a device can meet both conditions.
template <class Pattern>
bool CanMeet(const std::optional<Pattern>& a, const std::optional<Pattern>& b) {
  return !a || !b || Common(*a, *b);
}

/// Returns whether each kind of condition of `a` is also in `b`.
bool HasKindsOf(const HardwarePatterns& a, const HardwarePatterns& b) {
  return (!a.usb || b.usb) && (!a.pci || b.pci) && (!a.udev || b.udev);
}

template <class A, class B>
std::optional<std::string> Common(const A&, const B&) {
  return std::nullopt;
}

/// Returns a text of the conditions that select nodes of a device; empty if all nodes are selected.
std::string ChoiceOf(const MatchSpec& match) {
  std::string text;
  const auto add = [&](std::string_view key, const NamePattern& pattern) {
    text += Format("{} {}\n", key, pattern.text());
  };
  for (const Glob& glob : match.exclude) text += Format("exclude {}\n", glob.text());
  for (const Glob& glob : match.require) text += Format("require {}\n", glob.text());
  if (!match.conditions.udev) return text;
  const UdevPattern& udev = *match.conditions.udev;
  for (const NamePattern& pattern : udev.subsystems) add("subsystem", pattern);
  for (const NamePattern& pattern : udev.drivers) add("driver", pattern);
  for (const auto& [name, pattern] : udev.properties) add("property " + name, pattern);
  for (const auto& [name, pattern] : udev.attributes) add("attribute " + name, pattern);
  return text;
}

/// Describes the devices that meet both conditions.
template <class Pattern>
std::string DeviceOf(const std::optional<Pattern>& a, const std::optional<Pattern>& b) {
  if (!a && !b) return "";
  return Common(a ? *a : *b, b ? *b : *a).value_or("");
}

}  // namespace

std::optional<std::string> CommonConditions(const MatchSpec& a, const MatchSpec& b) {
  const HardwarePatterns &one = a.conditions, &other = b.conditions;
  if (!CanMeet(one.usb, other.usb) || !CanMeet(one.pci, other.pci)) return std::nullopt;
  if (!HasKindsOf(one, other) && !HasKindsOf(other, one)) return std::nullopt;
  if (one.udev && other.udev && one.udev != other.udev) return std::nullopt;
  // The result of `not` depends on the devices of the host.
  if (a.negated != b.negated) return std::nullopt;
  const std::string usb = DeviceOf(one.usb, other.usb);
  return usb.empty() ? DeviceOf(one.pci, other.pci) : usb;
}

std::optional<std::string> CommonHardware(const MatchSpec& a, const MatchSpec& b) {
  auto common =
      std::visit([](const auto& x, const auto& y) { return Common(x, y); }, a.source, b.source);
  if (!common || !CanMeet(a.conditions.usb, b.conditions.usb) ||
      !CanMeet(a.conditions.pci, b.conditions.pci)) {
    return std::nullopt;
  }
  // The result of `not` depends on the devices of the host.
  if (!a.negated.empty() || !b.negated.empty()) return std::nullopt;
  const std::string one = ChoiceOf(a), other = ChoiceOf(b);
  if (!one.empty() && !other.empty() && one != other) return std::nullopt;
  return common;
}

}  // namespace patchbay
