#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/plugin_service.h"
#include "rpc/unary_reply.h"

namespace patchbay {

/// The maximum number of containers of a call. The kubelet makes a call for each.
inline constexpr std::size_t kMaxContainers = 64;

/// One call of Allocate. The response is rendered on the thread of the RpcServer if the kernel has
/// all paths in its cache. Otherwise rendering is repeated on a thread of HostLookups, where it can
/// hang. Then the hook runs, if the resource has one, and the response is rendered again: a
/// hook can make devices change their nodes, and the container must get those that the hook saw.
///
/// Shared by the threads that continue the call. Does not keep the server or the resource alive.
class AllocateCall : public std::enable_shared_from_this<AllocateCall> {
 public:
  AllocateCall(const PluginBackend& backend, ServerCall& call,
               const v1beta1::AllocateRequest& request);

  /// Does not block. The reply can be finished later, on any thread.
  void Begin(std::shared_ptr<const PluginBackend> backend);

 private:
  void Render(std::function<void()> then);
  Status Fill(const AllocationContext& context);
  void RunHook(const PluginBackend& backend);
  void Refuse(const Status& status);
  void Finish(const Status& status);

  // Not the backend: the call of the hook would keep its own runner alive.
  const std::shared_ptr<UnaryReply> reply_;
  const std::shared_ptr<ResourceObserver> observer_;
  const std::shared_ptr<const DeviceUsage> usage_;
  const AllocationHost allocation_;
  const std::weak_ptr<HostLookups> lookups_;
  const decltype(PluginBackend::on_stale_list) on_stale_list_;
  const decltype(PluginBackend::on_refused) on_refused_;
  const std::shared_ptr<const Snapshot> snapshot_;
  std::vector<std::vector<std::string>> containers_;  ///< the requested IDs of each container
  v1beta1::AllocateResponse response_;
  Status status_;  ///< of Fill
};

}  // namespace patchbay
