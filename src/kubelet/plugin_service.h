#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "hooks/hook_runner.h"
#include "inventory/allocation.h"
#include "inventory/snapshot_cell.h"
#include "kubelet/device_usage.h"
#include "kubelet/host_lookups.h"
#include "kubelet/list_streams.h"
#include "kubelet/unary_reply.h"
#include "status/observer.h"

namespace patchbay {

/// What the calls of one resource are answered from. Shared, since a server may be on its way to or
/// from another thread when the resource ends.
struct PluginBackend {
  std::string resource;
  std::shared_ptr<const SnapshotCell> snapshot;
  std::shared_ptr<ResourceObserver> observer;
  AllocationHost allocation;
  /// For lookups that may hang. Not kept by calls, since a thread of it may be the last to hold
  /// one.
  std::weak_ptr<HostLookups> lookups;
  /// The kubelet asked for a device that it should not have: its list is out of date. Any thread.
  std::function<void()> on_stale_list;
  std::shared_ptr<const DeviceUsage> usage = std::make_shared<const DeviceUsage>();
  std::shared_ptr<HookRunner> hooks = nullptr;
  /// A call is refused, and why: "allocation refused", "start refused" or "stream refused". Not of
  /// hooks, whose failures HookRunner tells. Any thread.
  std::function<void(const char* what, const std::string& reason)> on_refused =
      [](const char*, const std::string&) {};
  /// Where Allocate and PreStartContainer calls are listed; may be null.
  std::shared_ptr<PendingCalls> pending = nullptr;

  std::shared_ptr<UnaryReply> BeginReply(Rpc rpc) const;
  /// The call of a hook for the units that each container gets.
  Result<HookCall> Plan(Hook hook, const Snapshot& of,
                        const std::vector<std::vector<std::string>>& containers) const;
  /// Runs the hook after what others left of the devices is released.
  void RunAfterRelease(HookCall call, const ResourceSpec& spec, HookRunner::Done done) const;
};

/// The answer to calls that come before the first scan of the host.
Failure NothingScannedYet();

/// The device plugin API of one resource. Answers from the snapshot in hand, on gRPC's threads,
/// without waiting there for anything, and remembers nothing: an Allocate that needs a file system
/// or a hook is answered later, from another thread.
class PluginService final : public v1beta1::DevicePlugin::CallbackService {
 public:
  PluginService(PluginBackend backend, ListStreams::OnChange on_streams)
      : backend_(std::make_shared<const PluginBackend>(std::move(backend))),
        streams_(*backend_->observer, std::move(on_streams),
                 [this](const std::string& why) { backend_->on_refused("stream refused", why); }) {}

  ListStreams& streams() { return streams_; }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty* request,
                                                   v1beta1::DevicePluginOptions* response) override;
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* context, const v1beta1::Empty* request) override;
  grpc::ServerUnaryReactor* GetPreferredAllocation(
      grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
      v1beta1::PreferredAllocationResponse* response) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) override;
  grpc::ServerUnaryReactor* PreStartContainer(
      grpc::CallbackServerContext* context, const v1beta1::PreStartContainerRequest* request,
      v1beta1::PreStartContainerResponse* response) override;

 private:
  const std::shared_ptr<const PluginBackend> backend_;
  ListStreams streams_;
};

/// What the plugin of a resource says of itself, the same in the registration as when asked.
v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec);

}  // namespace patchbay
