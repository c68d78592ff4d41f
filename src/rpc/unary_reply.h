#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "rpc/pending_calls.h"
#include "rpc/server_call.h"

namespace patchbay {

/// The response to a unary call, with its code and duration for metrics. It is finished once,
/// on any thread, immediately or later. It is finished with CANCELLED if the server stops or the
/// kubelet disconnects; a response that is finished later is dropped.
class UnaryReply {
 public:
  /// Called once, when the call is finished, on any thread; must not block. `code` is the gRPC
  /// status in capitals: "OK", "NOT_FOUND".
  using OnEnd = std::function<void(std::string_view code, std::chrono::nanoseconds duration)>;
  /// Returns the serialized response.
  using Response = std::function<grpc::ByteBuffer()>;

  /// For the handler of `call`. If `pending` is not null, the call is listed there with `subject`
  /// until it is finished. `on_cancel` is called if the call is canceled, on the thread of the
  /// RpcServer; must not block.
  static std::shared_ptr<UnaryReply> Begin(ServerCall& call, OnEnd on_end,
                                           std::shared_ptr<PendingCalls> pending = nullptr,
                                           std::string subject = "",
                                           std::function<void()> on_cancel = nullptr);
  UnaryReply(ServerCall& call, OnEnd on_end) : call_(call), on_end_(std::move(on_end)) {}

  /// Returns whether the response is sent; if so, `response` is called first, also after a failure.
  /// Without it, the response is an empty message.
  bool Finish(const Status& status, const Response& response = nullptr);

 private:
  class CallEvents;
  bool FinishOnce(const grpc::Status& status, const Response& response = nullptr);

  ServerCall& call_;  ///< valid until the reply is finished
  const OnEnd on_end_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::shared_ptr<PendingCalls> pending_;
  PendingCalls::Entries::iterator entry_;  ///< valid if `pending_` is not null
  std::atomic<bool> finished_ = false;
};

}  // namespace patchbay
