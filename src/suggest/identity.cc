// Each device has candidates for its match, the best one first. The key of a candidate names all
// that it compares, so that candidates of one resource with the same key find the same devices. The
// first one that no other device has is chosen. If there is none, an attribute that differs between
// the devices of a key is added, such as the number of the interface of an adapter with four ports.

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

namespace patchbay {
namespace {

/// A match that may find more than its device.
struct MatchCandidate {
  NewMatch match;
  std::string key;
  std::string why;        ///< "by its serial number"
  std::string id;         ///< a template for the ID, to which an attribute can be appended
  bool is_place = false;  ///< the ID is the name of a place, which other places can have
};

/// Attributes that stay and can distinguish devices at one place. All of one match must be of one
/// device, so only one is added.
constexpr std::string_view kDistinguishing[] = {
    "bInterfaceNumber", "port_number", "dev_port", "dev_id", "port", "iomem_base", "name"};

/// Subsystems whose devices have names that firmware or their place gives them.
constexpr std::string_view kFixedNames[] = {"acpi", "amba", "pci", "platform", "pnp", "usb", "vio"};

constexpr std::string_view kDevices = "/devices/";  ///< the beginning of each DEVPATH
constexpr std::size_t kMaxText = 100;               ///< bytes of a text of a device in a note

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

bool HasFixedName(const SysfsDevice& device) {
  const bool is_top = device.path.find('/', kSysDevices.size()) == std::string::npos;
  return is_top || std::ranges::count(kFixedNames, device.subsystem) > 0;
}

/// Returns a pattern for the name of a device without the numbers that the kernel gives: "tty*" for
/// ttyS0. What follows the number of a bus stays: "spi*.1" for spi0.1, "*-0050" for 1-0050.
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
    pattern += '*';
    name.remove_prefix(end);
    // The last number in the name of a HID device, 0003:0627:0001.0002, counts devices.
    const bool is_hid = end == 4 && std::ranges::count(name, ':') == 2;
    if (is_hid) return pattern + EscapedForGlob(name.substr(0, name.rfind('.'))) + ".*";
    if (name.find_first_of(".:-") == 0) return pattern + EscapedForGlob(name);
  }
  return pattern;
}

/// Returns the text of a pattern, without what it leaves open.
std::string TextOfPattern(std::string pattern) {
  std::erase_if(pattern, [](char c) { return c == '*' || c == '\\'; });
  if (pattern.ends_with('/')) pattern.pop_back();
  return pattern;
}

/// Returns the pattern of a place with numbers of up to three digits for each *, which matches any
/// text. A * for a whole name stays.
std::string WithNumbers(std::string_view pattern) {
  std::string exact;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_name = i > 0 && pattern[i - 1] == '/' && i + 1 == pattern.size();
    if (pattern[i] == '*' && !is_name) {
      exact += "{[0-9],[0-9][0-9],[0-9][0-9][0-9]}";
    } else {
      exact += pattern[i];
    }
  }
  return exact;
}

std::string DevpathOf(const DeviceAncestry& device) {
  return device.self().path.substr(std::string_view("/sys").size());
}

/// A place in sysfs.
struct Place {
  std::string pattern;  ///< for DEVPATH
  std::string name;     ///< what stays of it: "fe204000.spi-spi.1"
};

/// Returns the place of the device and, with `is_whole`, of all below its parent.
Place PlaceOf(const DeviceAncestry& device, bool is_whole) {
  Place place;
  std::string_view above = "/sys";
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
    if (HasFixedName(one)) {
      place.pattern += EscapedForGlob(one.name);
      place.name = one.name;
      continue;
    }
    // Disks have letters, and anyone can rename a network interface.
    const bool has_other_name = one.subsystem == "net" || one.subsystem == "block";
    const std::string name = has_other_name ? "*" : NameWithoutNumbers(one.name);
    place.pattern += name;
    std::string stays = TextOfPattern(name);
    stays.erase(0, stays.find_first_not_of(".:-"));
    if (std::ranges::any_of(stays.starts_with("i2c") ? stays.substr(3) : stays, IsDigit)) {
      place.name += (place.name.empty() ? "" : "-") + stays;
    }
  }
  return place;
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
    const SysfsPaths usb = sysfs.Devices([](std::string_view name) { return name == "usb"; });
    for (const std::string& path : usb.paths) {
      const auto device = ancestries.Of(path);
      if (device && IsUsbDevice(device->self())) ++serials_[IdAndSerial(device->self())];
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      candidates_.push_back(CandidatesOf(devices[i]));
      for (const MatchCandidate& one : candidates_.back()) {
        with_key_[KeyIn(i, one.key)].push_back(i);
        if (one.is_place) places_with_id_[KeyIn(i, one.id)].insert(one.key);
      }
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      MatchCandidate& place = candidates_[i].back();
      if (!place.is_place) continue;
      for (const DeviceAncestry& part : devices[i].parts) {
        places_.push_back({KeyIn(i, DevpathOf(part)), place.key});
      }
    }
    std::ranges::sort(places_);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      MatchCandidate& place = candidates_[i].back();
      if (!place.is_place) continue;
      if (places_with_id_[KeyIn(i, place.id)].size() > 1) {
        place.match.id = EscapedForTemplate(TextOfPattern(place.key.substr(kDevices.size())));
      }
      if (FindsOtherPlace(KeyIn(i, place.key))) {
        place.match.udev.properties.back().second = WithNumbers(place.key);
      }
    }
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
    auto operator<=>(const FoundPlace&) const = default;
  };

  /// Returns a key as one of the subsystem of a device.
  TextPair KeyIn(std::size_t device, const std::string& key) const {
    return {std::string(devices_[device].kind->subsystem), key};
  }

  TextPair IdAndSerial(const SysfsDevice& usb) {
    return {ancestries_.NumbersOf(usb), sysfs_.Attribute(usb.path, "serial").value_or("")};
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
      match.pci = ancestries_.NumbersOf(*pci);
      match.pci_address = EscapedForGlob(pci->name);
      found.push_back(
          {std::move(match), "pci " + pci->name, "by its PCI address", "{pci_address}"});
    }
    AddProperty(device, base, "ID_PATH", "by its place in the machine", found);
    const Place place = PlaceOf(device.parts.front(), traits.is_whole);
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
    const std::string& id = candidate.is_place ? match.id : candidate.id;
    match.id = Format("{}-{}", id, EscapedForTemplate(value));
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
  std::vector<std::vector<MatchCandidate>> candidates_;  ///< of each device; never empty
  /// These are by subsystem and key, or ID.
  std::map<TextPair, std::vector<std::size_t>> with_key_;
  std::map<TextPair, std::set<std::string>> places_with_id_;
  std::vector<FoundPlace> places_;                   ///< sorted
  std::map<TextPair, std::string_view> attributes_;  ///< that distinguish devices of one key, or ""
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
