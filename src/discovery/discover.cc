// ScanMatches collects candidates from the sources of all matches. The functions after it turn
// candidates into devices, one rule at a time: grouping, IDs, exclusive nodes, limits, equal IDs,
// shared nodes, additional nodes. Each rule removes the candidates that it rejects, with a reason;
// Discover has the order and why. The previous snapshot decides between devices that are otherwise
// equal: a listed device keeps its ID.

#include "discovery/discover.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"
#include "discovery/device_id.h"
#include "discovery/extra_nodes.h"
#include "discovery/grouping.h"
#include "discovery/numa.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

Result<std::string> IdentityOf(const ResourceSpec& spec, const Candidate& candidate,
                               const std::string& node_name) {
  const auto& id = spec.matches[candidate.device.match].id;
  if (!id) return candidate.identity;
  Variables variables = VariablesOf(candidate.device);
  variables.resource = spec.name;
  variables.node_name = node_name;
  return id->Render(variables);
}

/// Removes the candidates from `found` for which `reject` returns a reason.
template <class Reject>
void Sift(std::vector<Candidate>& found, ScanContext& scan, RejectReason reason, Reject reject) {
  std::erase_if(found, [&](const Candidate& candidate) {
    const std::string detail = reject(candidate.device);
    if (detail.empty()) return false;
    scan.RejectCandidate(candidate, reason, detail);
    return true;
  });
}

void EraseMarked(const std::vector<bool>& marked, std::vector<Candidate>& found) {
  std::size_t i = 0;
  std::erase_if(found, [&](const Candidate&) { return marked[i++]; });
}

/// Returns a property of the device; empty if it has none.
std::string_view PropertyOf(const Device& device, std::string_view property) {
  for (const auto& [name, value] : device.values) {
    if (name == property) return value;
  }
  return "";
}

/// Returns the syspath of the device; empty if only its nodes were matched.
std::string_view SysfsPathOf(const Device& device) { return PropertyOf(device, "DEVPATH"); }

/// Returns whether both are the same device: by syspath, or otherwise by all their nodes. Two sysfs
/// devices can share a node, like the functions of an IOMMU group.
bool IsSameDevice(const Device& a, const Device& b) {
  const std::string_view path_of_a = SysfsPathOf(a), path_of_b = SysfsPathOf(b);
  if (!path_of_a.empty() || !path_of_b.empty()) return path_of_a == path_of_b;
  std::set<NodeKey> keys_of_a, keys_of_b;
  for (const DeviceNode& node : a.nodes) keys_of_a.insert(KeyOf(node));
  for (const DeviceNode& node : b.nodes) keys_of_b.insert(KeyOf(node));
  return keys_of_a == keys_of_b;
}

/// Returns whether the device had its ID before this scan.
bool HadId(const Device& device, const ScanRequest& request) {
  const ListedDevice* before =
      request.before == nullptr ? nullptr : FindDevice(*request.before, device.id);
  return before != nullptr && IsSameDevice(*before->device, device);
}

/// Returns whether the text of a template exists for each candidate and differs.
bool IsDistinct(std::span<const Candidate> candidates, const Template& id) {
  std::set<std::string> seen;
  return std::ranges::all_of(candidates, [&](const Candidate& candidate) {
    const auto text = id.Render(VariablesOf(candidate.device));
    return text && seen.insert(*text).second;
  });
}

/// Returns the first ID that differs for each candidate; empty if none does. `path` comes last,
/// because the kernel numbers nodes in the order in which devices are plugged in.
std::string_view DistinctIdFor(std::span<const Candidate> candidates) {
  for (const std::string_view id :
       {"{usb_port}", "{usb_port}-{usb_interface}", "{pci_address}", "{path}"}) {
    if (IsDistinct(candidates, *Template::Compile(id))) return id;
  }
  return "";
}

/// Returns the variable that names the one device whose nodes all candidates are, such as the nodes
/// of a camera; empty if they are several devices. The PCI address of a USB device is that of its
/// controller, which has many devices.
std::string_view SharedDeviceOf(std::span<const Candidate> candidates) {
  for (const std::string_view variable : {"usb_port", "pci_address"}) {
    const Template value = *Template::Compile(format("{{{}}}", variable));
    std::set<std::string> values;
    std::size_t with_value = 0;
    for (const Candidate& candidate : candidates) {
      if (candidate.device.nodes.empty()) return "";
      const auto text = value.Render(VariablesOf(candidate.device));
      if (text) values.insert(*text), ++with_value;
    }
    if (with_value == 0) continue;
    return with_value == candidates.size() && values.size() == 1 ? variable : "";
  }
  return "";
}

