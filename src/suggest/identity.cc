// Each device has candidates for its match, the best one first. The key of a candidate names all
// that it compares, so that candidates of one subsystem with the same key find the same devices.
// The first one that no other device has is chosen. If there is none, an attribute that differs
// between the devices of a key is added, such as the number of the interface of an adapter with
// four ports.

#include "suggest/identity.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "model/glob.h"
#include "suggest/place.h"

namespace patchbay {
namespace {

/// A match that may find more than its device.
struct MatchCandidate {
  NewMatch match;
  std::string key;
  std::string why;        ///< "by its serial number"
  std::string id;         ///< a template for the ID, to which an attribute can be appended
  bool is_place = false;  ///< by DEVPATH; always the last candidate
};

/// Attributes that stay and can distinguish devices at one place. All of one match must be of one
/// device, so only one is added.
constexpr std::string_view kDistinguishing[] = {
    "bInterfaceNumber", "port_number", "dev_port", "dev_id", "port", "iomem_base", "name"};

constexpr std::size_t kMaxText = 100;  ///< bytes of a text of a device in a note

/// Returns whether a match can compare a text of a device, which can be anything.
bool IsComparable(std::string_view text) {
  constexpr std::size_t kMaxCompared = 256;  // the configuration should stay readable
  return !text.empty() && text.size() <= kMaxCompared && IsPrintable(text);
}

/// Returns whether many devices have the serial number, because it was never set.
bool IsPlaceholder(std::string_view serial) {
  constexpr std::string_view kKnown[] = {"0001",       "00000001",         "0123456789",
                                         "123456",     "12345678",         "123456789",
                                         "1234567890", "0123456789abcdef", "default string"};
  return serial.size() < 3 || std::ranges::count(kKnown, ToLower(serial)) > 0 ||
         serial.find_first_not_of(serial.front()) == std::string_view::npos;
}

std::string DevpathOf(const DeviceAncestry& device) {
  return device.self().path.substr(std::string_view("/sys").size());
}

/// Returns the first value of an attribute that the device or a parent of it has, or "".
std::string NearestAttribute(const DeviceAncestry& device, std::string_view name,
                             const Sysfs& sysfs) {
  for (const SysfsDevice& one : device.devices) {
    const auto value = sysfs.Attribute(one.path, name);
    if (value && !value->empty()) return *value;
  }
  return "";
}

/// Returns the property if it can be compared and all parts have it with one value, otherwise "".
std::string PropertyOf(const HostDevice& device, std::string_view name) {
  std::string value;
  for (const DeviceAncestry& part : device.parts) {
    const auto found = part.self().properties.find(name);
    if (found == part.self().properties.end() || !IsComparable(found->second)) return "";
    if (&part != &device.parts.front() && found->second != value) return "";
    value = found->second;
  }
  return value;
}

/// Returns what a device calls itself, and its nodes.
std::string Description(const HostDevice& device, const Sysfs& sysfs) {
  constexpr std::size_t kMaxNames = 8;
  const DeviceAncestry& part = device.parts.front();
  std::vector<std::string> texts;
  if (const SysfsDevice* usb = part.UsbDevice()) {
    texts = {sysfs.Attribute(usb->path, "manufacturer").value_or(""),
             sysfs.Attribute(usb->path, "product").value_or("")};
  } else {
    for (const SysfsDevice* of : {&part.self(), part.PciDevice()}) {
      if (of == nullptr) continue;
      const auto model = of->properties.find("ID_MODEL_FROM_DATABASE");
      if (model != of->properties.end()) texts = {model->second};
    }
    if (texts.empty()) texts = {PropertyOf(device, "ID_MODEL")};
    if (texts == std::vector<std::string>{""}) {
      texts = {sysfs.Attribute(part.self().path, "name").value_or("")};
    }
  }
  std::string description(device.kind->what);
  std::string_view before = ": ";
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    description.append(before).append(Truncate(text, kMaxText));
    before = " ";
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(device.parts.size(), kMaxNames); ++i) {
    const SysfsDevice& self = device.parts[i].self();
    names += (i == 0 ? "" : ", ") + (self.node.empty() ? self.name : self.node);
  }
  return Format("{} ({}{})", description, names, device.parts.size() > kMaxNames ? ", …" : "");
}

class Identifier {
 public:
  Identifier(const std::vector<HostDevice>& devices, DeviceAncestries& ancestries,
             const Sysfs& sysfs)
      : devices_(devices), ancestries_(ancestries), sysfs_(sysfs) {
    CountSerials();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      candidates_.push_back(CandidatesOf(devices[i]));
      for (const MatchCandidate& one : candidates_.back()) {
        with_key_[KeyIn(i, one.key)].push_back(i);
      }
    }
    RefinePlaces();
  }

