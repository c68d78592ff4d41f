#include "discovery/discover.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "discovery/grouping.h"
#include "discovery/identity.h"
#include "discovery/numa.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

Result<std::string> IdentityOf(const ResourceSpec& spec, const Candidate& candidate,
                               const std::string& node_name) {
  const auto& id = spec.matches[candidate.match].id;
  if (!id) return candidate.identity;
  Variables variables = VariablesOf(candidate.device);
  variables.resource = spec.name;
  variables.node_name = node_name;
  return id->Render(variables);
}

/// Moves out of `found` those for which `reject` returns a reason.
template <class Reject>
void Sift(std::vector<Candidate>& found, Scan& scan, RejectReason reason, Reject reject) {
  std::erase_if(found, [&](const Candidate& candidate) {
    const std::string detail = reject(candidate.device);
    if (detail.empty()) return false;
    scan.RejectCandidate(candidate, reason, detail);
    return true;
  });
}

void RejectSharedIds(std::vector<Candidate>& found, Scan& scan) {
  std::map<std::string, int> shared;  // they are sorted by ID
  for (std::size_t i = 1; i < found.size(); ++i) {
    const std::string& id = found[i].device.id;
    if (id == found[i - 1].device.id) ++shared.try_emplace(id, 1).first->second;
  }
  if (shared.empty()) return;
  Sift(found, scan, RejectReason::kDuplicateId, [&](const Device& device) {
    const auto uses = shared.find(device.id);
    if (uses == shared.end()) return std::string();
    return format("{} devices have the ID \"{}\"; give the match an id that tells them apart",
                  uses->second, device.id);
  });
}

/// What a node is to the owner of its path: the name of a resource, or the ID of a device.
using Owners = std::map<std::string, std::string>;

void ScanMatches(const ResourceSpec& spec, Scan& scan) {
  for (std::size_t i = 0; i < spec.matches.size(); ++i) {
    scan.BeginMatch(spec.matches[i], i);
    std::visit([&](const auto& source) { ScanSource(source, scan); }, spec.matches[i].source);
  }
}

/// The nodes that resources have for themselves, by the name of the resource. What its matches find
/// is taken even where the owner rejects it.
Owners TakenNodes(const HostRoot& host, const Pass& pass, std::set<std::string>& directories) {
  Owners taken;
  const Pass plain{.node_name = pass.node_name};
  for (const auto& owner : pass.owners) {
    Scan scan(host, plain);
    ScanMatches(*owner, scan);
    directories.insert(scan.directories().begin(), scan.directories().end());
    for (const Candidate& candidate : scan.candidates()) {
      for (const DeviceNode& node : candidate.device.nodes) {
        taken.emplace(node.real_path, owner->name);
      }
    }
  }
  return taken;
}

void RejectTakenNodes(const Owners& taken, std::vector<Candidate>& found, Scan& scan) {
  if (taken.empty()) return;
  Sift(found, scan, RejectReason::kTaken, [&](const Device& device) {
    for (const DeviceNode& node : device.nodes) {
      const auto owner = taken.find(node.real_path);
      if (owner == taken.end()) continue;
      return format("{} belongs to {} alone, which is exclusive", node.path, owner->second);
    }
    return std::string();
  });
}

/// One node must not be handed out under two IDs: the first in the order of IDs keeps it. A device
/// that is rejected keeps none of its nodes.
void RejectSharedNodes(std::vector<Candidate>& found, Scan& scan) {
  std::unordered_map<std::string_view, std::string_view> owners;
  Owners taken;  // with texts of its own: candidates move when some are sifted out
  for (const Candidate& candidate : found) {
    const auto owner_of = [&](const DeviceNode& node) { return owners.find(node.real_path); };
    const auto& nodes = candidate.device.nodes;
    const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& node) {
      return owner_of(node) != owners.end();
    });
    if (other != nodes.end()) {
      taken.emplace(candidate.device.id, owner_of(*other)->second);
      continue;
    }
    for (const DeviceNode& node : nodes) owners.emplace(node.real_path, candidate.device.id);
  }
  if (taken.empty()) return;
  Sift(found, scan, RejectReason::kDuplicateNode, [&](const Device& device) {
    const auto owner = taken.find(device.id);
    if (owner == taken.end()) return std::string();
    return format("the device \"{}\" has a node of the device \"{}\"", device.id, owner->second);
  });
}

/// Whether anybody wants to know where devices are: the kubelet or a template.
bool NeedsNumaNodes(const ResourceSpec& spec) {
  const auto asks = [](const Template* t) {
    return std::any_of(t->fields().begin(), t->fields().end(),
                       [](const Template::Field& field) { return field.name == "numa_node"; });
  };
  const auto templates = DeviceTemplates(spec);
  return spec.topology || spec.preferred_allocation == Preference::kPacked ||
         std::any_of(templates.begin(), templates.end(), asks);
}

/// The NUMA node of a device is that of its nodes, unless its source said more. One that spans
/// several is near to none.
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

Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const Pass& pass) {
  Scan scan(host, pass);
  ScanMatches(spec, scan);
  std::vector<Candidate> found = Group(spec, scan);
  std::erase_if(found, [&](Candidate& candidate) {
    auto identity = IdentityOf(spec, candidate, pass.node_name);
    if (!identity) {
      scan.RejectCandidate(candidate, RejectReason::kMissingVariable,
                           "id: " + identity.error().message);
      return true;
    }
    candidate.device.id = DeviceId(*identity, LongestDeviceId(spec));
    return false;
  });
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return IdLess(a.device.id, b.device.id);
  });
  RejectSharedIds(found, scan);
  Discovery discovery;
  discovery.directories = scan.directories();
  RejectTakenNodes(TakenNodes(host, pass, discovery.directories), found, scan);
  RejectSharedNodes(found, scan);
  if (pass.report) {
    for (const Candidate& candidate : found) {
      scan.account().reports()[candidate.match].found.push_back(candidate.thing());
    }
  }

  NumaNodes numa(scan.sysfs());
  const bool needs_numa = NeedsNumaNodes(spec);
  discovery.devices.reserve(found.size());
  for (Candidate& candidate : found) {
    if (needs_numa) AddNumaNode(candidate.device, numa);
    discovery.devices.push_back(std::move(candidate.device));
  }
  // A directory lists its names in no order; the same faults must not look like a change.
  std::stable_sort(scan.rejected().begin(), scan.rejected().end(),
                   [](const Rejection& a, const Rejection& b) { return a.path < b.path; });
  discovery.rejected = std::move(scan.rejected());
  discovery.complete = scan.complete();
  discovery.reports = std::move(scan.account().reports());
  return discovery;
}

}  // namespace patchbay