/// Returns a hint if one device is a child of another one, such as a partition of its disk or a
/// Bluetooth connection of its adapter; otherwise an empty text.
std::string HintOnChild(std::span<const Candidate> sharing) {
  std::unordered_map<std::string_view, const Candidate*> by_path;
  for (const Candidate& candidate : sharing) {
    const std::string_view path = SysfsPathOf(candidate.device);
    if (!path.empty()) by_path.emplace(path, &candidate);
  }
  for (const auto& [path, child] : by_path) {
    for (auto end = path.rfind('/'); end != 0 && end != path.npos; end = path.rfind('/', end - 1)) {
      const auto parent = by_path.find(path.substr(0, end));
      if (parent == by_path.end()) continue;
      const std::string_view kind = PropertyOf(parent->second->device, "DEVTYPE");
      if (kind.empty()) return "";
      return format(
          "{} is a child of {}; to list only the parents, add properties = {{ DEVTYPE = \"{}\" }} "
          "to udev",
          child->label(), parent->second->label(), kind);
    }
  }
  return "";
}

/// Returns what an administrator can do about devices with the same ID.
std::string HintOnSharedId(std::span<const Candidate> sharing) {
  if (std::string hint = HintOnChild(sharing); !hint.empty()) return hint;
  const std::string_view id = DistinctIdFor(sharing);
  if (const std::string_view device = SharedDeviceOf(sharing); !device.empty()) {
    return format(
        "they are nodes of one device: set group_by = \"{}\" in the match to list them as one{}",
        device, id.empty() ? "" : format(", or id = \"{}\" to list each", id));
  }
  if (id.empty()) return "set an id in the match that differs for each device";
  return format("set id = \"{}\" in the match, which differs for each", id);
}

/// Rejects devices with the same ID. A device that had the ID before keeps it, so that plugging in
/// another device with the same serial number does not remove it. If none had the ID, all are
/// rejected.
void RejectSharedIds(std::vector<Candidate>& found, const ScanRequest& request, ScanContext& scan) {
  std::vector<bool> rejected(found.size(), false);
  for (std::size_t first = 0, last = 0; first < found.size(); first = last) {
    while (last < found.size() && found[last].device.id == found[first].device.id) ++last;
    if (last - first == 1) continue;
    const std::span<const Candidate> sharing(found.data() + first, last - first);
    const auto had = [&](const Candidate& candidate) { return HadId(candidate.device, request); };
    const bool is_known = std::count_if(sharing.begin(), sharing.end(), had) == 1;
    const auto owner = is_known ? std::find_if(sharing.begin(), sharing.end(), had) : sharing.end();
    const std::string& id = sharing.front().device.id;
    const std::string detail = is_known ? format("the ID \"{}\" is already used by {}; {}", id,
                                                 owner->label(), HintOnSharedId(sharing))
                                        : format("{} devices have the ID \"{}\"; {}",
                                                 sharing.size(), id, HintOnSharedId(sharing));
    for (auto at = sharing.begin(); at != sharing.end(); ++at) {
      if (at == owner) continue;
      rejected[first + static_cast<std::size_t>(at - sharing.begin())] = true;
      scan.RejectCandidate(*at, RejectReason::kDuplicateId, detail);
    }
  }
  EraseMarked(rejected, found);
}

void ScanMatches(const ResourceSpec& spec, ScanContext& scan) {
  for (std::size_t i = 0; i < spec.matches.size(); ++i) {
    scan.BeginMatch(spec.matches[i], i);
    std::visit([&](const auto& source) { ScanSource(source, scan); }, spec.matches[i].source);
  }
}

/// The nodes of exclusive resources.
struct Taken {
  std::unordered_map<NodeKey, std::string, NodeKeyHash> owners;
  /// Exclusive resources that have never been scanned successfully.
  std::vector<std::shared_ptr<const ResourceSpec>> unknown;
};

