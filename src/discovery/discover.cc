#include "discovery/discover.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"
#include "base/hash.h"
#include "discovery/extra_nodes.h"
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

/// An ID and what has it: where sysfs has the device, else its nodes. As hashes, since there may be
/// very many, and a wrong guess only decides which of two devices of one ID is the first.
std::pair<std::uint64_t, std::uint64_t> HolderOf(const Candidate& candidate) {
  std::uint64_t holder = StableHash(candidate.syspath);
  if (candidate.syspath.empty()) {
    for (const DeviceNode& node : candidate.device.nodes) {
      const NodeKey key = KeyOf(node);
      holder = holder * 31 + key.number + StableHash(key.path);
    }
  }
  return {StableHash(candidate.device.id), holder};
}

/// Whether the device had its ID in the last pass already.
bool HadId(const Candidate& candidate, const PassMemory& memory) {
  return std::binary_search(memory.ids.begin(), memory.ids.end(), HolderOf(candidate));
}

std::string_view UsbPort(const Candidate& candidate) {
  for (const auto& [name, value] : candidate.device.values) {
    if (name == "usb_port") return value;
  }
  if (candidate.device.nodes.empty()) return "";
  for (const auto& [name, value] : candidate.device.nodes.front().values) {
    if (name == "usb_port") return value;
  }
  return "";
}

/// What to do about devices that share an ID, such as sticks with one serial number.
std::string HintOnSharedId(std::span<const Candidate> sharing) {
  std::set<std::string_view> ports;
  for (const Candidate& candidate : sharing) ports.insert(UsbPort(candidate));
  const bool by_port = ports.size() == sharing.size() && !ports.contains("");
  return by_port ? "give the match id = \"{usb_port}\", which tells them apart"
                 : "give the match an id that tells them apart";
}

/// A device that had the ID before keeps it, so that nobody can take a device out of service by
/// plugging in another with its serial number. Where nobody had it, nobody knows whose it is.
void RejectSharedIds(std::vector<Candidate>& found, const PassMemory& memory, Scan& scan) {
  std::vector<Candidate> kept;
  kept.reserve(found.size());
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if(first, found.end(), [&](const Candidate& candidate) {
      return candidate.device.id != first->device.id;
    });
    const std::span<Candidate> sharing(first, last);
    const auto had = [&](const Candidate& candidate) { return HadId(candidate, memory); };
    const auto owner = sharing.size() == 1 ? sharing.begin()
                       : std::count_if(sharing.begin(), sharing.end(), had) == 1
                           ? std::find_if(sharing.begin(), sharing.end(), had)
                           : sharing.end();
    for (auto at = sharing.begin(); at != sharing.end(); ++at) {
      if (at == owner) continue;
      scan.RejectCandidate(*at, RejectReason::kDuplicateId,
                           owner == sharing.end()
                               ? format("{} devices have the ID \"{}\"; {}", sharing.size(),
                                        at->device.id, HintOnSharedId(sharing))
                               : format("the ID \"{}\" belongs to {}, which was there first; {}",
                                        at->device.id, owner->label(), HintOnSharedId(sharing)));
    }
    if (owner != sharing.end()) kept.push_back(std::move(*owner));
    first = last;
  }
  found = std::move(kept);
}

/// The names of resources that have nodes for themselves.
using Owners = std::unordered_map<NodeKey, std::string, NodeKeyHash>;

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
        taken.emplace(KeyOf(node), owner->name);
      }
    }
  }
  return taken;
}

void RejectTakenNodes(const Owners& taken, std::vector<Candidate>& found, Scan& scan) {
  if (taken.empty()) return;
  Sift(found, scan, RejectReason::kTaken, [&](const Device& device) {
    for (const DeviceNode& node : device.nodes) {
      const auto owner = taken.find(KeyOf(node));
      if (owner == taken.end()) continue;
      return format("{} belongs to {} alone, which is exclusive", node.path, owner->second);
    }
    return std::string();
  });
}

