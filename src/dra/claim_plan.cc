// The scheduler has chosen the devices. A plan checks its choice against the snapshots and what is
// prepared on this Kubernetes node, because a claim can be older than both. A replica is the unit
// of these checks: an exclusive device has one, so a shared device needs no rules of its own.

#include "dra/claim_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// The fix of most errors: a pod that is deleted and created again gets another allocation.
constexpr std::string_view kScheduleAgain =
    "delete the pod, and the claim unless a template created it, so that the scheduler chooses "
    "again";

std::string ClaimText(const ClaimKey& claim) {
  return Format("ResourceClaim {}/{}", claim.namespace_name, claim.name);
}

/// `other` has a replica that the claim needs.
Failure NoFreeReplica(const ClaimKey& claim, const PreparedUse& use, bool is_shared) {
  const ClaimKey& other = use.claim;
  if (other.uid == claim.uid) {
    return Fail(
        ErrorKind::kPrecondition,
        Format("is allocated to the claim more often than it has units; {}", kScheduleAgain));
  }
  return Fail(ErrorKind::kPrecondition,
              Format("{} prepared for the {} (UID {}); wait until the pods of that claim have "
                     "ended, or delete them; only if none of its containers runs on this node and "
                     "the kubelet does not know it any more, remove {}",
                     is_shared ? "has too few free slots: one of them is" : "is already",
                     ClaimText(other), other.uid, use.file));
}

/// Returns whether parameters of claims may set the variable for devices of the resource.
bool IsClaimEnv(const ResourceSpec& spec, std::string_view variable) {
  return std::ranges::any_of(spec.claim_env,
                             [&](const auto& prefix) { return variable.starts_with(prefix); });
}

class ClaimPlanner {
 public:
  ClaimPlanner(std::string_view driver, const ServedPools& pools,
               std::span<const PreparedUse> prepared)
      : driver_(driver), pools_(pools), prepared_(prepared.begin(), prepared.end()) {}

  Result<ClaimPlan> Plan(const ClaimRequest& request);

 private:
  Status Check(const ClaimRequest& request) const;
  Status Add(const AllocatedDevice& allocated, const ResourceClaim& claim, ClaimPlan& plan);
  Result<std::vector<int>> TakeReplicas(const AllocatedDevice& allocated, const ClaimKey& claim,
                                        int replicas) const;

  const std::string_view driver_;
  const ServedPools& pools_;
  std::vector<PreparedUse> prepared_;  ///< with those of the current plan at the end
  std::size_t planned_from_ = 0;       ///< the index of the first one of the current plan
};

Status ClaimPlanner::Check(const ClaimRequest& request) const {
  if (!request.claim) {
    const Error& error = request.claim.error();
    if (error.kind != ErrorKind::kNotFound) return Failure(error);
    return Fail(ErrorKind::kNotFound,
                "the claim no longer exists at the API server; delete the pod that uses it, and "
                "create the claim again unless a template does");
  }
  const ResourceClaim& claim = *request.claim;
  if (claim.key.uid != request.key.uid) {
    return Fail(ErrorKind::kPrecondition,
                Format("the claim has the UID {}, and the pod uses the UID {}: it was deleted and "
                       "created again; delete the pod, so that it uses the new claim",
                       claim.key.uid, request.key.uid));
  }
  if (!claim.is_allocated) {
    return Fail(ErrorKind::kPrecondition,
                "the claim has no allocation; delete the pod, so that the scheduler allocates the "
                "claim for a new one");
  }
  if (claim.devices.empty()) {
    return Fail(ErrorKind::kPrecondition,
                Format("no device of the driver \"{}\" is allocated to the claim; check the driver "
                       "in the selectors of its device classes",
                       driver_));
  }
  return {};
}

/// Returns free replicas of the device: those that the claim had before, then the lowest ones.
Result<std::vector<int>> ClaimPlanner::TakeReplicas(const AllocatedDevice& allocated,
                                                    const ClaimKey& claim, int replicas) const {
  if (allocated.admin_access) return std::vector<int>{0};
  // Replicas beyond those of the configuration are counted: before a reload, there were more.
  std::map<int, const PreparedUse*> taken;
  std::vector<int> had;
  for (std::size_t i = 0; i < prepared_.size(); ++i) {
    const PreparedUse& use = prepared_[i];
    const PlannedDevice& device = use.device;
    if (device.pool != allocated.pool || device.device != allocated.device) continue;
    if (device.admin_access) continue;
    const bool is_taken = i >= planned_from_ || use.claim.uid != claim.uid;
    // Only exclusive allocations have no share ID.
    const bool is_exclusive = device.share_id.empty() || allocated.share_id.empty();
    if (is_taken && is_exclusive) return NoFreeReplica(claim, use, false);
    for (const int replica : device.replicas) {
      if (is_taken) taken.emplace(replica, &use);
    }
    if (!is_taken && device.share_id == allocated.share_id) had = device.replicas;
  }
  std::vector<int> free;
  const auto add = [&](int replica) {
    if (replica >= 0 && replica < replicas && !taken.contains(replica) &&
        std::ranges::count(free, replica) == 0) {
      free.push_back(replica);
    }
  };
  std::ranges::for_each(had, add);
  const auto wanted = allocated.slots;
  for (int replica = 0; replica < replicas && std::ssize(free) < wanted; ++replica) add(replica);
  if (std::ssize(free) >= wanted && std::ssize(taken) + wanted <= replicas) {
    free.resize(static_cast<std::size_t>(wanted));
    std::ranges::sort(free);
    return free;
  }
  if (taken.empty()) {
    return Fail(ErrorKind::kPrecondition,
                Format("has {} slots, and {} are allocated to the claim; {}", replicas, wanted,
                       kScheduleAgain));
  }
  return NoFreeReplica(claim, *taken.begin()->second, replicas > 1);
}

