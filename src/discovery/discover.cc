// ScanMatches collects candidates from the sources of all matches. The functions after it turn
// candidates into devices, one rule at a time: grouping, IDs, exclusive nodes, disks in use,
// limits, equal IDs, shared nodes, additional nodes. Each rule removes the candidates that it
// rejects, with a reason; Discover has the order and why. The previous snapshot decides between
// devices that are otherwise equal: a listed device keeps its ID.

#include "discovery/discover.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"
#include "discovery/device_id.h"
#include "discovery/device_notes.h"
#include "discovery/device_rules.h"
#include "discovery/disk_use.h"
#include "discovery/extra_nodes.h"
#include "discovery/grouping.h"
#include "discovery/numa.h"
#include "discovery/sources.h"
#include "discovery/vfio.h"

namespace patchbay {
namespace {

/// Sorts by ID, those with the same ID by label. Usually a source finds them in this order.
void SortById(std::vector<Candidate>& found) {
  const auto is_less = [](const Candidate& a, const Candidate& b) {
    if (a.device->id == b.device->id) return a.label() < b.label();
    return IdLess(a.device->id, b.device->id);
  };
  if (!std::ranges::is_sorted(found, is_less)) std::ranges::stable_sort(found, is_less);
}

/// Returns the devices, with the listed objects in place of equal ones, so that all later
/// comparisons of unchanged devices are those of pointers. Both lists are ordered by ID.
DeviceList DevicesOf(std::vector<Candidate> found, const Snapshot* before) {
  static const Snapshot kNothing;
  const std::vector<ListedDevice>& listed = (before == nullptr ? kNothing : *before).devices;
  auto at = listed.begin();
  DeviceList::Shared devices;
  devices.reserve(found.size());
  for (Candidate& candidate : found) {
    while (at != listed.end() && IdLess(at->device->id, candidate.device->id)) ++at;
    if (at != listed.end() && *at->device == *candidate.device) {
      devices.push_back(at->device);
    } else {
      devices.push_back(std::move(candidate.device));
    }
  }
  return DeviceList(std::move(devices));
}

/// Removes the candidates from `found` for which `reject` returns a reason.
template <class Reject>
void RejectIf(std::vector<Candidate>& found, ScanContext& scan, RejectReason reason,
              Reject reject) {
  std::erase_if(found, [&](const Candidate& candidate) {
    const std::string detail = reject(*candidate.device);
    if (detail.empty()) return false;
    scan.RejectCandidate(candidate, reason, detail);
    return true;
  });
}

void ScanMatches(const ResourceSpec& spec, ScanContext& scan) {
  for (std::size_t i = 0; i < spec.matches.size(); ++i) {
    scan.BeginMatch(spec.matches[i], i, spec.api, spec.net_device.has_value());
    std::visit([&](const auto& source) { ScanSource(source, scan); }, spec.matches[i].source);
    RemoveExcluded(spec.matches[i], scan);
    scan.EndMatch();
  }
}

/// The nodes of exclusive resources.
struct Taken {
  std::unordered_map<NodeKey, std::string, NodeKeyHash> by_node;
  /// Exclusive resources that have never been scanned successfully.
  std::vector<std::shared_ptr<const ResourceSpec>> unknown;
};

/// Returns the nodes that the matches of exclusive resources find, including rejected ones.
Taken TakenNodes(const HostRoot& host, const ScanRequest& request, Discovery& discovery) {
  Taken taken;
  OwnedNodes owned;
  const ScanRequest plain{.budget = request.budget};
  for (const auto& owner : request.exclusive_above) {
    auto& nodes = owned[owner->name];
    bool complete = false;
    if (!request.skips_exclusive) {
      ScanContext scan(host, plain);
      ScanMatches(*owner, scan);
      discovery.directories.insert(scan.directories().begin(), scan.directories().end());
      for (const Candidate& candidate : scan.candidates()) {
        for (const DeviceNode& node : candidate.device->nodes) nodes.insert(KeyOf(node));
      }
      complete = scan.complete();
    }
    for (const NodeKey& node : nodes) taken.by_node.emplace(node, owner->name);
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
      taken.by_node.emplace(node, owner->name);
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
  if (taken.by_node.empty() && taken.unknown.empty()) return;
  RejectIf(found, scan, RejectReason::kTaken, [&](const Device& device) {
    for (const DeviceNode& node : device.nodes) {
      if (const auto owner = taken.by_node.find(KeyOf(node)); owner != taken.by_node.end()) {
        return Format("{} belongs to {}, which is exclusive", node.path, owner->second);
      }
      for (const auto& owner : taken.unknown) {
        const bool may_be_its = std::ranges::any_of(
            owner->matches, [&](const MatchSpec& match) { return MayFind(match, node); });
        if (!may_be_its) continue;
        scan.SetIncomplete();
        return Format(
            "{} may belong to {}, which is exclusive and whose devices cannot be looked "
            "up now",
            node.path, owner->name);
      }
    }
    return std::string();
  });
}

/// Rejects all devices of a match that requires its `exclude`, while a glob of it excludes nothing.
void RejectWithoutExcludes(const ResourceSpec& spec, std::vector<Candidate>& found,
                           ScanContext& scan) {
  std::map<std::size_t, std::string_view> missing;
  for (const UnusedExclude& unused : scan.unused_excludes()) {
    const bool is_glob = unused.what.starts_with('/');
    if (is_glob && spec.matches[unused.match].exclude_required) {
      missing.emplace(unused.match, unused.what);
    }
  }
  if (missing.empty()) return;
  RejectIf(found, scan, RejectReason::kMissingExclude, [&](const Device& device) {
    const auto glob = missing.find(device.match);
    return glob == missing.end()
               ? std::string()
               : Format(
                     "{} excludes no device of the match on this node, and the match has "
                     "exclude_required: correct or remove it, or attach the device that it names",
                     glob->second);
  });
}

/// Rejects devices with disks that the host uses, unless their match allows it.
void RejectMounted(const ResourceSpec& spec, std::vector<Candidate>& found, ScanContext& scan) {
  DiskUse uses(scan.sysfs());
  RejectIf(found, scan, RejectReason::kMounted, [&](const Device& device) {
    if (spec.matches[device.match].allow_mounted) return std::string();
    for (const DeviceNode& node : device.nodes) {
      if (node.type != FileType::kBlock) continue;
      const auto use = uses.Of(node);
      if (use && use->empty()) continue;
      if (use) {
        return *use +
               "; unmount it, or exclude it; set allow_mounted = true only if pods do not "
               "write to it";
      }
      scan.SetIncomplete();
      return Format("whether the host uses it is unknown: {}; fix this, or exclude the disk",
                    use.error().message);
    }
    return std::string();
  });
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

/// Returns whether the scan does not find an interface of a healthy device, or finds it unhealthy.
/// Both lists are ordered by ID.
bool HasLostInterface(const Snapshot* before, const Discovery& found) {
  if (before == nullptr) return false;
  auto at = found.devices.begin();
  return std::ranges::any_of(before->devices, [&](const ListedDevice& listed) {
    const std::string& id = listed.device->id;
    while (at != found.devices.end() && IdLess(at->id, id)) ++at;
    const bool is_lost = at == found.devices.end() || at->id != id || found.unusable.contains(id);
    return is_lost && listed.health == Health::kHealthy && listed.device->interface;
  });
}

/// Sets why the interface of a pod is still on the host, and adds the reasons of pods to the notes.
void NoteInterfacesThatStay(std::vector<Candidate>& found, const ScanRequest& request,
                            Discovery& discovery) {
  for (Candidate& candidate : found) {
    const auto& interface = candidate.device->interface;
    if (!interface || interface->is_away || !candidate.unhealthy.empty()) continue;
    const KnownInterface* known = FindKnown(request.interfaces, *interface);
    const std::string failure = known == nullptr ? "" : known->failure;
    if (request.held_long.contains(candidate.device->id)) {
      candidate.unhealthy =
          failure.empty() ? "a pod has had it for two minutes, but its interface is still on the "
                            "host: if the container has started, the container runtime ignores "
                            "CDI; see docs/network.md, \"Requirements\""
                          : "its interface did not move into the pod: " + failure;
    } else if (!failure.empty()) {
      discovery.notes.push_back({candidate.device->id, "its interface did not move: " + failure});
    }
  }
}

}  // namespace

Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const ScanRequest& request) {
  ScanContext scan(host, request);
  ScanMatches(spec, scan);
  std::vector<Candidate> found = Group(spec, scan);
  NumaNodes numa(scan.sysfs());
  const bool needs_numa = NeedsNumaNodes(spec);
  std::erase_if(found, [&](Candidate& candidate) {
    auto identity = IdentityOf(spec, candidate, request.node_name);
    if (!identity) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           "id: " + identity.error().message);
      return true;
    }
    candidate.device->id = DeviceId(*identity, LongestDeviceId(spec));
    if (needs_numa) AddNumaNode(*candidate.device, numa);
    return false;
  });
  SortById(found);
  Discovery discovery;
  // Limits come after the rules for single devices, because rejected ones do not count, and before
  // the check for equal IDs, because only one of the devices may remain.
  RejectTakenNodes(TakenNodes(host, request, discovery), found, scan);
  RejectWithoutExcludes(spec, found, scan);
  RejectMounted(spec, found, scan);
  RejectBeyondLimits(spec, found, request, scan);
  RejectSharedIds(found, request, scan);
  RejectSharedNodes(found, request, scan);
  if (request.report) {
    for (const Candidate& candidate : found) {
      scan.report().reports()[candidate.device->match].found.push_back(
          request.names_found ? candidate.item() : MatchReport::Item());
    }
  }

