#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kubelet/pending_calls.h"
#include "status/observer.h"

namespace patchbay {

/// The response to a unary call, with its count and duration for the observer. It is finished once,
/// on any thread, immediately or later. gRPC finishes it if the server stops or the kubelet
/// disconnects; a response that is finished later is dropped.
class UnaryReply {
 public:
  /// If `pending` is not null, the call is listed there until it is finished.
  static std::shared_ptr<UnaryReply> Begin(std::shared_ptr<ResourceObserver> observer, Rpc rpc,
                                           std::shared_ptr<PendingCalls> pending = nullptr,
                                           std::string resource = "");
  UnaryReply(std::shared_ptr<ResourceObserver> observer, Rpc rpc);

  /// The service returns this to gRPC, which deletes it after the call.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  /// Returns whether the response is sent; if so, `before` is called first.
  bool Finish(const Status& status, const std::function<void()>& before = nullptr);

 private:
  class Reactor;
  bool FinishOnce(const grpc::Status& status, const std::function<void()>& before = nullptr);

  const std::shared_ptr<ResourceObserver> observer_;
  const Rpc rpc_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  grpc::ServerUnaryReactor* reactor_ = nullptr;
  std::shared_ptr<PendingCalls> pending_;
  PendingCalls::Entries::iterator entry_;  ///< valid if `pending_` is not null
  std::atomic<bool> finished_ = false;
};

}  // namespace patchbay
