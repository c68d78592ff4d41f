#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// The calls of the kubelet to a driver, by their names in metrics.
enum class DriverRpc {
  kGetInfo,
  kNotifyRegistrationStatus,
  kNodePrepareResources,
  kNodeUnprepareResources,
  kNodeWatchResources,
};
inline constexpr std::string_view kDriverRpcNames[] = {
    "GetInfo", "NotifyRegistrationStatus", "NodePrepareResources", "NodeUnprepareResources",
    "NodeWatchResources"};
constexpr std::string_view Name(DriverRpc rpc) {
  return kDriverRpcNames[static_cast<std::size_t>(rpc)];
}

/// Receives the events of one driver, so that their sources do not depend on metrics and status.
/// All functions may be called from any thread and return immediately.
class DriverObserver {
 public:
  virtual ~DriverObserver() = default;

  /// A call ended; `code` is the gRPC status in capitals: "OK", "CANCELLED".
  virtual void OnRpc(DriverRpc rpc, std::string_view code, std::chrono::nanoseconds duration) = 0;
  /// The kubelet reported that it registered the driver, or why not.
  virtual void OnRegistration(const Status& status) = 0;
  /// The sockets of the driver were created, or cannot be.
  virtual void OnSockets(const Status& status) = 0;
  /// The number of open health streams changed.
  virtual void OnHealthStreams(int open) = 0;
};

}  // namespace patchbay
