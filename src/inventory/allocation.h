#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_spec.h"
#include "inventory/container_response.h"
#include "model/device_list.h"
#include "model/snapshot.h"
#include "os/host_root.h"

namespace patchbay {

/// The inputs of an allocation besides the snapshot. See allocation_host.h for those of a host.
struct AllocationContext {
  /// Resolves a host path now, so that a node that disappeared or a link that changed since the
  /// snapshot fails the admission and not the creation of the container.
  std::function<Result<HostNode>(const std::string& host_path)> resolve;
  /// Returns true if a node is unchanged since the scan; most allocations need no more.
  std::function<bool(const HostNode& node)> holds;
  /// Returns whether a path that `resolve` does not find is missing on the host, see
  /// HostRoot::CanSee. Called only for optional mounts.
  std::function<bool(const std::string& host_path)> can_see;
  /// Makes the CDI device of a group available to the container runtime, for grant_group. Called
  /// only if the resource has it.
  std::function<Status(std::uint32_t gid)> provide_group;
  std::string node_name;        ///< of the Kubernetes node
  NetHook net_hook = {};        ///< for net_device
  std::int64_t first_slot = 0;  ///< the units before, in other requests of the same claim
  bool needs_nodes = false;     ///< each node is resolved, and is in the response
};

/// The maximum number of interfaces of a container if their names or addresses contain {slot}.
inline constexpr int kMaxNetSlots = 16;

/// Returns the response to one container request. The IDs are as advertised, in any order,
/// duplicates count once; no IDs give an empty response. Pure except for `context`.
///
/// Fails with kNotFound for an unknown ID, kPrecondition for an unhealthy device or a missing
/// node, kInvalid for more than max_per_container, a clash of container paths or more than
/// kMaxEnv or kMaxResponse; the message names the ID, the path or the variable. Fails with the
/// error of provide_group.
Result<ContainerResponse> Allocate(const Snapshot& snapshot, std::span<const std::string> ids,
                                   const AllocationContext& context);

/// Makes the CDI devices of the groups available that containers with these devices need: those of
/// an earlier start of the node are gone, and a container that restarts is not allocated again.
/// Devices that cannot be allocated now are left out. Returns the first error of provide_group.
Status ProvideGroups(const ResourceSpec& spec, const DeviceList& devices,
                     const AllocationContext& context);

/// Returns the CDI devices that move the interfaces of the devices, for the responses of the device
/// plugin API. Devices that cannot be allocated now are left out.
CdiSpec NetDevicesOf(const ResourceSpec& spec, const DeviceList& devices,
                     const std::string& node_name, const NetHook& hook);

/// Allocates devices of one resource for a test, one after the other.
class AllocationTrial {
 public:
  /// `spec` must outlive it.
  AllocationTrial(const ResourceSpec& spec, std::string_view node_name);
  AllocationTrial(const AllocationTrial&) = delete;
  AllocationTrial& operator=(const AllocationTrial&) = delete;

  /// Returns why a device can never be allocated although it is present: a template lacks a
  /// variable or renders to an invalid value. Nothing for any other device.
  std::optional<Rejection> ProblemWith(const Device& device);

 private:
  struct Need {
    std::string_view variable;
    const Template* used_by = nullptr;
  };
  const std::vector<Need>& NeedsOf(std::size_t match);

  const ResourceSpec& spec_;
  AllocationContext context_;
  const Device* device_ = nullptr;  ///< under test
  std::map<std::size_t, std::vector<Need>> needs_;
};

/// Tests one device, see AllocationTrial.
std::optional<Rejection> ProblemWithDevice(const std::shared_ptr<const ResourceSpec>& spec,
                                           const Device& device, std::string_view node_name);

}  // namespace patchbay