  NoteInterfacesThatStay(found, request, discovery);
  for (Candidate& candidate : found) {
    if (candidate.unhealthy.empty()) continue;
    discovery.unusable.emplace(candidate.device->id, std::move(candidate.unhealthy));
  }
  discovery.devices = DevicesOf(std::move(found), request.before.get());
  FindMissing(spec, request.node_name, scan, discovery);
  FindBlockedGroups(scan, discovery);
  FindNotes(spec, request.node_name, scan, discovery);
  discovery.interfaces = std::move(scan.interfaces());
  discovery.unused_excludes = std::move(scan.unused_excludes());
  discovery.directories.insert(scan.directories().begin(), scan.directories().end());
  // Directory entries have no order. Sorted, so that equal rejections are not a change.
  std::stable_sort(scan.rejected().begin(), scan.rejected().end(),
                   [](const Rejection& a, const Rejection& b) { return a.path < b.path; });
  discovery.rejected = std::move(scan.rejected());
  discovery.complete = scan.complete();
  discovery.is_cut = scan.is_over_budget();
  discovery.reports = std::move(scan.report().reports());
  return discovery;
}

Discovery DiscoverInterfaces(const ResourceSpec& spec, const HostRoot& host, ScanRequest& request,
                             const std::function<std::vector<KnownInterface>()>& read) {
  request.interfaces = read();
  Discovery found = Discover(spec, host, request);
  if (!HasLostInterface(request.before.get(), found)) return found;
  request.interfaces = read();
  return Discover(spec, host, request);
}

}  // namespace patchbay