/// Whether both have the same nodes, so that they are one device by two names. Two devices of sysfs
/// can share a node and are two all the same, as the functions of one IOMMU group.
bool IsSameDevice(const Candidate& a, const Candidate& b) {
  if (a.syspath != b.syspath) return false;
  std::set<NodeKey> keys_of_a, keys_of_b;
  for (const DeviceNode& node : a.device.nodes) keys_of_a.insert(KeyOf(node));
  for (const DeviceNode& node : b.device.nodes) keys_of_b.insert(KeyOf(node));
  return keys_of_a == keys_of_b;
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

/// One node must not be handed out under two IDs: a device that had its ID before keeps it, else
/// the first in the order of IDs. Two links to one node are one device; a device that shares only
/// some of its nodes is rejected, and keeps none of them.
void RejectSharedNodes(std::vector<Candidate>& found, const PassMemory& memory, Scan& scan) {
  if (!SharesNodes(found)) return;
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return HadId(found[i], memory); });
  std::unordered_map<NodeKey, std::size_t, NodeKeyHash> owners;
  std::vector<bool> goes(found.size(), false);
  for (const std::size_t i : order) {
    const auto& nodes = found[i].device.nodes;
    const auto shared = std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& node) {
      return owners.contains(KeyOf(node));
    });
    if (shared == nodes.end()) {
      for (const DeviceNode& node : nodes) owners.emplace(KeyOf(node), i);
      continue;
    }
    goes[i] = true;
    const Candidate& owner = found[owners.at(KeyOf(*shared))];
    if (IsSameDevice(owner, found[i])) {
      scan.account().Drop(shared->path, DropReason::kFoundBefore,
                          format("it is the device \"{}\" by another name", owner.device.id));
    } else {
      scan.RejectCandidate(found[i], RejectReason::kDuplicateNode,
                           format("the device \"{}\" has a node of the device \"{}\"",
                                  found[i].device.id, owner.device.id));
    }
  }
  std::size_t i = 0;
  std::erase_if(found, [&](const Candidate&) { return goes[i++]; });
}

void RememberIds(const std::vector<Candidate>& found, PassMemory& memory) {
  memory.ids.clear();
  for (const Candidate& candidate : found) memory.ids.push_back(HolderOf(candidate));
  std::sort(memory.ids.begin(), memory.ids.end());
}

/// Keeps as many of each match as its limit allows: first those that had their ID before, so that
/// no newcomer takes the place of a device, then in the order of IDs; `found` is sorted.
void RejectBeyondLimits(const ResourceSpec& spec, std::vector<Candidate>& found,
                        const PassMemory& memory, Scan& scan) {
  std::vector<int> room;
  for (const MatchSpec& match : spec.matches) room.push_back(match.max_devices);
  if (std::all_of(room.begin(), room.end(), [](int limit) { return limit == 0; })) return;
  std::vector<bool> stays(found.size(), false);
  for (const bool had_id : {true, false}) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      int& left = room[found[i].match];
      if (stays[i] || left == 0 || HadId(found[i], memory) != had_id) continue;
      stays[i] = true;
      --left;
    }
  }
  std::size_t i = 0;
  std::erase_if(found, [&](const Candidate& candidate) {
    const int limit = spec.matches[candidate.match].max_devices;
    if (stays[i++] || limit == 0) return false;
    scan.RejectCandidate(candidate, RejectReason::kLimit,
                         format("max_devices of the match is {}, and others were there before or "
                                "come first in the order of IDs",
                                limit));
    return true;
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
    if (a.device.id == b.device.id) return a.label() < b.label();
    return IdLess(a.device.id, b.device.id);
  });
  Discovery discovery;
  // The limits after what others have, so that it does not use them up, and before the IDs, which
  // may be the same where only one device is kept.
  RejectTakenNodes(TakenNodes(host, pass, discovery.directories), found, scan);
  RejectBeyondLimits(spec, found, *pass.memory, scan);
  RejectSharedIds(found, *pass.memory, scan);
  RejectSharedNodes(found, *pass.memory, scan);
  RememberIds(found, *pass.memory);
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
  FindMissing(spec, pass.node_name, scan, discovery);
  discovery.directories.insert(scan.directories().begin(), scan.directories().end());
  // A directory lists its names in no order; the same faults must not look like a change.
  std::stable_sort(scan.rejected().begin(), scan.rejected().end(),
                   [](const Rejection& a, const Rejection& b) { return a.path < b.path; });
  discovery.rejected = std::move(scan.rejected());
  discovery.complete = scan.complete();
  discovery.reports = std::move(scan.account().reports());
  return discovery;
}

}  // namespace patchbay
