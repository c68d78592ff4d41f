// The scheduler has chosen the devices. A plan checks its choice against the snapshots and what is
// prepared on this Kubernetes node, because a claim can be older than both. A replica is the unit
// of these checks: an exclusive device has one, so a shared device needs no rules of its own.

#include "dra/claim_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "dra/claim_record.h"

namespace patchbay {
namespace {

/// The fix of most errors: a pod that is deleted and created again gets another allocation.
constexpr std::string_view kScheduleAgain =
    "delete the pod, and the claim unless a template created it, so that the scheduler chooses "
    "again";

std::string ClaimText(const ClaimKey& claim) {
  return Format("ResourceClaim {}/{}", claim.namespace_name, claim.name);
}

/// Returns whether parameters of claims may set the variable for devices of the resource.
bool IsClaimEnv(const ResourceSpec& spec, std::string_view variable) {
  return std::ranges::any_of(spec.claim_env,
                             [&](const auto& prefix) { return variable.starts_with(prefix); });
}

std::int64_t SlotsOf(const PreparedRequest& request) {
  std::int64_t slots = 0;
  for (const PreparedDevice& device : request.devices) slots += std::ssize(device.replicas);
  return slots;
}

/// Plans one claim.
class ClaimPlanner {
 public:
  ClaimPlanner(const ClaimKey& key, const ClaimContext& context)
      : context_(context), plan_{.claim = key, .requests = {}} {}

  Result<PreparedClaim> Plan(const Result<ResourceClaim>& claim);

 private:
  Status Check(const Result<ResourceClaim>& read) const;
  Status Add(const AllocatedDevice& allocated, const ResourceClaim& claim);
  Result<std::vector<int>> TakeReplicas(const AllocatedDevice& allocated, int replicas) const;
  Failure NoFreeReplica(const ClaimKey& other, bool is_shared) const;

  const ClaimContext& context_;
  PreparedClaim plan_;
};

Status ClaimPlanner::Check(const Result<ResourceClaim>& read) const {
  if (!read) {
    const Error& error = read.error();
    if (error.kind != ErrorKind::kNotFound) return Failure(error);
    return Fail(ErrorKind::kNotFound,
                "the claim no longer exists at the API server; delete the pod that uses it, and "
                "create the claim again unless a template does");
  }
  const ResourceClaim& claim = *read;
  if (claim.key.uid != plan_.claim.uid) {
    return Fail(ErrorKind::kPrecondition,
                Format("the claim has the UID {}, and the pod uses the UID {}: it was deleted and "
                       "created again; delete the pod, so that it uses the new claim",
                       claim.key.uid, plan_.claim.uid));
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
                       context_.driver));
  }
  return {};
}

/// `other` has a replica that the claim needs.
Failure ClaimPlanner::NoFreeReplica(const ClaimKey& other, bool is_shared) const {
  if (other.uid == plan_.claim.uid) {
    return Fail(
        ErrorKind::kPrecondition,
        Format("is allocated to the claim more often than it has units; {}", kScheduleAgain));
  }
  return Fail(ErrorKind::kPrecondition,
              Format("{} prepared for the {} (UID {}); wait until the pods of that claim have "
                     "ended, or delete them; only if none of its containers runs on this node and "
                     "the kubelet does not know it any more, remove {}/{}",
                     is_shared ? "has too few free slots: one of them is" : "is already",
                     ClaimText(other), other.uid, context_.records, RecordName(other.uid)));
}

/// Returns free replicas of the device: those that the claim had before, then the lowest ones.
Result<std::vector<int>> ClaimPlanner::TakeReplicas(const AllocatedDevice& allocated,
                                                    int replicas) const {
  if (allocated.admin_access) return std::vector<int>{0};
  // Replicas beyond those of the configuration are counted: before a reload, there were more.
  std::map<int, const ClaimKey*> taken;
  std::vector<int> had;
  std::vector<const PreparedClaim*> holders(context_.prepared.begin(), context_.prepared.end());
  holders.push_back(&plan_);
  for (const PreparedClaim* const holder : holders) {
    const bool is_taken = holder == &plan_ || holder->claim.uid != plan_.claim.uid;
    for (const PreparedRequest& request : holder->requests) {
      for (const PreparedDevice& device : request.devices) {
        if (device.pool != allocated.pool || device.device != allocated.device) continue;
        if (device.admin_access) continue;
        // Only exclusive allocations have no share ID.
        const bool is_exclusive = device.share_id.empty() || allocated.share_id.empty();
        if (is_taken && is_exclusive) return NoFreeReplica(holder->claim, false);
        for (const int replica : device.replicas) {
          if (is_taken) taken.emplace(replica, &holder->claim);
        }
        if (!is_taken && device.share_id == allocated.share_id) had = device.replicas;
      }
    }
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
  return NoFreeReplica(*taken.begin()->second, replicas > 1);
}

Status ClaimPlanner::Add(const AllocatedDevice& allocated, const ResourceClaim& claim) {
  const auto pool = context_.pools.find(allocated.pool);
  if (pool == context_.pools.end()) {
    std::vector<std::string_view> names;
    names.reserve(context_.pools.size());
    for (const auto& [name, devices] : context_.pools) names.push_back(name);
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
  std::vector<int> replicas = TRY(TakeReplicas(allocated, spec.replicas));
  PreparedDevice device{.pool = allocated.pool,
                        .device = allocated.device,
                        .device_id = listed->device->id,
                        .share_id = allocated.share_id,
                        .replicas = std::move(replicas),
                        .admin_access = allocated.admin_access};
  const std::string_view name = MainRequest(allocated.request);
  auto request = std::ranges::find_if(plan_.requests, [&](const PreparedRequest& other) {
    return other.request == name && other.resource == spec.name;
  });
  if (request == plan_.requests.end()) {
    plan_.requests.push_back({.request = std::string(name), .resource = spec.name});
    request = std::prev(plan_.requests.end());
    if (name != allocated.request) request->subrequest = allocated.request;
  }
  request->devices.push_back(std::move(device));
  const auto slots = SlotsOf(*request);
  if (spec.max_per_container > 0 && slots > spec.max_per_container) {
    return Fail(ErrorKind::kInvalid,
                Format("is number {} of the request \"{}\", and the resource \"{}\" has "
                       "max_per_container = {}; request fewer devices",
                       slots, name, spec.name, spec.max_per_container));
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
  return {};
}

Result<PreparedClaim> ClaimPlanner::Plan(const Result<ResourceClaim>& claim) {
  TRY(Check(claim));
  plan_.pod_claim_name = claim->pod_claim_name;
  for (const AllocatedDevice& allocated : claim->devices) {
    Status added = Add(allocated, *claim);
    if (added) continue;
    added.error().message = Format("the device \"{}\" of the pool \"{}\" {}", allocated.device,
                                   allocated.pool, added.error().message);
    return Failure(std::move(added).error());
  }
  std::map<std::string_view, std::int64_t> slots;
  for (PreparedRequest& request : plan_.requests) {
    std::int64_t& used = slots[request.resource];
    request.first_slot = std::exchange(used, used + SlotsOf(request));
  }
  return std::exchange(plan_, {});
}

}  // namespace

Result<PreparedClaim> PlanClaim(const ClaimKey& key, const Result<ResourceClaim>& claim,
                                const ClaimContext& context) {
  auto plan = ClaimPlanner(key, context).Plan(claim);
  if (!plan) {
    std::string& message = plan.error().message;
    message = Printable(Format("{}: {}", ClaimText(key), message));
  }
  return plan;
}

}  // namespace patchbay
