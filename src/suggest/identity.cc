// Each device has candidates for its match, the best one first. The key of a candidate names all
// that it compares, so that candidates of one subsystem with the same key find the same devices.
// The first one that no other device has is chosen. If there is none, an attribute that differs
// between the devices of a key is added, such as the number of the interface of an adapter with
// four ports. Of a shortest match, the first candidate is the type, and the last one the name.

#include "suggest/identity.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "discovery/device_place.h"
#include "model/glob.h"

namespace patchbay {
namespace {

/// A match that may find more than its device.
struct MatchCandidate {
  NewMatch match;
  std::string key;
  std::string why;  ///< "by its serial number"
  std::string id;   ///< a template for the ID, to which an attribute can be appended
  enum class By { kType, kProperty, kPlace, kName } by = By::kProperty;  ///< kPlace: DEVPATH
  bool needs_usb = false;  ///< without its USB ID, it is invalid or finds other devices
};
using By = MatchCandidate::By;

/// Attributes that stay and can distinguish devices at one place. All of one match must be of one
/// device, so only one is added.
constexpr std::string_view kDistinguishing[] = {
    "bInterfaceNumber", "port_number", "dev_port", "dev_id", "port",
    "iomem_base",       "name",        "partition"};

constexpr std::string_view kAnyId = "*:*";

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

bool IsBlock(const HostDevice& device) { return device.kind->subsystem == "block"; }

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

}  // namespace

std::string DescriptionOf(const HostDevice& device, const Sysfs& sysfs) {
  constexpr std::size_t kMaxNames = 8, kMaxText = 100;  // nodes, and bytes of a text
  const DeviceAncestry& part = device.parts.front();
  std::string text;
  const auto add = [&](std::string more) {
    more.erase(more.find_last_not_of(' ') + 1);
    // Many products repeat their maker.
    if (!text.empty() && more.starts_with(text.substr(2))) text.clear();
    if (!more.empty()) text.append(text.empty() ? ": " : " ").append(Truncate(more, kMaxText));
  };
  const auto attribute = [&](const SysfsDevice& of, std::string_view name) {
    return sysfs.Attribute(of.path, name).value_or("");
  };
  const SysfsDevice* usb = part.UsbDevice();
  if (usb != nullptr) {
    add(attribute(*usb, "manufacturer"));
    add(attribute(*usb, "product"));
  }
  // The model of a disk is not that of its controller.
  for (const SysfsDevice* of : {IsBlock(device) ? nullptr : part.PciDevice(), &part.self()}) {
    if (of == nullptr || usb != nullptr || !text.empty()) continue;
    const auto model = of->properties.find("ID_MODEL_FROM_DATABASE");
    if (model != of->properties.end()) add(model->second);
  }
  if (text.empty()) add(PropertyOf(device, "ID_MODEL"));
  if (text.empty()) add(attribute(part.self(), "name"));
  if (text.empty() && part.self().subsystem == "input" && part.devices.size() > 1) {
    add(attribute(part.devices[1], "name"));
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(device.parts.size(), kMaxNames); ++i) {
    const SysfsDevice& self = device.parts[i].self();
    names += (i == 0 ? "" : ", ") + (self.node.empty() ? self.name : self.node);
  }
  const std::string_view more = device.parts.size() > kMaxNames ? ", …" : "";
  return Format("{}{} ({}{})", device.kind->what, text, names, more);
}

namespace {

class Identifier {
 public:
  Identifier(const std::vector<HostDevice>& devices, bool is_shortest, DeviceAncestries& ancestries,
             const Sysfs& sysfs)
      : devices_(devices), is_shortest_(is_shortest), ancestries_(ancestries), sysfs_(sysfs) {
    CountSerials();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const NewMatch base = BaseOf(devices[i]);
      groups_.emplace_back();
      for (const auto& [name, value] : base.udev.properties) groups_.back() += " " + value;
      candidates_.push_back(CandidatesOf(devices[i], base));
      for (const MatchCandidate& one : candidates_.back()) {
        for (const TextPair& key : KeysOf(i, one.key)) with_key_[key].push_back(i);
      }
    }
    RefinePlaces();
  }

