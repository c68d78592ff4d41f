#include "discovery/grouping.h"

#include <algorithm>
#include <compare>
#include <map>

#include "base/format.h"
#include "model/variables.h"

namespace patchbay {
namespace {

/// The group that a candidate belongs to.
struct GroupKey {
  std::size_t match;
  std::string value;  ///< of the variable in group_by, as text
  /// The place of a device whose value can be that of another device too: the USB port if the value
  /// is text from a device, and the path of the parent if it is the name of the parent. Nodes in
  /// different places do not become one group: they stay devices with the same ID.
  std::string place;

  auto operator<=>(const GroupKey&) const = default;  // NOLINT(modernize-use-nullptr): its own 0
};

std::optional<std::string> ValueOf(const Device& device, const std::string& variable) {
  const auto value = VariablesOf(device).Find(variable);
  if (!value) return std::nullopt;
  return std::visit([](const auto& v) { return Format("{}", v); }, *value);
}

std::string PlaceOfChooser(const Device& device, const std::string& variable) {
  if (variable == "pci_address" || variable == "pci_slot") return "";
  const auto value = VariablesOf(device).Lookup(variable);
  if (!value || value->origin != Origin::kDevice) return "";
  if (variable == "parent") {
    const std::string path = ValueOf(device, "DEVPATH").value_or("");
    const std::string name = ValueOf(device, variable).value_or("");
    return path.substr(0, path.rfind("/" + name + "/"));
  }
  return ValueOf(device, "usb_port").value_or("");
}

/// Returns nothing for a device without a value of the variable in group_by of its match.
std::optional<GroupKey> KeyOfGroup(const ResourceSpec& spec, const Device& device) {
  const std::string& variable = spec.matches[device.match].group_by;
  auto value = ValueOf(device, variable);
  if (!value) return std::nullopt;
  return GroupKey{device.match, *std::move(value), PlaceOfChooser(device, variable)};
}

void Merge(Candidate from, Candidate& into) {
  std::ranges::move(from.device->nodes, std::back_inserter(into.device->nodes));
  MergeValues(std::move(from.device->values), into.device->values);
  if (into.unhealthy.empty()) into.unhealthy = std::move(from.unhealthy);
}

/// Returns an alternative of a glob as a pattern.
std::string PatternText(const Glob::Components& alternative) {
  std::string text;
  for (const Glob::Component& component : alternative) {
    text.append("/").append(component.any_depth ? "**" : component.name.text());
  }
  return text;
}

/// Returns the identity of the only device of a match with `together`: the last components of its
/// patterns, so that it does not depend on the nodes that exist.
std::string JoinedIdentity(const MatchSpec& match) {
  std::string identity;
  for (const Glob& glob : std::get<PathSource>(match.source).globs) {
    for (const Glob::Components& alternative : glob.alternatives()) {
      identity.append(identity.empty() ? "" : "+").append(alternative.back().name.text());
    }
  }
  return identity;
}

/// Returns the first pattern that the device must have a node for, and has none. A device of a
/// match with `together` needs a node for each alternative of each path.
std::optional<std::string> MissingNode(const MatchSpec& match, const Device& device) {
  const auto has = [&](const auto& matches) { return std::ranges::any_of(device.nodes, matches); };
  if (match.together) {
    for (const Glob& glob : std::get<PathSource>(match.source).globs) {
      for (const Glob::Components& alternative : glob.alternatives()) {
        const auto is_it = [&](const DeviceNode& n) { return Glob::Matches(alternative, n.path); };
        if (!has(is_it)) return PatternText(alternative);
      }
    }
  }
  for (const Glob& glob : match.require) {
    if (!has([&](const DeviceNode& node) { return glob.Matches(node.path); })) return glob.text();
  }
  return std::nullopt;
}

/// Returns the first nodes of a device, for a message.
std::string Paths(const Device& device) {
  constexpr std::size_t kShown = 4;
  if (device.nodes.empty()) return "none";
  std::string paths;
  for (std::size_t i = 0; i < std::min(device.nodes.size(), kShown); ++i) {
    paths += (i == 0 ? "" : ", ") + device.nodes[i].path;
  }
  if (device.nodes.size() > kShown) paths += Format(" and {} more", device.nodes.size() - kShown);
  return paths;
}

/// Makes one candidate of those of a group, and rejects those without a value.
std::vector<Candidate> MergeGroups(const ResourceSpec& spec, ScanContext& scan) {
  std::vector<Candidate> grouped;
  std::map<GroupKey, std::size_t> places;  // indexes in `grouped`
  for (Candidate& candidate : std::exchange(scan.candidates(), {})) {
    const MatchSpec& match = spec.matches[candidate.device->match];
    if (match.group_by.empty() && !match.together) {
      grouped.push_back(std::move(candidate));
      continue;
    }
    const auto key = match.together ? GroupKey{candidate.device->match, JoinedIdentity(match), ""}
                                    : KeyOfGroup(spec, *candidate.device);
    if (!key) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           Format("group_by: no value for \"{}\"", match.group_by));
      continue;
    }
    const auto [place, is_new] = places.emplace(*key, grouped.size());
    if (is_new) {
      candidate.identity = key->value;
      grouped.push_back(std::move(candidate));
    } else {
      Merge(std::move(candidate), grouped[place->second]);
    }
  }
  return grouped;
}

}  // namespace

void RemoveExcludedGroups(const ResourceSpec& spec, ScanContext& scan) {
  std::map<GroupKey, std::string> excluded;  // why
  for (const auto& [part, why] : scan.excluded()) {
    if (auto key = KeyOfGroup(spec, part)) excluded.emplace(*std::move(key), why);
  }
  if (excluded.empty()) return;
  std::erase_if(scan.candidates(), [&](const Candidate& candidate) {
    if (spec.matches[candidate.device->match].group_by.empty()) return false;
    const auto key = KeyOfGroup(spec, *candidate.device);
    const auto found = key ? excluded.find(*key) : excluded.end();
    if (found == excluded.end()) return false;
    scan.report().Drop({candidate.item(), DropReason::kExcluded,
                        Format("the device \"{}\", which it belongs to, is excluded: {}",
                               key->value, found->second)},
                       candidate.device->match);
    return true;
  });
}

std::vector<Candidate> Group(const ResourceSpec& spec, ScanContext& scan) {
  const auto groups = [](const MatchSpec& m) { return !m.group_by.empty() || m.together; };
  std::vector<Candidate> grouped = std::ranges::any_of(spec.matches, groups)
                                       ? MergeGroups(spec, scan)
                                       : std::exchange(scan.candidates(), {});
  std::erase_if(grouped, [&](Candidate& candidate) {
    std::vector<DeviceNode>& nodes = candidate.device->nodes;
    std::sort(nodes.begin(), nodes.end(),
              [](const DeviceNode& a, const DeviceNode& b) { return IdLess(a.path, b.path); });
    const MatchSpec& match = spec.matches[candidate.device->match];
    if (!match.together && match.require.empty()) return false;
    const auto missing = MissingNode(match, *candidate.device);
    if (!missing) return false;
    const auto identity = IdentityOf(spec, candidate, scan.request().node_name);
    scan.RejectCandidate(
        candidate, RejectReason::kIncomplete,
        Format("the device \"{}\" needs a node {}; it has {}",
               identity.value_or(candidate.identity), *missing, Paths(*candidate.device)));
    return true;
  });
  return grouped;
}

}  // namespace patchbay