/// Returns the nodes that the matches of exclusive resources find, including rejected ones.
Taken TakenNodes(const HostRoot& host, const ScanRequest& request, Discovery& discovery) {
  Taken taken;
  OwnedNodes owned;
  const ScanRequest plain{.node_name = request.node_name};
  for (const auto& owner : request.owners) {
    auto& nodes = owned[owner->name];
    bool complete = false;
    if (!request.skips_owners) {
      ScanContext scan(host, plain);
      ScanMatches(*owner, scan);
      discovery.directories.insert(scan.directories().begin(), scan.directories().end());
      for (const Candidate& candidate : scan.candidates()) {
        for (const DeviceNode& node : candidate.device.nodes) nodes.insert(KeyOf(node));
      }
      complete = scan.complete();
    }
    for (const NodeKey& node : nodes) taken.owners.emplace(node, owner->name);
    if (complete) continue;
    const bool is_known =
        request.owned_before != nullptr && request.owned_before->contains(owner->name);
    if (!is_known) {
      taken.unknown.push_back(owner);
      owned.erase(owner->name);
      continue;
    }
    for (const NodeKey& node : request.owned_before->at(owner->name)) {
      nodes.insert(node);
      taken.owners.emplace(node, owner->name);
    }
  }
  discovery.owned = std::make_shared<const OwnedNodes>(std::move(owned));
  return taken;
}

/// Returns whether the match can find the node, judging only by its path.
bool MayFind(const MatchSpec& match, const DeviceNode& node) {
  if (const auto* paths = std::get_if<PathSource>(&match.source)) {
    return std::ranges::any_of(paths->globs, [&](const Glob& glob) {
      return glob.Matches(node.path) || glob.Matches(node.real_path);
    });
  }
  if (const auto* regex = std::get_if<RegexSource>(&match.source)) {
    Captures captures;
    return regex->regex.Match(node.path, captures) || regex->regex.Match(node.real_path, captures);
  }
  return true;
}

void RejectTakenNodes(const Taken& taken, std::vector<Candidate>& found, ScanContext& scan) {
  if (taken.owners.empty() && taken.unknown.empty()) return;
  Sift(found, scan, RejectReason::kTaken, [&](const Device& device) {
    for (const DeviceNode& node : device.nodes) {
      if (const auto owner = taken.owners.find(KeyOf(node)); owner != taken.owners.end()) {
        return format("{} belongs to {}, which is exclusive", node.path, owner->second);
      }
      for (const auto& owner : taken.unknown) {
        const bool may_be_its = std::ranges::any_of(
            owner->matches, [&](const MatchSpec& match) { return MayFind(match, node); });
        if (!may_be_its) continue;
        return format(
            "{} may belong to {}, which is exclusive and whose devices cannot be looked "
            "up now",
            node.path, owner->name);
      }
    }
    return std::string();
  });
}

bool SharesNodes(const std::vector<Candidate>& found) {
  std::unordered_set<NodeKey, NodeKeyHash> seen;
  for (const Candidate& candidate : found) {
    for (const DeviceNode& node : candidate.device.nodes) {
      if (!seen.insert(KeyOf(node)).second) return true;
    }
  }
  return false;
}

/// Removes devices that share a node, because a node must not be advertised under two IDs. The
/// device that had its ID before remains, otherwise the first by ID. Two links to the same node are
/// the same device; a device that shares only some of its nodes is rejected.
void RejectSharedNodes(std::vector<Candidate>& found, const ScanRequest& request,
                       ScanContext& scan) {
  if (!SharesNodes(found)) return;
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return HadId(found[i].device, request); });
  std::unordered_map<NodeKey, std::size_t, NodeKeyHash> owners;
  std::vector<bool> rejected(found.size(), false);
  for (const std::size_t i : order) {
    const auto& nodes = found[i].device.nodes;
    const auto shared = std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& node) {
      return owners.contains(KeyOf(node));
    });
    if (shared == nodes.end()) {
      for (const DeviceNode& node : nodes) owners.emplace(KeyOf(node), i);
      continue;
    }
    rejected[i] = true;
    const Device& owner = found[owners.at(KeyOf(*shared))].device;
    if (IsSameDevice(owner, found[i].device)) {
      scan.report().Drop(shared->path, DropReason::kFoundBefore,
                         format("it is another path of the device \"{}\"", owner.id));
    } else {
      scan.RejectCandidate(found[i], RejectReason::kDuplicateNode,
                           format("the device \"{}\" has a node of the device \"{}\"",
                                  found[i].device.id, owner.id));
    }
  }
  EraseMarked(rejected, found);
}

