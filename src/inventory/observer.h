#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "health/probe.h"
#include "inventory/hook.h"
#include "inventory/standing.h"
#include "model/holders.h"
#include "model/snapshot.h"

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

/// Is told what happens to one resource, so that the parts that do things need not know who counts
/// them. All functions may be called from any thread and return at once.
class ResourceObserver {
 public:
  virtual ~ResourceObserver() = default;

  /// The list changed; this is the newest.
  virtual void OnSnapshot(std::shared_ptr<const Snapshot> snapshot) = 0;
  /// How many devices of the resource others have too, see inventory/shared_nodes.h.
  virtual void OnShared(std::size_t devices) = 0;
  /// A scan of the host ended, and the list has what it found; `complete` if everything could be
  /// read.
  virtual void OnScan(std::chrono::nanoseconds duration, bool complete) = 0;
  /// A probe of a device ended.
  virtual void OnProbe(const std::string& device, const ProbeOutcome& outcome) = 0;
  /// The programs of a hook ended, for all devices that were concerned.
  virtual void OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) = 0;
  /// Who holds the devices changed.
  virtual void OnUsage(std::shared_ptr<const Usage> usage) = 0;
  /// An attempt to register ended.
  virtual void OnRegistration(bool accepted) = 0;
  /// How the resource stands with the kubelet now.
  virtual void OnStanding(const Standing& standing) = 0;
  /// How many ListAndWatch streams are open now.
  virtual void OnStreams(int open) = 0;
  /// A list was sent on one stream.
  virtual void OnListSent() = 0;
  /// A call ended; `code` is the gRPC status in capitals: "OK", "NOT_FOUND".
  virtual void OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) = 0;
  /// One container request of an Allocate was answered, with this many devices, or refused.
  virtual void OnAllocation(bool granted, int devices) = 0;
};

}  // namespace patchbay
