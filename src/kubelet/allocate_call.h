#pragma once

#include <cstddef>
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
/// hang. Then the hook runs, if the resource has one.
///
/// Shared by the threads that continue the call. Does not keep the server or the resource alive.
class AllocateCall : public std::enable_shared_from_this<AllocateCall> {
 public:
  AllocateCall(std::shared_ptr<const PluginBackend> backend, ServerCall& call,
               const v1beta1::AllocateRequest& request);

  /// Does not block. The reply can be finished later, on any thread.
  void Begin();

 private:
  /// The part that the call of the hook keeps. It can outlive the backend.
  struct Answer {
    std::shared_ptr<UnaryReply> reply;
    v1beta1::AllocateResponse response;
    std::vector<int> devices;  ///< the number of devices of each container
    std::shared_ptr<ResourceObserver> observer;
    std::shared_ptr<const DeviceUsage> usage;

    void Finish(const Status& status);
  };

  Status Render(const AllocationContext& context);
  void LookUp();
  void OnRendered();
  void Refuse(const Status& status);

  const std::shared_ptr<const PluginBackend> backend_;
  const std::shared_ptr<Answer> answer_;
  std::vector<std::vector<std::string>> containers_;  ///< the requested IDs of each container
  const std::shared_ptr<const Snapshot> snapshot_;
  Status status_;  ///< of Render
};

}  // namespace patchbay
