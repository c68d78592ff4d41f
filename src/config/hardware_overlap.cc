#include "config/hardware_overlap.h"

#include <cstdint>

#include "base/format.h"

namespace patchbay {
namespace {

using Number = std::optional<std::uint16_t>;

bool CanMeet(Number a, Number b) { return !a || !b || *a == *b; }

bool CanMeet(const std::optional<NamePattern>& a, const std::optional<NamePattern>& b) {
  return !a || !b || a->text() == b->text() || (a->literal() && b->Matches(a->text())) ||
         (b->literal() && a->Matches(b->text()));
}

/// Returns the number that devices of both patterns have, in the format of lsusb and lspci.
std::string Shown(Number a, Number b) {
  if (!a) a = b;
  return a ? format("{:04x}", *a) : "*";
}

std::optional<std::string> Common(const UsbPattern& a, const UsbPattern& b) {
  if (!CanMeet(a.vendor, b.vendor) || !CanMeet(a.product, b.product) ||
      !CanMeet(a.serial, b.serial)) {
    return std::nullopt;
  }
  return format("the USB device {}:{}", Shown(a.vendor, b.vendor), Shown(a.product, b.product));
}

std::optional<std::string> Common(const PciPattern& a, const PciPattern& b) {
  if (!CanMeet(a.vendor, b.vendor) || !CanMeet(a.device, b.device)) return std::nullopt;
  return format("the PCI device {}:{}", Shown(a.vendor, b.vendor), Shown(a.device, b.device));
}

template <class A, class B>
std::optional<std::string> Common(const A&, const B&) {
  return std::nullopt;
}

/// Returns a text of the conditions that select nodes of a device; empty if all nodes are selected.
std::string ChoiceOf(const MatchSpec& match) {
  std::string text;
  const auto add = [&](std::string_view key, const NamePattern& pattern) {
    text += format("{} {}\n", key, pattern.text());
  };
  for (const Glob& glob : match.exclude) text += format("exclude {}\n", glob.text());
  for (const Glob& glob : match.require) text += format("require {}\n", glob.text());
  if (!match.conditions.udev) return text;
  const UdevPattern& udev = *match.conditions.udev;
  for (const NamePattern& pattern : udev.subsystems) add("subsystem", pattern);
  for (const NamePattern& pattern : udev.drivers) add("driver", pattern);
  for (const auto& [name, pattern] : udev.properties) add("property " + name, pattern);
  for (const auto& [name, pattern] : udev.attributes) add("attribute " + name, pattern);
  return text;
}

}  // namespace

std::optional<std::string> CommonHardware(const MatchSpec& a, const MatchSpec& b) {
  auto common =
      std::visit([](const auto& x, const auto& y) { return Common(x, y); }, a.source, b.source);
  if (!common) return std::nullopt;
  const std::string one = ChoiceOf(a), other = ChoiceOf(b);
  if (!one.empty() && !other.empty() && one != other) return std::nullopt;
  return common;
}

}  // namespace patchbay