  std::optional<NewMatch> MatchOf(std::size_t device) {
    MatchCandidate* chosen = nullptr;
    for (MatchCandidate& one : candidates_[device]) {
      if (with_key_[KeyIn(device, one.key)].size() == 1) {
        chosen = &one;
        break;
      }
    }
    for (MatchCandidate& one : candidates_[device]) {
      if (chosen == nullptr && AddAttribute(device, one)) chosen = &one;
    }
    const std::string description = Description(devices_[device], sysfs_);
    if (chosen != nullptr) {
      chosen->match.notes = {description, Format("It is matched {}.", chosen->why)};
      return std::move(chosen->match);
    }
    MatchCandidate& shared = candidates_[device].back();
    const std::vector<std::size_t>& alike = with_key_[KeyIn(device, shared.key)];
    if (alike.front() != device) return std::nullopt;
    shared.match.notes = {
        description, Format("Nothing that stays after a restart distinguishes it from {} other "
                            "device{}, which this finds, too.",
                            alike.size() - 1, alike.size() == 2 ? "" : "s")};
    shared.match.id = "";
    shared.match.max_devices = 0;
    shared.match.is_comment = true;
    return std::move(shared.match);
  }

 private:
  using TextPair = std::pair<std::string, std::string>;

  /// Where a part is, with its subsystem, and the key of the place of its device.
  struct FoundPlace {
    TextPair devpath;
    std::string key;
    auto operator<=>(const FoundPlace&) const = default;  // NOLINT(modernize-use-nullptr): its 0
  };

  /// Returns a key as one of the subsystem of a device.
  TextPair KeyIn(std::size_t device, const std::string& key) const {
    return {std::string(devices_[device].kind->subsystem), key};
  }

  /// Returns the ID as a pattern, and the serial number as it is compared: without spaces at its
  /// end.
  TextPair IdAndSerial(const SysfsDevice& usb) {
    std::string serial = sysfs_.Attribute(usb.path, "serial").value_or("");
    serial.resize(serial.find_last_not_of(' ') + 1);
    return {IdOf(usb), serial};
  }

  std::string IdOf(const SysfsDevice& usb_or_pci) {
    std::string id = ancestries_.NumbersOf(usb_or_pci);
    return id.size() == std::string_view("0403:6001").size() ? id : "*:*";
  }

  void CountSerials() {
    const SysfsPaths usb = sysfs_.Devices([](std::string_view name) { return name == "usb"; });
    for (const std::string& path : usb.paths) {
      const auto device = ancestries_.Of(path);
      if (device && IsUsbDevice(device->self())) ++serials_[IdAndSerial(device->self())];
    }
  }

