#include "discovery/grouping.h"

#include <algorithm>
#include <compare>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "model/variables.h"

namespace patchbay {
namespace {

/// The group that a candidate of a match belongs to.
struct GroupKey {
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
std::optional<GroupKey> KeyOfGroup(const MatchSpec& match, const Device& device) {
  const std::string& variable = match.group_by;
  auto value = variable.empty() ? std::nullopt : ValueOf(device, variable);
  if (!value) return std::nullopt;
  return GroupKey{*std::move(value), PlaceOfChooser(device, variable)};
}

void Merge(Candidate from, Candidate& into) {
  std::ranges::move(from.device->nodes, std::back_inserter(into.device->nodes));
  MergeValues(std::move(from.device->values), into.device->values);
  if (into.unhealthy.empty()) into.unhealthy = std::move(from.unhealthy);
}

/// The excluded devices of a match.
class ExcludedDevices {
 public:
  ExcludedDevices(const MatchSpec& match, ScanContext& scan) : match_(match), scan_(scan) {
    for (const auto& [part, why] : scan.excluded()) AddGroupOf(part, {why});
    for (const Exclusion::Named& named : scan.exclusion().named()) {
      const HostNode& node = named.node;
      const auto syspath = scan.sysfs().OfNode(node.type, node.major, node.minor);
      if (!syspath) continue;
      by_syspath_.emplace(*syspath, &named);
      if (const auto ancestry = scan.ancestries().Of(*syspath);
          ancestry && !match.group_by.empty()) {
        Device part;
        part.nodes.push_back({node.path, node.path, node.type, node.major, node.minor,
                              scan.ancestries().ValuesOf(*ancestry)});
        AddGroupOf(part, {"", &named});
      }
    }
    // A glob for a hub is used also if others, or `not`, exclude all devices behind it.
    if (by_syspath_.empty()) return;
    for (const HostNode& node : scan.excluded_nodes()) {
      WhyExcludedBelow(scan.sysfs().OfNode(node.type, node.major, node.minor).value_or(""));
    }
    for (const std::string& syspath : scan.negated()) WhyExcludedBelow(syspath);
  }
  bool empty() const { return groups_.empty() && by_syspath_.empty(); }

  /// Returns why a candidate of the match is excluded; empty if it is not.
  std::string WhyExcluded(const Candidate& candidate) const {
    if (const auto key = KeyOfGroup(match_, *candidate.device)) {
      if (const auto group = groups_.find(*key); group != groups_.end()) {
        const auto& [why, named] = group->second;
        return Format("the device \"{}\", which it belongs to, is excluded: {}", key->value,
                      named == nullptr ? why : scan_.exclusion().MarkUsed(*named));
      }
    }
    if (by_syspath_.empty()) return "";
    std::string why = WhyExcludedBelow(candidate.syspath);
    for (const DeviceNode& node : candidate.device->nodes) {
      if (!why.empty()) break;
      why = WhyExcludedBelow(scan_.sysfs().OfNode(node.type, node.major, node.minor).value_or(""));
    }
    return why;
  }

 private:
  struct Reason {
    std::string why;
    const Exclusion::Named* named = nullptr;  ///< has the reason, unless null
  };

  void AddGroupOf(const Device& part, Reason reason) {
    auto key = KeyOfGroup(match_, part);
    if (!key) return;
    const Exclusion::Named* named = reason.named;
    const bool is_first = groups_.emplace(*std::move(key), std::move(reason)).second;
    // Something else excludes the group, but this does it, too.
    if (!is_first && named != nullptr) scan_.exclusion().MarkUsed(*named);
  }
  std::string WhyExcludedBelow(std::string syspath) const {
    std::string why;
    while (syspath.size() > kSysDevices.size()) {
      syspath.resize(syspath.rfind('/'));
      const auto above = by_syspath_.find(syspath);
      if (above == by_syspath_.end()) continue;
      const std::string excluded = scan_.exclusion().MarkUsed(*above->second);
      if (why.empty()) why = "it is part of " + excluded;
    }
    return why;
  }

  const MatchSpec& match_;
  ScanContext& scan_;
  std::map<GroupKey, Reason> groups_;
  std::unordered_map<std::string, const Exclusion::Named*> by_syspath_;
};

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
  std::map<std::pair<std::size_t, GroupKey>, std::size_t> places;  // by match; in `grouped`
  for (Candidate& candidate : std::exchange(scan.candidates(), {})) {
    const MatchSpec& match = spec.matches[candidate.device->match];
    if (match.group_by.empty() && !match.together) {
      grouped.push_back(std::move(candidate));
      continue;
    }
    const auto key =
        match.together ? GroupKey{JoinedIdentity(match), ""} : KeyOfGroup(match, *candidate.device);
    if (!key) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           Format("group_by: no value for \"{}\"", match.group_by));
      continue;
    }
    const auto [place, is_new] =
        places.emplace(std::pair(candidate.device->match, *key), grouped.size());
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

void RemoveExcluded(const MatchSpec& match, ScanContext& scan) {
  const ExcludedDevices excluded(match, scan);
  if (excluded.empty()) return;
  std::erase_if(scan.candidates(), [&](const Candidate& candidate) {
    if (candidate.device->match != scan.match_index()) return false;
    const std::string why = excluded.WhyExcluded(candidate);
    if (why.empty()) return false;
    scan.report().Drop({candidate.item(), DropReason::kExcluded, why});
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
