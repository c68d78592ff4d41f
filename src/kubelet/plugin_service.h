#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deviceplugin.pb.h"
#include "hooks/hook_runner.h"
#include "inventory/allocation_host.h"
#include "inventory/host_lookups.h"
#include "inventory/snapshot_cell.h"
#include "kubelet/device_usage.h"
#include "rpc/latest_streams.h"
#include "rpc/unary_reply.h"
#include "status/observer.h"

namespace patchbay {

/// The state that the calls of one resource share. Shared, because a server can still be starting
/// or stopping on another thread when the resource ends.
struct PluginBackend {
  std::string resource;
  std::shared_ptr<const SnapshotCell> snapshot;
  std::shared_ptr<ResourceObserver> observer;
  AllocationHost allocation;
  /// For lookups that can hang. Calls do not keep it alive, because the last reference to a call
  /// can be on one of its threads.
  std::weak_ptr<HostLookups> lookups;
  /// Called if the kubelet requests a device that is not available: its list is outdated. Any
  /// thread.
  std::function<void()> on_stale_list;
  std::shared_ptr<const DeviceUsage> usage = std::make_shared<const DeviceUsage>();
  std::shared_ptr<HookRunner> hooks = nullptr;
  /// Called with the reason if a call is rejected: "allocation refused", "start refused" or "stream
  /// refused". Not for failed hooks, which HookRunner reports. Any thread.
  std::function<void(const char* what, const std::string& reason)> on_refused =
      [](const char*, const std::string&) {};
  /// The pending Allocate and PreStartContainer calls; may be null.
  std::shared_ptr<PendingCalls> pending = nullptr;

  std::shared_ptr<UnaryReply> BeginReply(ServerCall& call, Rpc rpc) const;
  /// Returns the call of a hook for the units of each container.
  Result<HookCall> Plan(Hook hook, const Snapshot& of,
                        const std::vector<std::vector<std::string>>& containers) const;
  /// Runs the hook after the release hooks of the previous containers.
  void RunAfterRelease(HookCall call, const ResourceSpec& spec, HookRunner::Done done) const;
};

/// The response to calls before the first scan of the host.
Failure NothingScannedYet();

/// The device plugin API of one resource. Responds from the current snapshot on the thread of the
/// RpcServer without blocking, and keeps no state. An Allocate call that needs a file system or a
/// hook is answered later from another thread.
class PluginService {
 public:
  /// The ListAndWatch streams.
  using Lists = LatestStreams<Snapshot>;
  using OnStreams = decltype(Lists::Events::on_change);

  PluginService(PluginBackend backend, OnStreams on_streams);

  Lists& lists() { return lists_; }
  /// Returns whether GetDevicePluginOptions was called; from any thread.
  bool gave_options() const { return gave_options_; }

  /// Returns the methods. The service must outlive the server that calls them.
  RpcHandlers Handlers();

 private:
  void GetDevicePluginOptions(ServerCall& call);
  void GetPreferredAllocation(ServerCall& call, const v1beta1::PreferredAllocationRequest& request);
  void PreStartContainer(ServerCall& call, const v1beta1::PreStartContainerRequest& request);

  const std::shared_ptr<const PluginBackend> backend_;
  Lists lists_;
  std::atomic<bool> gave_options_ = false;
};

/// Returns the options of a resource, for Register and for GetDevicePluginOptions.
v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec);

}  // namespace patchbay
