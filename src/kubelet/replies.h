#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "inventory/observer.h"
#include "kubelet/pending_calls.h"

namespace patchbay {

/// The answer to a unary call, counted and timed from its making. It is finished once, on any
/// thread: by whoever has the answer, at once or later, or by gRPC when nobody waits for it any
/// more, since the server has to go or the kubelet went; what comes after that is dropped.
class Reply {
 public:
  /// Where `pending` is not null, the call is listed there until it is finished.
  static std::shared_ptr<Reply> Begin(std::shared_ptr<ResourceObserver> observer, Rpc rpc,
                                      std::shared_ptr<PendingCalls> pending = nullptr,
                                      std::string resource = "");
  Reply(std::shared_ptr<ResourceObserver> observer, Rpc rpc);

  /// What the service returns to gRPC, which deletes it some time after that.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  /// Returns whether somebody still waited; `before` is called if so, before the answer goes out.
  bool Finish(const Status& status, const std::function<void()>& before = nullptr);

 private:
  class Reactor;
  bool FinishOnce(const grpc::Status& status, const std::function<void()>& before = nullptr);

  const std::shared_ptr<ResourceObserver> observer_;
  const Rpc rpc_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  grpc::ServerUnaryReactor* reactor_ = nullptr;
  std::shared_ptr<PendingCalls> pending_;
  PendingCalls::Entries::iterator entry_;  ///< where there is `pending_`
  std::atomic<bool> finished_ = false;
};

}  // namespace patchbay