  std::optional<Identity> IdentityOf(std::size_t device) {
    std::vector<MatchCandidate> candidates = candidates_[device];
    if (candidates.empty()) return std::nullopt;
    const std::string description = DescriptionOf(devices_[device], sysfs_);
    auto chosen = std::ranges::find_if(
        candidates, [&](const MatchCandidate& one) { return IsUnique(device, one); });
    const bool is_alone = chosen != candidates.end();
    for (auto one = candidates.begin(); one != candidates.end() && chosen == candidates.end();) {
      AddAttribute(device, *one) ? chosen = one : ++one;
    }
    if (chosen == candidates.end() && candidates.back().by == By::kName) --chosen;
    if (chosen != candidates.end()) {
      NewMatch& match = chosen->match;
      match.is_comment = chosen->by == By::kName && !is_shortest_;
      match.notes = {description, Format("It is matched {}.", chosen->why)};
      for (auto one = candidates.begin(); one != candidates.end() && is_shortest_; ++one) {
        const bool is_type = one->by == By::kType && is_alone;
        const bool is_place = one->key.starts_with("ID_PATH ") && !IsBlock(devices_[device]);
        if (one == chosen || one->by == By::kPlace || is_place) continue;
        if (!is_type && !IsUnique(device, *one)) continue;
        one->match.notes = {is_type ? std::string(kAllOfType) : Format("Or {}.", one->why)};
        match.alternatives.push_back(one->match);
      }
      return Identity{std::move(match), std::move(chosen->why)};
    }
    NewMatch& shared = candidates.back().match;
    const std::set<std::size_t> alike = Alike(device, candidates.back().key);
    if (*alike.begin() != device) return std::nullopt;
    shared.notes = {description,
                    Format("Nothing that stays after a restart distinguishes it from {} other "
                           "device{}, which this finds, too.",
                           alike.size() - 1, alike.size() == 2 ? "" : "s")};
    shared.id = "";
    shared.max_devices = 0;
    shared.is_comment = true;
    return Identity{std::move(shared), ""};
  }

 private:
  using TextPair = std::pair<std::string, std::string>;

  /// Returns a key as one of a kind.
  TextPair KeyIn(std::size_t device, const std::string& key) const {
    return {Format("{}{}", devices_[device].kind->subsystem, groups_[device]), key};
  }

  /// Returns a key for each of the subsystems of a device.
  std::vector<TextPair> KeysOf(std::size_t device, const std::string& key) const {
    std::vector<TextPair> keys;
    const auto subsystems = CompileAlternatives(devices_[device].kind->subsystem).value();
    keys.reserve(subsystems.size());
    for (const NamePattern& one : subsystems) {
      keys.emplace_back(one.text() + groups_[device], key);
    }
    return keys;
  }

  /// Returns all devices that a candidate with this key finds.
  std::set<std::size_t> Alike(std::size_t device, const std::string& key) {
    std::set<std::size_t> alike;
    for (const TextPair& one : KeysOf(device, key)) {
      alike.insert(with_key_[one].begin(), with_key_[one].end());
    }
    return alike;
  }

  /// Returns whether a candidate finds no other device.
  bool IsUnique(std::size_t device, const MatchCandidate& one) const {
    return one.by != By::kName &&
           std::ranges::all_of(KeysOf(device, one.key),
                               [&](const TextPair& key) { return with_key_.at(key).size() == 1; });
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
    return id.size() == std::string_view("0403:6001").size() ? id : std::string(kAnyId);
  }

  void CountSerials() {
    const SysfsPaths usb = sysfs_.Devices([](std::string_view name) { return name == "usb"; });
    for (const std::string& path : usb.paths) {
      const auto device = ancestries_.Of(path);
      if (!device || !IsUsbDevice(device->self())) continue;
      const auto [id, serial] = IdAndSerial(device->self());
      if (++serials_[{id, serial}] > 1 && !serial.empty()) ambiguous_.insert(id);
      const std::string place = PlaceOf(*device, false).pattern;
      ++at_port_[{place, id}];
      ++at_port_[{place, ""}];
    }
  }

  MatchCandidate* PlaceCandidate(std::size_t device) {
    const auto found = std::ranges::find(candidates_[device], By::kPlace, &MatchCandidate::by);
    return found == candidates_[device].end() ? nullptr : &*found;
  }