/// Applies max_devices of each match. Devices that had their ID before have precedence, so that a
/// new device does not displace them, then the order of IDs. `found` is sorted.
void RejectBeyondLimits(const ResourceSpec& spec, std::vector<Candidate>& found,
                        const ScanRequest& request, ScanContext& scan) {
  std::vector<int> room;
  for (const MatchSpec& match : spec.matches) room.push_back(match.max_devices);
  if (std::all_of(room.begin(), room.end(), [](int limit) { return limit == 0; })) return;
  std::vector<bool> rejected(found.size(), false);
  for (const bool had_id : {true, false}) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int limit = spec.matches[found[i].device.match].max_devices;
      if (limit == 0 || HadId(found[i].device, request) != had_id) continue;
      if (int& left = room[found[i].device.match]; left > 0) {
        --left;
        continue;
      }
      rejected[i] = true;
      scan.RejectCandidate(found[i], RejectReason::kLimit,
                           format("max_devices of the match is {}, and other devices were listed "
                                  "before or have lower IDs; narrow the match, or raise "
                                  "max_devices",
                                  limit));
    }
  }
  EraseMarked(rejected, found);
}

/// Returns whether the NUMA node is needed, by the kubelet or a template.
bool NeedsNumaNodes(const ResourceSpec& spec) {
  const auto asks = [](const Template* t) {
    return std::any_of(t->fields().begin(), t->fields().end(),
                       [](const Template::Field& field) { return field.name == "numa_node"; });
  };
  if (spec.topology || spec.preferred_allocation == Preference::kPacked) return true;
  for (std::size_t match = 0; match < spec.matches.size(); ++match) {
    const auto templates = DeviceTemplates(spec, match);
    if (std::any_of(templates.begin(), templates.end(), asks)) return true;
  }
  return false;
}

/// Sets the NUMA node of a device from its nodes, unless the source has set it. A device with nodes
/// on several NUMA nodes has none.
void AddNumaNode(Device& device, NumaNodes& numa) {
  if (device.numa_node) return;
  for (const DeviceNode& node : device.nodes) {
    const auto where = numa.Of(node.type, node.major, node.minor);
    if (!where) continue;
    if (device.numa_node && device.numa_node != where) return device.numa_node.reset();
    device.numa_node = where;
  }
}

}  // namespace

Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const ScanRequest& request) {
  ScanContext scan(host, request);
  ScanMatches(spec, scan);
  std::vector<Candidate> found = Group(spec, scan);
  std::erase_if(found, [&](Candidate& candidate) {
    auto identity = IdentityOf(spec, candidate, request.node_name);
    if (!identity) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           "id: " + identity.error().message);
      return true;
    }
    candidate.device.id = DeviceId(*identity, LongestDeviceId(spec));
    return false;
  });
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    if (a.device.id == b.device.id) return a.label() < b.label();
    return IdLess(a.device.id, b.device.id);
  });
  Discovery discovery;
  // Limits come after the nodes of exclusive resources, which do not count, and before the check
  // for equal IDs, because only one of the devices may remain.
  RejectTakenNodes(TakenNodes(host, request, discovery), found, scan);
  RejectBeyondLimits(spec, found, request, scan);
  RejectSharedIds(found, request, scan);
  RejectSharedNodes(found, request, scan);
  if (request.report) {
    for (const Candidate& candidate : found) {
      scan.report().reports()[candidate.device.match].found.push_back(candidate.thing());
    }
  }

  NumaNodes numa(scan.sysfs());
  const bool needs_numa = NeedsNumaNodes(spec);
  discovery.devices.reserve(found.size());
  for (Candidate& candidate : found) {
    if (needs_numa) AddNumaNode(candidate.device, numa);
    discovery.devices.push_back(std::move(candidate.device));
  }
  FindMissing(spec, request.node_name, scan, discovery);
  discovery.directories.insert(scan.directories().begin(), scan.directories().end());
  // Directory entries have no order. Sorted, so that equal rejections are not a change.
  std::stable_sort(scan.rejected().begin(), scan.rejected().end(),
                   [](const Rejection& a, const Rejection& b) { return a.path < b.path; });
  discovery.rejected = std::move(scan.rejected());
  discovery.complete = scan.complete();
  discovery.reports = std::move(scan.report().reports());
  return discovery;
}

}  // namespace patchbay
