#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// Returns whether the server on a socket accepts a connection and responds, within two seconds.
/// gRPC 1.51 never accepts again after it had no file descriptor for a connection
/// (src/core/lib/iomgr/tcp_server_posix.cc). Blocks.
bool IsAccepting(const std::string& socket);

/// A gRPC server on one Unix socket, for calls of the kubelet. Start and the destructor block for
/// some milliseconds and must not run on the loop.
class UnixServer {
 public:
  /// Serves on `socket`. The path must not be in use: gRPC silently replaces an existing socket.
  /// When Start returns, the server accepts connections at this path. Fails with kUnavailable. The
  /// services must outlive the server. A request of more than `max_request_bytes` is rejected with
  /// RESOURCE_EXHAUSTED.
  static Result<std::unique_ptr<UnixServer>> Start(std::string socket,
                                                   const std::vector<grpc::Service*>& services,
                                                   int max_request_bytes);

  /// Stops the server and removes the socket. Calls that are still pending are cancelled. No
  /// service is called afterwards.
  ~UnixServer();
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  /// The grace period of pending calls begins now, not with the destructor: servers that stop one
  /// after another share it. Not concurrently with itself. End streams first.
  void BeginStop();

  const std::string& socket() const { return socket_; }

 private:
  explicit UnixServer(std::string socket) : socket_(std::move(socket)) {}

  const std::string socket_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<std::chrono::system_clock::time_point> stop_by_;
};

}  // namespace patchbay