Status ClaimPlanner::Add(const AllocatedDevice& allocated, const ResourceClaim& claim,
                         ClaimPlan& plan) {
  const auto pool = pools_.find(allocated.pool);
  if (pool == pools_.end()) {
    std::vector<std::string_view> names;
    names.reserve(pools_.size());
    for (const auto& [name, devices] : pools_) names.push_back(name);
    return Fail(
        ErrorKind::kNotFound,
        Format("is in a pool that this node does not serve, {}; if its resource was removed "
               "from the configuration, add it again; otherwise {}",
               ListNames(names), kScheduleAgain));
  }
  if (pool->second == nullptr) {
    return Fail(
        ErrorKind::kUnavailable,
        "is of a resource that was not scanned yet since Patchbay started; the kubelet will "
        "try again");
  }
  const ListedDevice* const listed = pool->second->Find(allocated.device);
  const ResourceSpec& spec = *pool->second->snapshot().spec;
  if (listed != nullptr && listed->never_found && !listed->is_missing) {
    return Fail(ErrorKind::kPrecondition,
                Format("was not found since Patchbay started, because not all places could be "
                       "read; \"patchbay explain {}\" lists them",
                       QuoteShell(spec.name)));
  }
  if (listed == nullptr || listed->is_missing) {
    return Fail(ErrorKind::kNotFound,
                Format("does not exist on this node; \"patchbay devices {}\" lists those that do; "
                       "connect it again, or {}",
                       QuoteShell(spec.name), kScheduleAgain));
  }
  const bool can_be_unhealthy = allocated.admin_access || allocated.tolerates_unhealthy;
  if (listed->health != Health::kHealthy && !can_be_unhealthy) {
    return Fail(ErrorKind::kPrecondition,
                Format("is unhealthy: {}; fix the device, or {}", listed->reason, kScheduleAgain));
  }
  PlannedDevice device;
  device.replicas = TRY(TakeReplicas(allocated, plan.claim, spec.replicas));
  device.pool = allocated.pool;
  device.device = allocated.device;
  device.device_id = listed->device->id;
  device.share_id = allocated.share_id;
  device.admin_access = allocated.admin_access;
  const std::string_view name = MainRequest(allocated.request);
  auto request = std::ranges::find_if(plan.requests, [&](const PlannedRequest& other) {
    return other.request == name && other.resource == spec.name;
  });
  if (request == plan.requests.end()) {
    plan.requests.push_back({.request = std::string(name), .resource = spec.name});
    request = std::prev(plan.requests.end());
  }
  for (const int replica : device.replicas) {
    request->units.push_back(AdvertisedId(spec, device.device_id, replica));
  }
  if (spec.max_per_container > 0 && std::ssize(request->units) > spec.max_per_container) {
    return Fail(ErrorKind::kInvalid,
                Format("is number {} of the request \"{}\", and the resource \"{}\" has "
                       "max_per_container = {}; request fewer devices",
                       request->units.size(), name, spec.name, spec.max_per_container));
  }
  for (const DeviceConfig& config : claim.configs) {
    const bool applies = config.requests.empty() ||
                         std::ranges::count(config.requests, allocated.request) > 0 ||
                         std::ranges::count(config.requests, name) > 0;
    if (!applies) continue;
    for (const auto& [variable, value] : config.env) {
      if (!IsClaimEnv(spec, variable)) {
        return Fail(
            ErrorKind::kInvalid,
            Format("has parameters, of the claim or its DeviceClass, that set \"{}\", which the "
                   "resource \"{}\" does not allow; remove it, or allow it with "
                   "claim_env = [\"{}\"] in the configuration",
                   variable, spec.name, variable));
      }
      request->env[variable] = value;
    }
  }
  prepared_.push_back({plan.claim, device});
  request->devices.push_back(std::move(device));
  return {};
}

Result<ClaimPlan> ClaimPlanner::Plan(const ClaimRequest& request) {
  TRY(Check(request));
  ClaimPlan plan{.claim = request.key, .requests = {}};
  planned_from_ = prepared_.size();
  for (const AllocatedDevice& allocated : request.claim->devices) {
    Status added = Add(allocated, *request.claim, plan);
    if (added) continue;
    added.error().message = Format("the device \"{}\" of the pool \"{}\" {}", allocated.device,
                                   allocated.pool, added.error().message);
    prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(planned_from_),
                    prepared_.end());
    return Failure(std::move(added).error());
  }
  std::map<std::string_view, std::int64_t> slots;
  for (PlannedRequest& planned : plan.requests) {
    std::int64_t& used = slots[planned.resource];
    planned.first_slot = std::exchange(used, used + std::ssize(planned.units));
  }
  return plan;
}

}  // namespace

std::vector<Result<ClaimPlan>> PlanClaims(std::span<const ClaimRequest> claims,
                                          std::string_view driver, const ServedPools& pools,
                                          std::span<const PreparedUse> prepared) {
  ClaimPlanner planner(driver, pools, prepared);
  std::vector<Result<ClaimPlan>> plans;
  plans.reserve(claims.size());
  for (const ClaimRequest& request : claims) {
    plans.push_back(planner.Plan(request));
    if (plans.back()) continue;
    std::string& message = plans.back().error().message;
    message = Printable(Format("{}: {}", ClaimText(request.key), message));
  }
  return plans;
}

std::string_view MainRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

}  // namespace patchbay
