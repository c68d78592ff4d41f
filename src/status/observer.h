#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "health/probe.h"
#include "model/match_summary.h"
#include "model/pod_usage.h"
#include "model/snapshot.h"
#include "model/spec.h"
#include "status/registration_status.h"

namespace patchbay {

/// The calls of the kubelet's device plugin API, by their names in metrics.
enum class Rpc {
  kGetDevicePluginOptions,
  kListAndWatch,
  kGetPreferredAllocation,
  kAllocate,
  kPreStartContainer,
};
inline constexpr Rpc kAllRpcs[] = {Rpc::kGetDevicePluginOptions, Rpc::kListAndWatch,
                                   Rpc::kGetPreferredAllocation, Rpc::kAllocate,
                                   Rpc::kPreStartContainer};
/// "GetDevicePluginOptions", …
std::string_view Name(Rpc rpc);

/// The calls of the kubelet to a driver of Dynamic Resource Allocation, by their names in metrics.
enum class DriverRpc {
  kGetInfo,
  kNotifyRegistrationStatus,
  kNodePrepareResources,
  kNodeUnprepareResources,
  kNodeWatchResources,
};
inline constexpr DriverRpc kAllDriverRpcs[] = {
    DriverRpc::kGetInfo, DriverRpc::kNotifyRegistrationStatus, DriverRpc::kNodePrepareResources,
    DriverRpc::kNodeUnprepareResources, DriverRpc::kNodeWatchResources};
/// "GetInfo", …
std::string_view Name(DriverRpc rpc);

/// Receives the events of a driver, like ResourceObserver.
class DriverObserver {
 public:
  virtual ~DriverObserver() = default;

  /// A call ended; `code` is the gRPC status in capitals: "OK", "CANCELLED".
  virtual void OnRpc(DriverRpc rpc, std::string_view code, std::chrono::nanoseconds duration) = 0;
  /// The number of open health streams changed.
  virtual void OnHealthStreams(int open) = 0;
  /// A claim of a call was prepared, or released, or failed. `resource` is empty if its devices are
  /// not known. A claim with devices of several resources ends once for each.
  virtual void OnClaimPrepare(const std::string& resource, bool success,
                              std::chrono::nanoseconds duration) = 0;
  virtual void OnClaimUnprepare(const std::string& resource, bool success) = 0;
};

/// Receives the events of one resource, so that their sources do not depend on metrics and status.
/// All functions may be called from any thread and return immediately.
class ResourceObserver {
 public:
  virtual ~ResourceObserver() = default;

  /// The device list changed to `snapshot`.
  virtual void OnSnapshot(std::shared_ptr<const Snapshot> snapshot) = 0;
  /// The number of devices that another resource lists as well, see inventory/shared_nodes.h.
  virtual void OnShared(std::size_t devices) = 0;
  /// A scan of the host ended and its result is in the list; `complete` if everything could be
  /// read.
  virtual void OnScan(std::chrono::nanoseconds duration, bool complete) = 0;
  /// A probe of a device ended.
  virtual void OnProbe(const std::string& device, const ProbeOutcome& outcome) = 0;
  /// The next probe of a device starts after this time; nothing if the device is not probed.
  virtual void OnNextProbe(const std::string& device,
                           std::optional<std::chrono::nanoseconds> in) = 0;
  /// Why the last scan found no device, match by match; null if the resource has devices.
  virtual void OnExplanation(std::shared_ptr<const MatchSummaries> explanation) = 0;
  /// The programs of a hook ended, for all devices concerned.
  virtual void OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) = 0;
  /// The pods that hold the devices changed.
  virtual void OnUsage(std::shared_ptr<const PodUsage> usage) = 0;
  /// An attempt to register ended.
  virtual void OnRegistration(bool accepted) = 0;
  /// The registration status changed.
  virtual void OnRegistrationStatus(const RegistrationStatus& registration) = 0;
  /// The number of open ListAndWatch streams changed.
  virtual void OnStreams(int open) = 0;
  /// A list was sent on one stream.
  virtual void OnListSent() = 0;
  /// A call ended; `code` is the gRPC status in capitals: "OK", "NOT_FOUND".
  virtual void OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) = 0;
  /// A container request of an Allocate call succeeded, with this number of devices, or failed.
  virtual void OnAllocation(bool granted, int devices) = 0;
};

}  // namespace patchbay
