#include "discovery/discover.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "discovery/grouping.h"
#include "discovery/identity.h"
#include "discovery/numa.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

std::string PathOf(const Device& device) {
  return device.nodes.empty() ? device.id : device.nodes.front().path;
}

Result<std::string> IdentityOf(const ResourceSpec& spec, const Candidate& candidate,
                               const std::string& node_name) {
  const auto& id = spec.matches[candidate.match].id;
  if (!id) return candidate.identity;
  Variables variables = VariablesOf(candidate.device);
  variables.resource = spec.name;
  variables.node_name = node_name;
  return id->Render(variables);
}

/// Moves out of `devices` those for which `reject` returns a reason.
template <class Reject>
void Sift(std::vector<Device>& devices, Scan& scan, RejectReason reason, Reject reject) {
  std::erase_if(devices, [&](const Device& device) {
    const std::string detail = reject(device);
    if (detail.empty()) return false;
    scan.Reject(PathOf(device), reason, detail);
    return true;
  });
}

/// Whether anybody wants to know where devices are: the kubelet or a template.
bool NeedsNumaNodes(const ResourceSpec& spec) {
  const auto asks = [](const Template& t) {
    return std::any_of(t.fields().begin(), t.fields().end(),
                       [](const Template::Field& field) { return field.name == "numa_node"; });
  };
  const auto templates = ContainerTemplates(spec);
  return spec.topology || std::any_of(templates.begin(), templates.end(),
                                      [&](const Template* t) { return asks(*t); });
}

/// The NUMA node of a device is that of its nodes. One that spans several is near to none.
void AddNumaNodes(std::vector<Device>& devices, const Sysfs& sysfs) {
  NumaNodes numa(sysfs);
  for (Device& device : devices) {
    for (const DeviceNode& node : device.nodes) {
      const auto where = numa.Of(node.type, node.major, node.minor);
      if (!where) continue;
      if (device.numa_node && device.numa_node != where) {
        device.numa_node.reset();
        break;
      }
      device.numa_node = where;
    }
  }
}

/// One node must not be handed out under two IDs: the first in the order of IDs keeps it.
void RejectSharedNodes(std::vector<Device>& devices, Scan& scan) {
  std::map<std::string_view, std::string_view> owners;
  std::map<std::string_view, std::string_view> taken;
  for (const Device& device : devices) {
    for (const DeviceNode& node : device.nodes) {
      const auto [owner, first] = owners.emplace(node.real_path, device.id);
      if (!first && owner->second != device.id) taken.emplace(device.id, owner->second);
    }
  }
  if (taken.empty()) return;
  std::map<std::string, std::string> details;  // of its own: the views die with the devices
  for (const auto& [id, owner] : taken) {
    details.emplace(id, format("it is the same node as the device \"{}\"", owner));
  }
  Sift(devices, scan, RejectReason::kDuplicateNode, [&](const Device& device) {
    const auto detail = details.find(device.id);
    return detail == details.end() ? std::string() : detail->second;
  });
}

void RejectSharedIds(std::vector<Device>& devices, Scan& scan) {
  std::map<std::string, int> uses;
  for (const Device& device : devices) ++uses[device.id];
  if (uses.size() == devices.size()) return;
  Sift(devices, scan, RejectReason::kDuplicateId, [&](const Device& device) {
    if (uses[device.id] == 1) return std::string();
    return format("{} devices have the ID \"{}\"; give the match an id that tells them apart",
                  uses[device.id], device.id);
  });
}

}  // namespace

Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const std::string& node_name) {
  Scan scan(host);
  for (std::size_t i = 0; i < spec.matches.size(); ++i) {
    scan.BeginMatch(spec.matches[i], i);
    std::visit([&](const auto& source) { ScanSource(source, scan); }, spec.matches[i].source);
  }
  std::vector<Candidate> candidates = Group(spec, scan);

  std::vector<Device> devices;
  devices.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    auto identity = IdentityOf(spec, candidate, node_name);
    if (!identity) {
      scan.Reject(candidate.label(), RejectReason::kMissingVariable,
                  "id: " + identity.error().message);
      continue;
    }
    candidate.device.id = DeviceId(*identity, LongestDeviceId(spec));
    devices.push_back(std::move(candidate.device));
  }
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return IdLess(a.id, b.id); });
  RejectSharedIds(devices, scan);
  RejectSharedNodes(devices, scan);
  if (NeedsNumaNodes(spec)) AddNumaNodes(devices, scan.sysfs());
  // A directory lists its names in no order; the same faults must not look like a change.
  std::stable_sort(scan.rejected().begin(), scan.rejected().end(),
                   [](const Rejection& a, const Rejection& b) { return a.path < b.path; });
  return {std::move(devices), std::move(scan.rejected()), scan.directories(), scan.complete()};
}

}  // namespace patchbay
