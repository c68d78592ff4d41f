#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace patchbay {

/// One call of a client, unary or with a stream of responses, as bytes: the request was read, and
/// no response was sent yet. Interface, so that services can be tested without a server.
///
/// The handler of the method calls SetEvents before it returns. The call is valid until OnDone.
class ServerCall {
 public:
  /// Called on the thread of the RpcServer, one after another; must not block.
  class Events {
   public:
    virtual ~Events() = default;
    /// The write has ended; `ok` is false if nothing can be sent any more.
    virtual void OnWritten(bool /*ok*/) {}
    /// The client canceled the call or disconnected, or the server stops. Finish must be called,
    /// here or already before.
    virtual void OnCancel() = 0;
    /// The last event; the call is deleted afterwards.
    virtual void OnDone() = 0;
  };

  virtual ~ServerCall() = default;
  /// Valid until the handler returns.
  virtual const grpc::ByteBuffer& request() const = 0;
  /// As the client requested it; the largest time point if there is none.
  virtual std::chrono::system_clock::time_point deadline() const = 0;
  virtual void SetEvents(Events& events) = 0;

  /// Sends a response of a stream. Not before the previous write has ended, and not after Finish.
  /// From any thread, as Finish.
  virtual void Write(const grpc::ByteBuffer& response) = 0;

  /// Ends a stream. Exactly once, instead of the other Finish.
  virtual void Finish(const grpc::Status& status) = 0;
  /// Ends a unary call successfully with its response.
  virtual void Finish(const grpc::ByteBuffer& response) = 0;
};

/// One method of a socket.
struct RpcHandler {
  std::size_t max_request_bytes;  ///< larger requests are rejected with RESOURCE_EXHAUSTED
  /// Called on the thread of the RpcServer; must not block.
  std::function<void(ServerCall&)> run;
};

/// The methods of a socket, by full name: "/v1beta1.DevicePlugin/Allocate". Others are
/// UNIMPLEMENTED.
using RpcHandlers = std::map<std::string, RpcHandler, std::less<>>;

}  // namespace patchbay
