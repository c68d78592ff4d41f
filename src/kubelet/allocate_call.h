#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kubelet/plugin_service.h"
#include "kubelet/unary_reply.h"

namespace patchbay {

/// One call of Allocate. It is answered on gRPC's thread by what the kernel has in memory of the
/// host's files; where that is not enough, all of it is done again on a thread of HostLookups. Then
/// the hook runs, if the resource has one.
///
/// Shared by whoever continues it. It does not keep the server or the resource, which may end
/// first.
class AllocateCall : public std::enable_shared_from_this<AllocateCall> {
 public:
  AllocateCall(std::shared_ptr<const PluginBackend> backend,
               const v1beta1::AllocateRequest& request, v1beta1::AllocateResponse* response);

  /// Returns at once; the reply may be finished later, on any thread.
  void Begin();
  grpc::ServerUnaryReactor* reactor() const { return answer_->reply->reactor(); }

 private:
  /// Of it the hook's call holds nothing else, and it outlives the backend.
  struct Answer {
    std::shared_ptr<UnaryReply> reply;
    v1beta1::AllocateResponse* response;  ///< gRPC's, until the reply is finished
    v1beta1::AllocateResponse rendered;
    std::vector<int> devices;  ///< how many each container asked for
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
  std::vector<std::vector<std::string>> containers_;  ///< the IDs that each asked for
  const std::shared_ptr<const Snapshot> snapshot_;
  Status status_;  ///< of Render
};

}  // namespace patchbay
