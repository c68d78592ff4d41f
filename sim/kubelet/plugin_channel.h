#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace patchbay {

/// The flow-control window of a connection.
enum class FlowCredit {
  kUsual,
  kLeast,  ///< for a slow reader: the windows of HTTP/2 never grow
};

/// Returns the name of a gRPC status code in Go: "DeadlineExceeded".
const char* GoName(grpc::StatusCode code);

/// A connection to one socket of a plugin with the options of the kubelet's client: insecure, at
/// most 4 MiB per received message, without keepalive, not shared.
///
/// Thread-safe. Calls block, without a deadline unless one is given. Close ends all calls within
/// 100 ms.
class PluginChannel {
 public:
  /// `authority` is the `:authority` of calls. Does not connect before Dial.
  PluginChannel(const std::string& path, const std::string& authority,
                FlowCredit credit = FlowCredit::kUsual);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  /// Waits until the connection has exchanged HTTP/2 settings. Retries while the socket is missing
  /// or rejects the connection. Fails with kUnavailable.
  Status Dial(std::chrono::milliseconds timeout);

  /// Waits until the state of the connection is no longer `last`, and asks for a connection.
  /// Returns the new state, or nothing after Close.
  std::optional<grpc_connectivity_state> AwaitChange(grpc_connectivity_state last);

  /// Registers a call for Close and Cancel during its lifetime.
  class Call {
   public:
    enum class Kind { kUnary, kStream };

    explicit Call(PluginChannel& channel, Kind kind = Kind::kUnary);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    grpc::ClientContext& context() { return context_; }

   private:
    friend class PluginChannel;

    PluginChannel& channel_;
    const Kind kind_;
    grpc::ClientContext context_;
  };

  /// Performs `method(context, response)`, a unary call. Fails with kUnavailable and "rpc error:
  /// code = ... desc = ...", the format of Go.
  template <class Response, class Method>
  Result<Response> Unary(Method method, std::optional<std::chrono::milliseconds> deadline = {}) {
    Call call(*this);
    if (deadline) call.context().set_deadline(std::chrono::system_clock::now() + *deadline);
    Response response;
    const grpc::Status status = method(&call.context(), &response);
    if (status.ok()) return response;
    return GoFailure(status);
  }

  /// Cancels the current calls of this kind.
  void Cancel(Call::Kind kind);
  void Close();

 private:
  static Failure GoFailure(const grpc::Status& status);

  const std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  bool closed_ = false;
  std::set<Call*> calls_;
};

}  // namespace patchbay
