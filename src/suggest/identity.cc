// Each unit has candidates for its match, the best one first. The key of a candidate is everything
// that its match compares, so a match finds one unit if no other unit has the same key.

#include "suggest/identity.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "base/format.h"
#include "model/glob.h"

namespace patchbay {
namespace {

/// A match that may find more than its unit.
struct MatchCandidate {
  NewMatch match;
  std::string key;  ///< what it compares
  std::string why;  ///< why it is used: "by its serial number"
};

/// Returns whether many devices have the serial number, because nobody set it.
bool IsPlaceholder(std::string_view serial) {
  constexpr std::string_view kKnown[] = {"0001",       "00000001",         "0123456789",
                                         "123456",     "12345678",         "123456789",
                                         "1234567890", "0123456789abcdef", "default string"};
  return serial.size() < 3 || std::ranges::count(kKnown, ToLower(serial)) > 0 ||
         serial.find_first_not_of(serial.front()) == std::string_view::npos;
}

/// Returns whether the kernel gives a directory of sysfs this name whenever it finds the device: a
/// PCI root or address, or a name of firmware such as fe804000.i2c and PNP0501:00.
bool Stays(std::string_view name) {
  if (name.starts_with("pci")) return true;
  if (name.starts_with("virtual") || name.find_first_of("0123456789") == name.npos) return true;
  const auto sign = name.find_first_of(".:");
  if (sign == std::string_view::npos || sign < 4) return false;
  return !name.starts_with("target") &&
         std::ranges::all_of(name.substr(0, sign), [](char c) { return IsAlnum(c); });
}

/// Returns a pattern for the place of a device in sysfs, in which * stands for numbers that depend
/// on the order in which the kernel finds devices.
std::string PlaceWithoutNumbers(std::string_view devpath) {
  std::string place;
  for (std::size_t start = 0; start < devpath.size();) {
    const std::size_t end = std::min(devpath.find('/', start + 1), devpath.size());
    const std::string_view name = devpath.substr(start, end - start);
    if (Stays(name.substr(1))) {
      place += EscapedForGlob(name);
    } else {
      for (const char c : name) {
        if (!IsDigit(c)) {
          place += EscapedForGlob(std::string_view(&c, 1));
        } else if (!place.ends_with('*')) {
          place += '*';
        }
      }
    }
    start = end;
  }
  return place;
}

class CandidateFinder {
 public:
  CandidateFinder(const std::vector<Unit>& units, DeviceAncestries& ancestries, const Sysfs& sysfs)
      : ancestries_(ancestries), sysfs_(sysfs) {
    for (const Unit& unit : units) {
      for (const DeviceAncestry& part : unit.parts) {
        if (const SysfsDevice* usb = part.UsbDevice()) parts_[{unit.kind, usb->path}].insert(&unit);
      }
    }
    const SysfsPaths all = sysfs.Devices([](std::string_view name) { return name == "usb"; });
    for (const std::string& path : all.paths) {
      const auto device = ancestries.Of(path);
      if (device && IsUsbDevice(device->self())) ++serials_[IdAndSerial(device->self())];
    }
  }

  std::vector<MatchCandidate> Of(const Unit& unit) {
    candidates_.clear();
    const DeviceAncestry& part = unit.parts.front();
    base_ = {};
    if (!(unit.kind->subsystem == "usb" || unit.kind->subsystem == "pci")) {
      base_.udev.subsystem = unit.kind->subsystem;
    }
    if (!unit.kind->traits.value.empty() && unit.kind->traits.is_whole) {
      base_.udev.attributes.emplace_back(unit.kind->traits.attribute, unit.kind->traits.value);
    }
    if (const SysfsDevice* usb = part.UsbDevice()) {
      AddUsb(unit, part, *usb);
    } else {
      if (const SysfsDevice* pci = part.PciDevice()) AddPci(*pci);
      AddUdev(unit, part.self());
    }
    return std::move(candidates_);
  }

 private:
  using IdAndText = std::pair<std::string, std::string>;

  IdAndText IdAndSerial(const SysfsDevice& usb) {
    return {ancestries_.NumbersOf(usb), sysfs_.Attribute(usb.path, "serial").value_or("")};
  }

  void Add(NewMatch match, std::string key, std::string why) {
    candidates_.push_back({std::move(match), std::move(key), std::move(why)});
  }