  /// Gives places with the same name another ID, and removes those whose patterns find others.
  void RefinePlaces() {
    std::map<TextPair, std::set<std::string>> patterns;  // by resource and ID
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const MatchCandidate* place = PlaceCandidate(i);
      if (place == nullptr) continue;
      patterns[{std::string(devices_[i].kind->resource), place->id}].insert(place->key);
      for (const DeviceAncestry& part : devices_[i].parts) {
        places_.Add(part.self().subsystem + groups_[i], DevpathOf(part), place->key);
      }
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      MatchCandidate* place = PlaceCandidate(i);
      if (place == nullptr) continue;
      if (patterns[{std::string(devices_[i].kind->resource), place->id}].size() > 1) {
        place->id = EscapedForTemplate(TextOfPlace(place->key));
        place->match.id = place->id;
      }
      const std::string& pattern = place->match.udev.properties.back().second;
      const auto finds_other = [&](const TextPair& key) {
        return places_.FindsOther(key.first, place->key, pattern);
      };
      if (std::ranges::none_of(KeysOf(i, ""), finds_other)) continue;
      std::erase_if(candidates_[i], [](const auto& one) { return one.by == By::kPlace; });
    }
  }

  /// Returns what all candidates of a device compare.
  static NewMatch BaseOf(const HostDevice& device) {
    const KindTraits& traits = device.kind->traits;
    NewMatch base;
    base.udev.driver = traits.driver;
    if (device.kind->subsystem != "pci" || traits.is_generic) {
      base.udev.driver = "";
      base.udev.subsystem = device.kind->subsystem;
    }
    if (traits.is_attribute_compared) {
      base.udev.attributes.emplace_back(traits.attribute, traits.value);
    }
    if (!device.console.empty()) {
      base.udev.properties.emplace_back("DEVNAME", "/dev/dri/renderD*");
    }
    if (!IsBlock(device)) return base;
    const std::string type = PropertyOf(device, "DEVTYPE");
    if (!type.empty()) base.udev.properties.emplace_back("DEVTYPE", type);
    // The boot areas of an eMMC have the serial number of its disk, and a name that stays.
    const std::string& name = device.parts.front().self().name;
    const auto end = std::min(name.find_first_not_of("0123456789", 6), name.size());
    if (name.starts_with("mmcblk")) {
      base.udev.properties.emplace_back(
          "DEVNAME", "/dev/mmcblk{[0-9],[0-9][0-9]}" + EscapedForGlob(name.substr(end)));
    }
    return base;
  }

  std::vector<MatchCandidate> CandidatesOf(const HostDevice& device, const NewMatch& base) {
    const KindTraits& traits = device.kind->traits;
    const DeviceAncestry& part = device.parts.front();
    std::vector<MatchCandidate> found;
    const bool is_block = IsBlock(device);
    const SysfsDevice* usb = is_block ? nullptr : part.UsbDevice();
    if (is_block) {
      // Not by USB port or PCI address: other drives can be below them.
      for (const char* id : {"ID_PART_ENTRY_UUID", "DM_UUID", "MD_UUID"}) {
        AddProperty(device, base, id, "by its UUID", found);
      }
      AddProperty(device, base, "ID_SERIAL", "by its serial number", found);
    } else if (usb != nullptr) {
      if (IdOf(*usb) != kAnyId) AddUsb(device, base, *usb, found);
    } else if (const SysfsDevice* pci = part.PciDevice()) {
      NewMatch match = base;
      if (IdOf(*pci) != kAnyId) match.pci = IdOf(*pci);
      // The functions of an IOMMU group have one node.
      if (!match.pci.empty() && (traits.is_whole || device.parts.size() == 1)) {
        AddType(match, match.pci, found);
      }
      match.pci_address = EscapedForGlob(pci->name);
      found.push_back(
          {std::move(match), "pci " + pci->name, "by its PCI address", "{pci_address}"});
    }
    if (usb == nullptr) AddProperty(device, base, "ID_PATH", "by its place in the machine", found);
    const SysfsPlace place = PlaceOf(part, traits.is_whole);
    // As a property, the place would be left out if it has other characters.
    const bool has_place = usb == nullptr || found.empty() || traits.is_generic;
    const bool is_virtual = part.self().path.starts_with("/sys/devices/virtual/");
    if (has_place && !is_virtual && IsPrintable(place.pattern)) {
      NewMatch match = base;
      match.udev.properties.emplace_back("DEVPATH", WithDigits(place.pattern));
      match.group_by = GroupOf(device);
      match.id = EscapedForTemplate(place.name);
      match.max_devices = 1;  // the ID is that of one device
      const std::string id = match.id;
      found.push_back(
          {std::move(match), place.pattern, "by its place in the machine", id, By::kPlace});
    }
    if (is_shortest_ || (is_virtual && found.empty())) AddName(device, base, found);
    return found;
  }

