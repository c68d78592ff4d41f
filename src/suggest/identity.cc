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

#include "base/format.h"
#include "discovery/device_place.h"
#include "model/glob.h"
#include "suggest/candidates.h"

namespace patchbay {
namespace {

/// Attributes that stay and can distinguish devices at one place. All of one match must be of one
/// device, so only one is added.
constexpr std::string_view kDistinguishing[] = {
    "bInterfaceNumber", "port_number", "dev_port", "dev_id", "port",
    "iomem_base",       "name",        "partition"};

/// Returns the first value of an attribute that the device or a parent of it has, or "".
std::string NearestAttribute(const DeviceAncestry& device, std::string_view name,
                             const Sysfs& sysfs) {
  for (const SysfsDevice& one : device.devices) {
    const auto value = sysfs.Attribute(one.path, name);
    if (value && !value->empty()) return *value;
  }
  return "";
}

class Identifier {
 public:
  Identifier(const std::vector<HostDevice>& devices, bool is_shortest, DeviceAncestries& ancestries,
             const Sysfs& sysfs)
      : devices_(devices),
        is_shortest_(is_shortest),
        sysfs_(sysfs),
        candidates_(CandidatesOf(devices, is_shortest, ancestries, sysfs)) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      for (const MatchCandidate& one : candidates_[i].list) {
        for (const TextPair& key : KeysOf(i, one.key)) with_key_[key].push_back(i);
      }
    }
    RefinePlaces();
  }

  std::optional<Identity> IdentityOf(std::size_t device) {
    std::vector<MatchCandidate> candidates = candidates_[device].list;
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
    return {Format("{}{}", devices_[device].kind->subsystem, candidates_[device].group), key};
  }

  /// Returns a key for each of the subsystems of a device.
  std::vector<TextPair> KeysOf(std::size_t device, const std::string& key) const {
    std::vector<TextPair> keys;
    const auto subsystems = CompileAlternatives(devices_[device].kind->subsystem).value();
    keys.reserve(subsystems.size());
    for (const NamePattern& one : subsystems) {
      keys.emplace_back(one.text() + candidates_[device].group, key);
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

  MatchCandidate* PlaceCandidate(std::size_t device) {
    auto& list = candidates_[device].list;
    const auto found = std::ranges::find(list, By::kPlace, &MatchCandidate::by);
    return found == list.end() ? nullptr : &*found;
  }

  /// Gives places with the same name another ID, and removes those whose patterns find others.
  void RefinePlaces() {
    std::map<TextPair, std::set<std::string>> patterns;  // by resource and ID
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const MatchCandidate* place = PlaceCandidate(i);
      if (place == nullptr) continue;
      patterns[{std::string(devices_[i].kind->resource), place->id}].insert(place->key);
      for (const DeviceAncestry& part : devices_[i].parts) {
        places_.Add(part.self().subsystem + candidates_[i].group, DevpathOf(part), place->key);
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
      std::erase_if(candidates_[i].list, [](const auto& one) { return one.by == By::kPlace; });
    }
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
  const Sysfs& sysfs_;
  std::vector<DeviceCandidates> candidates_;
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
