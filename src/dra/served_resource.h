#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dra/claim.h"
#include "dra/wanted_pool.h"
#include "hooks/hook_runner.h"
#include "inventory/host_lookups.h"

namespace patchbay {

/// A resource that the driver serves on this Kubernetes node, as it is now.
struct ServedResource {
  /// Null before the first scan of the host. Then the other pointers can be null, too.
  std::shared_ptr<const NamedDevices> devices = nullptr;
  std::shared_ptr<HookRunner> hooks = nullptr;
  std::shared_ptr<HostLookups> lookups = nullptr;
  bool has_release = true;  ///< before the first scan: the resource may have a release hook
  /// Called on the loop if a device that is listed cannot be used: the list is outdated.
  std::function<void()> on_stale_list = [] {};
};
/// By the name of the pool.
using ServedResources = std::map<std::string, ServedResource, std::less<>>;

/// Returns the response of Allocate to the units of a request. Devices that the plan accepted
/// although they are unhealthy, because the claim tolerates it, count as healthy. Fails like
/// Allocate.
Result<ContainerResponse> RenderRequest(const PreparedRequest& request, const Snapshot& snapshot,
                                        const AllocationContext& context);

/// A call of a hook, and the runner of its resource.
struct HookRun {
  std::shared_ptr<HookRunner> runner;
  HookCall call;
};

/// Returns the runs of kAllocate or kPreStart for the devices of a plan, whose resources are
/// served. Devices with admin access have none: they can be in use by others, so nothing may change
/// their state. Fails with kInvalid if a template cannot be rendered. Pure.
Result<std::vector<HookRun>> PlanClaimHooks(Hook hook, const PreparedClaim& plan,
                                            const ServedResources& resources);

/// A release hook that cannot run.
struct MissedRelease {
  std::string resource;
  std::string device;  ///< its ID
  std::string reason;
};
struct ReleasePlan {
  std::vector<HookRun> runs;
  std::vector<MissedRelease> missed;  ///< the resource or the device is gone
};

/// Returns the runs of kRelease for the devices of a claim that no other claim of `all` has, one
/// for each. Devices with admin access have none and do not count. Fails with kUnavailable while it
/// is not known whether a device that needs its hook exists. Pure.
Result<ReleasePlan> PlanClaimRelease(const PreparedClaim& prepared,
                                     std::span<const PreparedClaim* const> all,
                                     const ServedResources& resources);

/// Where the devices of a prepared claim are now.
struct DeviceState {
  bool is_known = true;     ///< false: a resource is not served, or a device was not scanned yet
  std::string reason = {};  ///< not empty: a device is gone, or has other nodes or variables
};

/// Sets the nodes and the hashes of a record to the devices as they are.
void RecordDevices(const ServedResources& resources, PreparedClaim& record);

/// Compares the devices of a record with RecordDevices. Variables are compared while the resource
/// has the same templates. Pure.
DeviceState CompareDevices(const PreparedClaim& record, const ServedResources& resources);

}  // namespace patchbay