  void AddType(const NewMatch& match, const std::string& type,
               std::vector<MatchCandidate>& found) const {
    const std::string_view bus = match.usb.empty() ? "PCI" : "USB";
    if (!is_shortest_) return;
    found.push_back({match, "type " + type,
                     Format("by its {} ID, which no other device here has", bus), "", By::kType});
  }

  /// Adds a candidate that compares the name: by itself if the kernel does not count such devices,
  /// or an administrator chooses the number, as of an interface or a loop device.
  static void AddName(const HostDevice& device, NewMatch match,
                      std::vector<MatchCandidate>& found) {
    std::vector<std::string> paths;
    for (const DeviceAncestry& part : device.parts) {
      if (!part.self().node.empty()) paths.push_back(EscapedForGlob(part.self().node));
    }
    const SysfsDevice& self = device.parts.front().self();
    const bool is_named = self.subsystem == "net" || (self.subsystem == "block" && found.empty()) ||
                          NameWithoutNumbers(self.node) == EscapedForGlob(self.node);
    const bool is_fixed =
        self.path.starts_with("/sys/devices/virtual/") && is_named && paths.size() <= 1;
    if (!paths.empty()) {
      match = {.paths = paths, .together = paths.size() > 1};
      if (match.together) match.id = device.kind->resource;
    } else {
      match.udev.properties.emplace_back("DEVPATH",
                                         EscapedForGlob(DevpathOf(device.parts.front())));
    }
    if (is_fixed) {
      found = {{std::move(match), "name " + self.name, "by its name, which stays", ""}};
    } else {
      found.push_back({std::move(match), "name",
                       "by its name, because nothing that stays after a restart distinguishes it "
                       "from others: check the name after each restart",
                       "", By::kName});
    }
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
    // Devices with equal serial numbers would have the same ID.
    if (ambiguous_.contains(usb_id)) match.id = "{usb_port}";
    AddType(match, match.usb.front(), found);
    match.id = "";
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
                       "by its serial number", "{usb_vendor}:{usb_product}-{usb_serial}",
                       By::kProperty, true});
      why_not = "its serial number is not enough";
    }
    const std::string because = is_shortest_ ? "" : Format(", because {}", why_not);
    AddUsbPort(device.parts.front(), std::move(match), usb, because, found);
  }

  /// Adds a candidate that compares the port without the number of its bus, and the controller.
  void AddUsbPort(const DeviceAncestry& part, NewMatch match, const SysfsDevice& usb,
                  std::string_view because, std::vector<MatchCandidate>& found) {
    const auto ancestry = ancestries_.Of(usb.path);
    if (!ancestry) return;
    const SysfsPlace place = PlaceOf(*ancestry, false);
    const auto& above = ancestry->devices;
    const auto bus = std::ranges::find_if(above.rbegin(), above.rend(), IsUsbDevice);
    if (bus == above.rbegin() || !bus->get().name.starts_with("usb")) {
      match.usb_port = EscapedForGlob(usb.name);
      match.id = "{usb_port}";
      found.push_back({std::move(match), "port " + usb.name,
                       Format("by its USB port and the number of its bus, whose controller is not "
                              "known{}: keep it plugged in there",
                              because),
                       "{usb_port}"});
      return;
    }
    const std::string port = usb.name.substr(std::min(usb.name.find('-'), usb.name.size()));
    match.usb_port = (port.empty() ? "usb*" : "*") + EscapedForGlob(port);
    std::string id = EscapedForTemplate(place.name);
    if (const SysfsDevice* pci = part.PciDevice()) {
      match.pci_address = EscapedForGlob(pci->name);
      id = "{pci_address}-usb" + port;
    } else {
      const std::string pattern = place.pattern.substr(0, place.pattern.rfind("/usb"));
      match.udev.properties.emplace_back("DEVPATH", WithDigits(pattern + "/usb*"));
      match.max_devices = 1;  // the ID is that of one device
    }
    std::string key = Format("port {} {}", place.pattern, match.usb.front());
    // A controller can have devices at equal ports of its USB 2 bus and its USB 3 bus.
    const bool is_shared = at_port_[{place.pattern, ""}] > 1;
    for (const std::string_view name : {"idVendor", "idProduct"}) {
      const std::string value = sysfs_.Attribute(bus->get().path, name).value_or("");
      if (is_shared && name == "idProduct") id += "-" + EscapedForTemplate(value);
      if (at_port_[{place.pattern, IdOf(usb)}] < 2) continue;
      match.udev.attributes.emplace_back(name, EscapedForGlob(value));
      key += " " + value;
    }
    match.id = id;
    found.push_back({std::move(match), std::move(key),
                     Format("by its USB port{}: keep it plugged in there", because), id,
                     By::kProperty, is_shared});
  }

  /// Adds an attribute that distinguishes the device from the others with the key of its candidate.
  /// Returns false if there is none.
  bool AddAttribute(std::size_t device, MatchCandidate& candidate) {
    if (candidate.by == By::kType || candidate.by == By::kName) return false;
    // All attributes of a match must be of one device.
    const auto& attributes = candidate.match.udev.attributes;
    if (!attributes.empty() && attributes.front().first == "idVendor") return false;
    const TextPair key = KeyIn(device, candidate.key);
    auto known = attributes_.find(key);
    if (known == attributes_.end()) {
      known = attributes_.emplace(key, DistinguishingAttribute(Alike(device, candidate.key))).first;
    }
    NewMatch& match = candidate.match;
    const bool is_numbered = known->second.empty() && devices_[device].kind->traits.is_numbered;
    if ((known->second.empty() && !is_numbered) ||
        !SelectSingleParts(devices_[device], candidate)) {
      return false;
    }
    const DeviceAncestry& part = devices_[device].parts.front();
    const std::string value =
        is_numbered ? part.self().name : NearestAttribute(part, known->second, sysfs_);
    if (is_numbered) {
      match.paths = {EscapedForGlob(part.self().node)};
      candidate.why += " and its number, which stays while the same cards are in the same slots";
    } else {
      match.udev.attributes.emplace_back(known->second, EscapedForGlob(value));
    }
    match.id = Format("{}-{}", candidate.id, EscapedForTemplate(value));
    return true;
  }

  /// Changes the match to one that finds each part as a device: `usb` and `pci` as sources find
  /// what they match only once in a resource, with all parts. Returns false if there is none.
  static bool SelectSingleParts(const HostDevice& device, MatchCandidate& candidate) {
    NewMatch& match = candidate.match;
    if (match.usb.empty() && match.pci.empty()) return true;
    const std::string& node = device.parts.front().self().node;
    if (device.kind->traits.is_whole) return false;
    if (!node.empty()) {
      match.paths = {NameWithoutNumbers(node)};
      return true;
    }
    if (candidate.needs_usb) return false;
    match.usb.clear();
    match.pci.clear();
    return true;
  }

  std::string_view DistinguishingAttribute(const std::set<std::size_t>& devices) const {
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
  const bool is_shortest_;
  DeviceAncestries& ancestries_;
  const Sysfs& sysfs_;
  std::map<TextPair, int> serials_;  ///< how many USB devices have an ID and serial number
  std::set<std::string> ambiguous_;  ///< IDs of devices with equal serial numbers
  std::map<TextPair, int> at_port_;  ///< how many USB devices have a place and ID, or "": any ID
  std::vector<std::string> groups_;  ///< what all candidates of a device compare
  std::vector<std::vector<MatchCandidate>> candidates_;  ///< of each device; never empty
  DevicesAtPlaces places_;
  std::map<TextPair, std::vector<std::size_t>> with_key_;  ///< devices, by subsystem and key
  std::map<TextPair, std::string_view> attributes_;  ///< that distinguish these devices, or ""
};

}  // namespace

std::vector<std::optional<Identity>> Identify(const std::vector<HostDevice>& devices,
                                              const std::vector<std::size_t>& indexes,
                                              bool is_shortest, DeviceAncestries& ancestries,
                                              const Sysfs& sysfs) {
  Identifier identifier(devices, is_shortest, ancestries, sysfs);
  std::vector<std::optional<Identity>> identities;
  identities.reserve(indexes.size());
  for (const std::size_t i : indexes) identities.push_back(identifier.IdentityOf(i));
  return identities;
}

}  // namespace patchbay