  void AddUsb(const Unit& unit, const DeviceAncestry& part, const SysfsDevice& usb) {
    const auto [id, serial] = IdAndSerial(usb);
    NewMatch match = base_;
    match.usb = {id};
    std::string interface;
    if (parts_[{unit.kind, usb.path}].size() > 1) {
      const SysfsDevice* of = part.UsbInterface();
      interface = of == nullptr ? "" : sysfs_.Attribute(of->path, "bInterfaceNumber").value_or("");
      if (!interface.empty()) {
        match.udev.attributes.emplace_back("bInterfaceNumber", EscapedForGlob(interface));
        match.id = "{usb_port}-{usb_interface}";
      }
    }
    const bool is_own = serials_[{id, serial}] == 1;
    const bool is_usable = !serial.empty() && !IsPlaceholder(serial) && is_own;
    if (is_usable) {
      NewMatch by_serial = match;
      by_serial.serial = EscapedForGlob(serial);
      if (!interface.empty()) by_serial.id = "{usb_serial}-{usb_interface}";
      Add(std::move(by_serial), "serial " + id + " " + interface + " " + serial,
          "by its serial number");
    }
    match.usb_port = EscapedForGlob(usb.name);
    Add(std::move(match), "port " + usb.name + " " + interface,
        Format("by the port that it is plugged into, because {}: plug it in there again",
               serial.empty()          ? "it has no serial number"
               : IsPlaceholder(serial) ? "its serial number is that of many devices"
                                       : "another device has its serial number"));
  }

  void AddPci(const SysfsDevice& pci) {
    NewMatch match = base_;
    match.pci = ancestries_.NumbersOf(pci);
    match.pci_address = EscapedForGlob(pci.name);
    Add(std::move(match), "pci " + pci.name, "by its PCI address");
  }

  void AddUdev(const Unit& unit, const SysfsDevice& self) {
    const auto property = [&](std::string_view name) {
      const auto found = self.properties.find(name);
      return found == self.properties.end() ? "" : found->second;
    };
    const auto add = [&](std::string_view name, const std::string& pattern, std::string id,
                         std::string why) {
      NewMatch match = base_;
      if (unit.kind->resource == "disk") match.udev.properties.emplace_back("DEVTYPE", "disk");
      match.udev.properties.emplace_back(name, pattern);
      match.group_by = unit.kind->traits.is_whole ? "parent" : "";
      match.id = std::move(id);
      Add(std::move(match), Format("{} {}", name, pattern), std::move(why));
    };
    for (const auto& [name, why] : {std::pair("ID_SERIAL", "by its serial number"),
                                    std::pair("ID_PATH", "by its place in the machine")}) {
      const std::string value = property(name);
      const bool is_of_disk = std::string_view(name) == "ID_SERIAL";
      if (value.empty() || (is_of_disk && self.subsystem != "block")) continue;
      add(name, EscapedForGlob(value), Format("{{{}}}", name), why);
    }
    const std::string place = PlaceWithoutNumbers(property("DEVPATH"));
    add("DEVPATH", place, "", "by its place in the machine");
  }

  DeviceAncestries& ancestries_;
  const Sysfs& sysfs_;
  /// The units of a kind in each USB device.
  std::map<std::pair<const Kind*, std::string>, std::set<const Unit*>> parts_;
  std::map<IdAndText, int> serials_;  ///< how many USB devices have an ID and serial number
  NewMatch base_;
  std::vector<MatchCandidate> candidates_;
};

/// Returns what a device calls itself, and its parts.
std::string Description(const Unit& unit, const Sysfs& sysfs) {
  const DeviceAncestry& part = unit.parts.front();
  std::string text;
  if (const SysfsDevice* usb = part.UsbDevice()) {
    for (const char* attribute : {"manufacturer", "product"}) {
      const auto value = sysfs.Attribute(usb->path, attribute);
      if (value && !value->empty()) text += (text.empty() ? "" : " ") + *value;
    }
  }
  std::string names;
  for (const DeviceAncestry& each : unit.parts) {
    names += (names.empty() ? "" : ", ") +
             (each.self().node.empty() ? each.self().name : each.self().node);
  }
  if (names.size() > 200) names = names.substr(0, 200) + "…";
  return Format("{}{} ({})", unit.kind->what, text.empty() ? "" : ": " + text, names);
}

}  // namespace

Identities::Identities(const std::vector<Unit>& units, DeviceAncestries& ancestries,
                       const Sysfs& sysfs) {
  CandidateFinder finder(units, ancestries, sysfs);
  std::vector<std::vector<MatchCandidate>> all;
  std::map<std::pair<std::string_view, std::string>, int> count;
  for (const Unit& unit : units) {
    all.push_back(finder.Of(unit));
    for (const MatchCandidate& one : all.back()) ++count[{unit.kind->resource, one.key}];
  }
  std::set<std::pair<std::string_view, std::string>> shared;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::string_view resource = units[i].kind->resource;
    const auto own = std::ranges::find_if(all[i], [&](const MatchCandidate& one) {
      return count[{resource, one.key}] == 1;
    });
    const bool is_alone = own != all[i].end();
    MatchCandidate& chosen = is_alone ? *own : all[i].front();
    if (!is_alone && !shared.emplace(resource, chosen.key).second) {
      matches_.emplace_back();
      continue;
    }
    chosen.match.notes = {Description(units[i], sysfs),
                          is_alone ? "It is matched " + chosen.why + "."
                                   : "Nothing distinguishes it from others of this match."};
    matches_.push_back(std::move(chosen.match));
  }
}

}  // namespace patchbay