  /// Makes the candidates by place exact if their names or patterns fit other places as well.
  void RefinePlaces() {
    std::map<TextPair, std::set<std::string>> patterns;  // by the ID
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const MatchCandidate& place = candidates_[i].back();
      if (!place.is_place) continue;
      patterns[KeyIn(i, place.id)].insert(place.key);
      for (const DeviceAncestry& part : devices_[i].parts) {
        places_.push_back({KeyIn(i, DevpathOf(part)), place.key});
      }
    }
    std::ranges::sort(places_);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      MatchCandidate& place = candidates_[i].back();
      if (!place.is_place) continue;
      if (patterns[KeyIn(i, place.id)].size() > 1) {
        place.id = EscapedForTemplate(TextOfPlace(place.key));
        place.match.id = place.id;
      }
      if (FindsOtherPlace(KeyIn(i, place.key))) {
        place.match.udev.properties.back().second = WithDigits(place.key);
      }
    }
  }

  /// Returns whether the pattern of a place matches the DEVPATH of a device at another one, because
  /// * matches a / as well. Compares a limited number of devices; true if there are more.
  bool FindsOtherPlace(const TextPair& place) const {
    constexpr std::ptrdiff_t kMaxCompared = 200;
    const auto& [subsystem, pattern] = place;
    const TextPair start = {subsystem, pattern.substr(0, pattern.find_first_of("*\\"))};
    const NamePattern compiled = NamePattern::Compile(pattern).value();
    auto one = std::ranges::lower_bound(places_, start, {}, &FoundPlace::devpath);
    for (std::ptrdiff_t compared = 0; one != places_.end(); ++one, ++compared) {
      const auto& [of, devpath] = one->devpath;
      if (of != subsystem || !devpath.starts_with(start.second)) return false;
      if (compared == kMaxCompared) return true;
      if (one->key != pattern && compiled.Matches(devpath)) return true;
    }
    return false;
  }

  std::vector<MatchCandidate> CandidatesOf(const HostDevice& device) {
    const KindTraits& traits = device.kind->traits;
    NewMatch base;
    if (device.kind->subsystem == "pci") {
      base.udev.driver = traits.driver;
    } else {
      base.udev.subsystem = device.kind->subsystem;
    }
    if (traits.is_attribute_compared) {
      base.udev.attributes.emplace_back(traits.attribute, traits.value);
    }
    const bool is_disk = device.kind->resource == "disk";
    if (is_disk) base.udev.properties.emplace_back("DEVTYPE", "disk");

    std::vector<MatchCandidate> found;
    if (is_disk) {
      // Not by USB port or PCI address: other drives can be below them.
      AddProperty(device, base, "ID_SERIAL", "by its serial number", found);
    } else if (const SysfsDevice* usb = device.parts.front().UsbDevice()) {
      AddUsb(device, base, *usb, found);
      return found;
    } else if (const SysfsDevice* pci = device.parts.front().PciDevice()) {
      NewMatch match = base;
      match.pci = IdOf(*pci);
      match.pci_address = EscapedForGlob(pci->name);
      found.push_back(
          {std::move(match), "pci " + pci->name, "by its PCI address", "{pci_address}"});
    }
    AddProperty(device, base, "ID_PATH", "by its place in the machine", found);
    const SysfsPlace place = PlaceOf(device.parts.front(), traits.is_whole);
    base.udev.properties.emplace_back("DEVPATH", place.pattern);
    base.group_by = GroupOf(device);
    base.id = EscapedForTemplate(place.name);
    base.max_devices = 1;  // the ID is that of one device
    found.push_back({base, place.pattern, "by its place in the machine", base.id, true});
    return found;
  }

  /// Returns the variable that the parts of a device have in common, and no other device.
  static std::string GroupOf(const HostDevice& device) {
    const bool has_parent = device.parts.front().devices.size() > 1;
    return device.kind->traits.is_whole && has_parent ? "parent" : "";
  }

  static void AddProperty(const HostDevice& device, NewMatch match, std::string_view name,
                          std::string why, std::vector<MatchCandidate>& found) {
    const std::string value = PropertyOf(device, name);
    if (value.empty()) return;
    match.udev.properties.emplace_back(name, EscapedForGlob(value));
    match.group_by = GroupOf(device);
    match.id = Format("{{{}}}", name);
    const std::string id = match.id;
    found.push_back({std::move(match), Format("{} {}", name, value), std::move(why), id});
  }

  void AddUsb(const HostDevice& device, NewMatch match, const SysfsDevice& usb,
              std::vector<MatchCandidate>& found) {
    const KindTraits& traits = device.kind->traits;
    const auto [usb_id, serial] = IdAndSerial(usb);
    match.usb = {traits.changes_id ? std::string(traits.ids) : usb_id};
    std::string_view why_not;
    if (serial.empty()) {
      why_not = "it has no serial number";
    } else if (!IsComparable(serial) || IsPlaceholder(serial)) {
      why_not = "its serial number is a placeholder";
    } else if (serials_[{usb_id, serial}] > 1) {
      why_not = "another device has its serial number";
    } else {
      NewMatch by_serial = match;
      by_serial.serial = EscapedForGlob(serial);
      found.push_back({std::move(by_serial), Format("serial {} {}", usb_id, serial),
                       "by its serial number", "{usb_vendor}:{usb_product}-{usb_serial}"});
      why_not = "its serial number is not enough";
    }
    match.usb_port = EscapedForGlob(usb.name);
    match.id = "{usb_port}";
    found.push_back({std::move(match), "port " + usb.name,
                     Format("by its USB port, because {}: keep it plugged in there", why_not),
                     "{usb_port}"});
  }

  /// Adds an attribute that distinguishes the device from the others with the key of its candidate.
  /// Returns false if there is none.
  bool AddAttribute(std::size_t device, MatchCandidate& candidate) {
    const TextPair key = KeyIn(device, candidate.key);
    auto known = attributes_.find(key);
    if (known == attributes_.end()) {
      known = attributes_.emplace(key, DistinguishingAttribute(with_key_[key])).first;
    }
    NewMatch& match = candidate.match;
    if (known->second.empty() || !SelectSingleParts(devices_[device], match)) return false;
    const DeviceAncestry& part = devices_[device].parts.front();
    const std::string value = NearestAttribute(part, known->second, sysfs_);
    match.udev.attributes.emplace_back(known->second, EscapedForGlob(value));
    match.id = Format("{}-{}", candidate.id, EscapedForTemplate(value));
    return true;
  }

  /// Changes the match to one that finds each part as a device: `usb` and `pci` as sources find
  /// what they match only once in a resource, with all parts. Returns false if there is none.
  static bool SelectSingleParts(const HostDevice& device, NewMatch& match) {
    if (match.usb.empty() && match.pci.empty()) return true;
    const std::string& node = device.parts.front().self().node;
    if (device.kind->traits.is_whole) return false;
    if (!node.empty()) {
      match.paths = {NameWithoutNumbers(node)};
      return true;
    }
    // `serial` needs `usb`; a port or an address suffices.
    if (!match.serial.empty()) return false;
    match.usb.clear();
    match.pci.clear();
    return true;
  }

  std::string_view DistinguishingAttribute(const std::vector<std::size_t>& devices) const {
    for (const std::string_view attribute : kDistinguishing) {
      std::set<std::string> values;
      for (const std::size_t device : devices) {
        std::string value = NearestAttribute(devices_[device].parts.front(), attribute, sysfs_);
        if (!IsComparable(value) || !values.insert(std::move(value)).second) break;
      }
      if (values.size() == devices.size()) return attribute;
    }
    return "";
  }

  const std::vector<HostDevice>& devices_;
  DeviceAncestries& ancestries_;
  const Sysfs& sysfs_;
  std::map<TextPair, int> serials_;  ///< how many USB devices have an ID and serial number
  std::vector<std::vector<MatchCandidate>> candidates_;    ///< of each device; never empty
  std::vector<FoundPlace> places_;                         ///< sorted
  std::map<TextPair, std::vector<std::size_t>> with_key_;  ///< devices, by subsystem and key
  std::map<TextPair, std::string_view> attributes_;  ///< that distinguish these devices, or ""
};

}  // namespace

std::vector<std::optional<NewMatch>> Identify(const std::vector<HostDevice>& devices,
                                              DeviceAncestries& ancestries, const Sysfs& sysfs) {
  Identifier identifier(devices, ancestries, sysfs);
  std::vector<std::optional<NewMatch>> matches;
  for (std::size_t i = 0; i < devices.size(); ++i) matches.push_back(identifier.MatchOf(i));
  return matches;
}

}  // namespace patchbay
