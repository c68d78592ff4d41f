#include "dra/served_resource.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "dra/sha256.h"
#include "inventory/replica_ids.h"
#include "model/render.h"

namespace patchbay {
namespace {

/// Returns nothing if the resource has no release hook. Fails with kUnavailable if the device may
/// exist.
Result<std::optional<HookRun>> PlanRelease(const PreparedRequest& request,
                                           const PreparedDevice& device,
                                           const ServedResources& resources) {
  const auto served = resources.find(device.pool);
  if (served == resources.end()) {
    return Fail(ErrorKind::kNotFound, "the resource is no longer served on this node");
  }
  if (served->second.devices == nullptr) {
    if (!served->second.has_release) return std::nullopt;
    return Fail(ErrorKind::kUnavailable, "the resource was not scanned yet since Patchbay started");
  }
  const Snapshot& snapshot = served->second.devices->snapshot();
  if (!snapshot.spec->release) return std::nullopt;
  const ListedDevice* const listed = FindDevice(snapshot, device.device_id);
  if (listed == nullptr) return Fail(ErrorKind::kNotFound, "the device is no longer listed");
  // It has no nodes, so the check whether a disk is in use would find none.
  if (listed->never_found) {
    return Fail(listed->is_missing ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
                "the device was " + listed->reason);
  }
  const Variables variables =
      VariablesOf(*listed->device, request.resource, served->second.lookups->host().node_name);
  HookCall call = TRY(PlanHook(Hook::kRelease, *snapshot.spec, {&variables, 1}));
  return HookRun{served->second.hooks, std::move(call)};
}

/// Returns a host in which each node is as the snapshot has it.
AllocationContext HostOfSnapshot(const Snapshot& snapshot, const std::string& node_name) {
  AllocationContext context;
  context.resolve = [&snapshot](const std::string& path) {
    for (const ListedDevice& listed : snapshot.devices) {
      for (const DeviceNode& node : listed.device->nodes) {
        if (node.path != path) continue;
        return Result<HostNode>({node.real_path, node.type, node.major, node.minor, node.inode});
      }
    }
    return Result<HostNode>({path, FileType::kCharacter, 0, 0});
  };
  context.holds = [](const HostNode&) { return true; };
  context.provide_group = [](std::uint32_t) { return Status(); };
  context.node_name = node_name;
  return context;
}

/// Returns the advertised IDs of all replicas.
std::vector<std::string> UnitsOf(const PreparedRequest& request, const ResourceSpec& spec) {
  std::vector<std::string> units;
  for (const PreparedDevice& device : request.devices) {
    for (const int replica : device.replicas) {
      units.push_back(AdvertisedId(spec, device.device_id, replica));
    }
  }
  return units;
}

/// Returns the nodes and the hashes of one request, or nothing if a device is not listed.
std::optional<PreparedRequest> DevicesNow(const PreparedRequest& request,
                                          const ServedResource& served) {
  const Snapshot& all = served.devices->snapshot();
  PreparedRequest now = request;
  now.nodes.clear();
  Snapshot snapshot;
  snapshot.spec = all.spec;
  std::string templates;
  for (const PreparedDevice& device : request.devices) {
    const ListedDevice* const listed = FindDevice(all, device.device_id);
    if (listed == nullptr) return std::nullopt;
    for (const DeviceNode& node : listed->device->nodes) {
      now.nodes.push_back(Format("{} {}:{} {}", node.type == FileType::kBlock ? 'b' : 'c',
                                 node.major, node.minor, node.real_path));
    }
    if (FindDevice(snapshot, device.device_id) == nullptr) snapshot.devices.push_back(*listed);
    std::ranges::sort(snapshot.devices, [](const ListedDevice& a, const ListedDevice& b) {
      return IdLess(a.device->id, b.device->id);
    });
    for (const Template* t : DeviceTemplates(*all.spec, listed->device->match)) {
      templates.append(t->text()).push_back('\0');
    }
  }
  templates += Format("{} {}", all.spec->replicas, all.spec->env_separator);
  const auto response =
      RenderRequest(request, snapshot, HostOfSnapshot(snapshot, served.lookups->host().node_name));
  std::string values;
  if (response) {
    for (const auto& [name, value] : response->envs) values += Format("{}={}\n", name, value);
  }
  now.config = HashDigits(templates, 16);
  now.values = HashDigits(values, 16);
  return now;
}

std::string Joined(const std::vector<std::string>& nodes) {
  std::string joined;
  for (const std::string& node : nodes) joined += (joined.empty() ? "" : ", ") + node;
  return joined.empty() ? "no node" : joined;
}

}  // namespace

Result<ContainerResponse> RenderRequest(const PreparedRequest& request, const Snapshot& snapshot,
                                        const AllocationContext& context) {
  AllocationContext of_claim = context;
  of_claim.first_slot = request.first_slot;
  of_claim.needs_nodes = true;
  Snapshot accepted = snapshot;
  for (ListedDevice& listed : accepted.devices) {
    const auto is_planned = [&](const PreparedDevice& d) {
      return d.device_id == listed.device->id;
    };
    if (std::ranges::any_of(request.devices, is_planned)) listed.health = Health::kHealthy;
  }
  return Allocate(accepted, UnitsOf(request, *snapshot.spec), of_claim);
}

Result<std::vector<HookRun>> PlanClaimHooks(Hook hook, const PreparedClaim& plan,
                                            const ServedResources& resources) {
  std::vector<HookRun> runs;
  for (const PreparedRequest& request : plan.requests) {
    if (std::ranges::any_of(request.devices, &PreparedDevice::admin_access)) continue;
    const ServedResource& served = resources.find(request.devices.front().pool)->second;
    const Snapshot& snapshot = served.devices->snapshot();
    const bool has_hook = hook == Hook::kPreStart ? NeedsPreStart(*snapshot.spec)
                                                  : HookOf(*snapshot.spec, hook).has_value();
    if (!has_hook) continue;
    const std::vector<std::string> ids = UnitsOf(request, *snapshot.spec);  // the units refer to it
    const auto units =
        TRY(FindUnits(snapshot, ids, served.lookups->host().node_name, request.first_slot));
    std::vector<Variables> variables;
    variables.reserve(units.size());
    for (const Unit& unit : units) variables.push_back(unit.variables);
    HookCall call = TRY(PlanHook(hook, *snapshot.spec, variables));
    runs.push_back({served.hooks, std::move(call)});
  }
  return runs;
}

Result<ReleasePlan> PlanClaimRelease(const PreparedClaim& prepared,
                                     std::span<const PreparedClaim* const> all,
                                     const ServedResources& resources) {
  // The devices of other claims, then also those that are planned.
  std::set<std::pair<std::string_view, std::string_view>> excluded;
  for (const PreparedClaim* const other : all) {
    if (other->claim.uid == prepared.claim.uid) continue;
    for (const PreparedRequest& request : other->requests) {
      for (const PreparedDevice& device : request.devices) {
        if (!device.admin_access) excluded.emplace(device.pool, device.device);
      }
    }
  }
  ReleasePlan plan;
  for (const PreparedRequest& request : prepared.requests) {
    for (const PreparedDevice& device : request.devices) {
      if (device.admin_access || !excluded.emplace(device.pool, device.device).second) continue;
      auto run = PlanRelease(request, device, resources);
      if (!run && run.error().kind == ErrorKind::kUnavailable) {
        return Fail(
            ErrorKind::kUnavailable,
            Format("the release hook of the device \"{}\" of {} cannot run yet: {}; the "
                   "kubelet will try again, and \"patchbay explain {}\" shows what is "
                   "missing",
                   device.device_id, request.resource, run.error().message, request.resource));
      }
      if (!run) {
        plan.missed.push_back({request.resource, device.device_id, std::move(run).error().message});
      } else if (*run) {
        plan.runs.push_back(**std::move(run));
      }
    }
  }
  return plan;
}

void RecordDevices(const ServedResources& resources, PreparedClaim& record) {
  for (PreparedRequest& request : record.requests) {
    const auto served = resources.find(request.devices.front().pool);
    if (served == resources.end() || served->second.devices == nullptr) continue;
    auto now = DevicesNow(request, served->second);
    if (now) request = *std::move(now);
  }
}

DeviceState CompareDevices(const PreparedClaim& record, const ServedResources& resources) {
  bool is_known = true;
  for (const PreparedRequest& request : record.requests) {
    const auto served = resources.find(request.devices.front().pool);
    const bool is_scanned = served != resources.end() && served->second.devices != nullptr;
    bool is_found = is_scanned;
    for (const PreparedDevice& device : request.devices) {
      if (!is_scanned) break;
      const ListedDevice* const listed =
          FindDevice(served->second.devices->snapshot(), device.device_id);
      if (listed == nullptr || listed->is_missing) {
        return {is_known, Format("the device \"{}\" of {} is missing; connect it again, or delete "
                                 "the pods of the claim",
                                 device.device_id, request.resource)};
      }
      if (listed->never_found) is_found = false;
    }
    if (!is_found) {
      is_known = false;
      continue;
    }
    const auto now = DevicesNow(request, served->second);
    if (now && now->nodes != request.nodes) {
      return {is_known,
              Format("the device \"{}\" of {} has moved from {} to {} since it was given to "
                     "containers; delete the pods of the claim, so that they get it where it is",
                     request.devices.front().device_id, request.resource, Joined(request.nodes),
                     Joined(now->nodes))};
    }
    if (now && now->config == request.config && now->values != request.values) {
      return {is_known,
              Format("the variables of the device \"{}\" of {} have changed since it was given to "
                     "containers; delete the pods of the claim",
                     request.devices.front().device_id, request.resource)};
    }
  }
  return {is_known, ""};
}

}  // namespace patchbay
