#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/net_hook.h"
#include "model/container_paths.h"
#include "os/host_root.h"

namespace patchbay {

/// The fields of the kubelet's ContainerAllocateResponse as plain values.
struct ContainerResponse {
  struct Mount {
    std::string container_path;
    std::string host_path;
    bool read_only = true;
    std::string real_path = {};  ///< of host_path, if it is a link to a node of the device
    bool operator==(const Mount&) const = default;
  };
  struct DeviceSpec {
    std::string container_path;
    std::string host_path;
    std::string permissions;
    std::optional<HostNode> node = {};  ///< set if AllocationContext::needs_nodes
    bool operator==(const DeviceSpec&) const = default;
  };
  struct Network {
    NetMove move;
    CdiHook hook;  ///< that moves it
    bool operator==(const Network&) const = default;
  };
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  /// The interfaces that move. The device plugin API has no hooks, so `cdi_devices` name them too.
  std::vector<Network> networks = {};

  bool operator==(const ContainerResponse&) const = default;
};

/// The maximum size of an environment variable in bytes, with name and "=": a limit of the kernel.
inline constexpr std::size_t kMaxEnv = 131'071;
/// The maximum size of a response in bytes. The kubelet accepts 4 MiB.
inline constexpr std::size_t kMaxResponse = 3'670'016;  // 3.5 MiB

/// Returns the paths of a response for FindPathClash, as views. `owner` is for messages.
std::vector<ContainerPath> PathsOf(const ContainerResponse& response, std::string_view owner = {});

/// Fails with kInvalid if two paths clash, or for more than kMaxEnv or kMaxResponse, which the
/// kubelet, the runtime or the kernel would reject later with an error that names no cause.
Status CheckResponse(const ContainerResponse& response);

}  // namespace patchbay
