#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "os/host_root.h"

namespace patchbay {

/// What a container gets: the fields of the kubelet's ContainerAllocateResponse as plain values.
struct ContainerResponse {
  struct Mount {
    std::string container_path;
    std::string host_path;
    bool read_only = true;
    bool operator==(const Mount&) const = default;
  };
  struct DeviceSpec {
    std::string container_path;
    std::string host_path;
    std::string permissions;
    bool operator==(const DeviceSpec&) const = default;
  };
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;

  bool operator==(const ContainerResponse&) const = default;
};

/// An environment variable with name, "=" and value: the kernel takes no longer one to a program.
inline constexpr std::size_t kMaxEnv = 131'071;
/// What a container gets of a resource, in bytes: the kubelet takes no answer of more than 4 MiB.
inline constexpr std::size_t kLargestResponse = 3'670'016;  // 3.5 MiB

/// What an allocation needs to know besides the snapshot.
struct AllocationContext {
  /// Where a host path leads right now; a node that went or a link that was retargeted since the
  /// snapshot is found here, and not by the runtime when the container is created.
  std::function<Result<HostNode>(const std::string& host_path)> resolve;
  /// Whether a node is there still as it was found: spares most allocations the longer way.
  std::function<bool(const HostNode& node)> holds;
  std::string node_name;  ///< of the Kubernetes node
};

/// Where devices are allocated.
struct AllocationHost {
  HostRoot host;
  std::string node_name;  ///< of the Kubernetes node
};

/// As the host is now. Lookups can hang with the file system; `on_lookup`, if not null, is called
/// with each path before it is looked up.
AllocationContext AllocationOn(const AllocationHost& host,
                               std::function<void(const std::string& path)> on_lookup = nullptr);
/// The same without ever waiting for a file system. Where the kernel does not have the answer in
/// memory `unknown` becomes true, and the result of Allocate means nothing. Both arguments outlive
/// the context.
AllocationContext CachedAllocationOn(const AllocationHost& host, bool& unknown);

/// The answer to one container request, for devices by the IDs the kubelet sees, in any order,
/// repeated ones counted once. Pure but for what `context` sees; the same arguments give the same
/// answer, and nothing is remembered. No IDs give an empty response.
///
/// Fails with kNotFound for an unknown ID, kPrecondition for an unhealthy device or a node that is
/// gone, kInvalid for more than max_per_container, a conflict of container paths or more than
/// kMaxEnv or kLargestResponse; the message names the ID, the path or the variable.
Result<ContainerResponse> Allocate(const Snapshot& snapshot, std::span<const std::string> ids,
                                   const AllocationContext& context);

/// Why a device can never be allocated, though it is there: a template that lacks a variable or
/// renders to something no container can get. Nothing for a device that can.
std::optional<Rejection> ProblemWithDevice(const std::shared_ptr<const ResourceSpec>& spec,
                                           const Device& device, std::string_view node_name);

}  // namespace patchbay
