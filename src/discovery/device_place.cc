#include "discovery/device_place.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "model/glob.h"

namespace patchbay {
namespace {

/// Subsystems whose devices have names that firmware or their place gives them.
constexpr std::string_view kFixedNames[] = {"acpi", "amba", "pci", "platform", "pnp", "usb", "vio"};
/// A USB bus, whose number the kernel gives, and the hubs on the way to a port.
constexpr std::string_view kUsbBus = "usb?*";

bool HasFixedName(const SysfsDevice& device) {
  const bool is_top = device.path.find('/', kSysDevices.size()) == std::string::npos;
  // The kernel counts those that drivers create, such as xhci-hcd.3.auto.
  if (device.name.ends_with(".auto")) return false;
  return is_top || std::ranges::count(kFixedNames, device.subsystem) > 0;
}

}  // namespace

SysfsPlace PlaceOf(const DeviceAncestry& device, bool is_whole) {
  SysfsPlace place;
  std::string_view above = "/sys";
  std::string controller;  // of USB
  for (std::size_t i = device.devices.size(); i-- > 0;) {
    const SysfsDevice& one = device.devices[i];
    if (is_whole && i == 0 && device.devices.size() > 1) {
      place.pattern += "/*";
      break;
    }
    // Directories without a device are between the two, such as that of a class.
    const std::string_view between = std::string_view(one.path).substr(above.size());
    place.pattern += EscapedForGlob(between.substr(0, between.rfind('/') + 1));
    above = one.path;
    const auto bus = place.pattern.rfind(kUsbBus);
    if (one.subsystem == "usb" && one.name.starts_with("usb")) {
      place.pattern += kUsbBus;
      controller = place.name;
      continue;
    }
    if (one.subsystem == "usb" && bus != std::string::npos) {
      // The name of a port has those of all hubs on the way to it: 1-2.3, or 1-2.3:1.0.
      const std::string port = one.name.substr(std::min(one.name.find('-'), one.name.size()));
      place.pattern.resize(bus + kUsbBus.size());
      place.pattern += EscapedForGlob(port);
      place.name = controller + "-usb" + port;
      continue;
    }
    if (HasFixedName(one)) {
      place.pattern += EscapedForGlob(one.name);
      place.name = one.name;
      continue;
    }
    std::string name = NameWithoutNumbers(one.name);
    // Anyone can rename a network interface, and disks have letters.
    if (one.subsystem == "net") name = "*";
    const std::string prefix = one.name.substr(0, one.name.find('d') + 1);  // of sda, vda
    if (one.subsystem == "block" && !prefix.empty() && !std::ranges::any_of(prefix, IsDigit)) {
      name = prefix + "[a-z]*";
    }
    place.pattern += name;
    std::string stays = TextOfPlace(name);
    stays.erase(0, stays.find_first_not_of(".:-"));
    if (std::ranges::any_of(stays.starts_with("i2c") ? stays.substr(3) : stays, IsDigit)) {
      place.name += (place.name.empty() ? "" : "-") + stays;
    }
  }
  return place;
}

std::string NameWithoutNumbers(std::string_view name) {
  std::string pattern;
  if (name.starts_with("i2c")) {
    pattern = "i2c";
    name.remove_prefix(pattern.size());
  }
  while (!name.empty()) {
    const auto end = std::min(name.find_first_not_of("0123456789"), name.size());
    if (end == 0) {
      pattern += EscapedForGlob(name.substr(0, 1));
      name.remove_prefix(1);
      continue;
    }
    // Longer numbers are those of a chip.
    pattern += end > 3 ? name.substr(0, end) : "*";
    name.remove_prefix(end);
    // The last number in the name of a HID device, 0003:0627:0001.0002, counts devices.
    const bool is_hid = end == 4 && std::ranges::count(name, ':') == 2;
    if (is_hid) return pattern + EscapedForGlob(name.substr(0, name.rfind('.'))) + ".????";
    if (name.find_first_of(".:-") == 0) return pattern + EscapedForGlob(name);
  }
  return pattern;
}

std::string TextOfPlace(std::string_view pattern) {
  constexpr std::string_view kBeginning = "/devices/";  // of each DEVPATH
  std::string text(pattern.substr(pattern.starts_with(kBeginning) ? kBeginning.size() : 0));
  std::erase_if(text, [](char c) { return c == '*' || c == '?' || c == '\\'; });
  if (text.ends_with('/')) text.pop_back();
  return text;
}

std::string WithDigits(std::string_view pattern) {
  std::vector<std::size_t> numbers;
  const std::size_t last = pattern.rfind('/');
  for (std::size_t i = 0; i < last && i < pattern.size(); ++i) {
    const char before = i == 0 ? '/' : pattern[i - 1];
    const bool is_name = before == ']' || before == '?' || (before == '/' && pattern[i + 1] == '/');
    if (pattern[i] == '*' && before != '\\' && !is_name) numbers.push_back(i);
  }
  // A glob has at most 1,000 alternatives, and behind many buses the numbers are small.
  const std::string_view digits =
      numbers.size() > 6 ? "{[0-9],[0-9][0-9]}" : "{[0-9],[0-9][0-9],[0-9][0-9][0-9]}";
  std::string exact(pattern);
  for (std::size_t i = numbers.size(); i-- > 0;) exact.replace(numbers[i], 1, digits);
  return exact;
}

void DevicesAtPlaces::Add(const std::string& group, const std::string& devpath, std::string place) {
  places_.emplace(std::pair(group, devpath), std::move(place));
}

bool DevicesAtPlaces::FindsOther(const std::string& group, const std::string& place,
                                 const std::string& pattern) const {
  constexpr int kMaxCompared = 200;
  const auto compiled = CompileAlternatives(pattern);
  if (!compiled) return true;
  const std::string start = place.substr(0, place.find_first_of("*[\\"));
  int compared = 0;
  for (auto one = places_.lower_bound({group, start}); one != places_.end(); ++one) {
    const auto& [of, devpath] = one->first;
    if (of != group || !devpath.starts_with(start)) return false;
    if (++compared > kMaxCompared) return false;
    if (one->second != place && MatchesAny(*compiled, devpath)) return true;
  }
  return false;
}

}  // namespace patchbay
