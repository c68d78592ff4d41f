#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "rpc/pending_calls.h"

namespace patchbay {

/// The response to a unary call, with its code and duration for metrics. It is finished once,
/// on any thread, immediately or later. gRPC finishes it if the server stops or the kubelet
/// disconnects; a response that is finished later is dropped.
class UnaryReply {
 public:
  /// Called once, when the call is finished, on any thread; must not block. `code` is the gRPC
  /// status in capitals: "OK", "NOT_FOUND".
  using OnEnd = std::function<void(std::string_view code, std::chrono::nanoseconds duration)>;

  /// If `pending` is not null, the call is listed there with `subject` until it is finished.
  /// `on_cancel` is called if gRPC finishes the call, on one of its threads; must not block.
  static std::shared_ptr<UnaryReply> Begin(OnEnd on_end,
                                           std::shared_ptr<PendingCalls> pending = nullptr,
                                           std::string subject = "",
                                           std::function<void()> on_cancel = nullptr);
  explicit UnaryReply(OnEnd on_end) : on_end_(std::move(on_end)) {}

  /// The service returns this to gRPC, which deletes it after the call.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  /// Returns whether the response is sent; if so, `before` is called first.
  bool Finish(const Status& status, const std::function<void()>& before = nullptr);

 private:
  class Reactor;
  bool FinishOnce(const grpc::Status& status, const std::function<void()>& before = nullptr);

  const OnEnd on_end_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  grpc::ServerUnaryReactor* reactor_ = nullptr;
  std::shared_ptr<PendingCalls> pending_;
  PendingCalls::Entries::iterator entry_;  ///< valid if `pending_` is not null
  std::atomic<bool> finished_ = false;
};

}  // namespace patchbay
