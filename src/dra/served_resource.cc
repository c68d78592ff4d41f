#include "dra/served_resource.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "inventory/replica_ids.h"

namespace patchbay {
namespace {

/// Returns nothing if the resource has no release hook.
Result<std::optional<HookRun>> PlanRelease(const PreparedRequest& request,
                                           const PlannedDevice& device,
                                           const ServedResources& resources) {
  const auto served = resources.find(device.pool);
  if (served == resources.end()) {
    return Fail(ErrorKind::kNotFound, "the resource is no longer served on this node");
  }
  const Snapshot& snapshot = served->second.devices->snapshot();
  if (!snapshot.spec->release) return std::nullopt;
  const ListedDevice* const listed = FindDevice(snapshot, device.device_id);
  if (listed == nullptr) return Fail(ErrorKind::kNotFound, "the device is no longer listed");
  const Variables variables =
      VariablesOf(*listed->device, request.resource, served->second.lookups->host().node_name);
  HookCall call = TRY(PlanHook(Hook::kRelease, *snapshot.spec, {&variables, 1}));
  return HookRun{served->second.hooks, std::move(call)};
}

}  // namespace

Result<ContainerResponse> RenderRequest(const PlannedRequest& request, const Snapshot& snapshot,
                                        const AllocationContext& context) {
  AllocationContext of_claim = context;
  of_claim.first_slot = request.first_slot;
  of_claim.needs_nodes = true;
  Snapshot accepted = snapshot;
  for (ListedDevice& listed : accepted.devices) {
    const auto is_planned = [&](const PlannedDevice& d) {
      return d.device_id == listed.device->id;
    };
    if (std::ranges::any_of(request.devices, is_planned)) listed.health = Health::kHealthy;
  }
  return Allocate(accepted, request.units, of_claim);
}

Result<std::vector<HookRun>> PlanClaimHooks(Hook hook, const ClaimPlan& plan,
                                            const ServedResources& resources) {
  std::vector<HookRun> runs;
  for (const PlannedRequest& request : plan.requests) {
    if (std::ranges::any_of(request.devices, &PlannedDevice::admin_access)) continue;
    const ServedResource& served = resources.find(request.devices.front().pool)->second;
    const Snapshot& snapshot = served.devices->snapshot();
    const bool has_hook = hook == Hook::kPreStart ? NeedsPreStart(*snapshot.spec)
                                                  : HookOf(*snapshot.spec, hook).has_value();
    if (!has_hook) continue;
    const auto units = TRY(
        FindUnits(snapshot, request.units, served.lookups->host().node_name, request.first_slot));
    std::vector<Variables> variables;
    variables.reserve(units.size());
    for (const Unit& unit : units) variables.push_back(unit.variables);
    HookCall call = TRY(PlanHook(hook, *snapshot.spec, variables));
    runs.push_back({served.hooks, std::move(call)});
  }
  return runs;
}

ReleasePlan PlanClaimRelease(const PreparedClaim& prepared, std::span<const PreparedClaim> all,
                             const ServedResources& resources) {
  // The devices of other claims, then also those that are planned.
  std::set<std::pair<std::string_view, std::string_view>> excluded;
  for (const PreparedClaim& other : all) {
    if (other.claim.uid == prepared.claim.uid) continue;
    for (const PreparedRequest& request : other.requests) {
      for (const PlannedDevice& device : request.devices) {
        if (!device.admin_access) excluded.emplace(device.pool, device.device);
      }
    }
  }
  ReleasePlan plan;
  for (const PreparedRequest& request : prepared.requests) {
    for (const PlannedDevice& device : request.devices) {
      if (device.admin_access || !excluded.emplace(device.pool, device.device).second) continue;
      auto run = PlanRelease(request, device, resources);
      if (!run) {
        plan.missed.push_back({request.resource, device.device_id, std::move(run).error().message});
      } else if (*run) {
        plan.runs.push_back(**std::move(run));
      }
    }
  }
  return plan;
}

}  // namespace patchbay
