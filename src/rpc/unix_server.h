#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "rpc/rpc_server.h"

namespace patchbay {

/// One Unix socket of a RpcServer, for calls of the kubelet. Start and the destructor block for
/// some milliseconds and must not run on the loop.
class UnixServer {
 public:
  /// Serves on `socket`. The path must not be in use: an existing socket is replaced. When Start
  /// returns, the server accepts connections at this path. Fails with kUnavailable.
  static Result<std::unique_ptr<UnixServer>> Start(std::shared_ptr<RpcServer> server,
                                                   std::string socket, RpcHandlers handlers);

  /// Closes the socket and its connections, and removes its file. Calls that are still pending are
  /// canceled. No handler or event is called afterwards.
  ~UnixServer();
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  /// The grace period of pending calls begins now, not with the destructor: servers that stop one
  /// after another share it. Not concurrently with itself. End streams first.
  void BeginStop();

  const std::string& socket() const { return socket_; }

 private:
  UnixServer(std::shared_ptr<RpcServer> server, std::string socket,
             std::shared_ptr<Endpoint> endpoint)
      : server_(std::move(server)), socket_(std::move(socket)), endpoint_(std::move(endpoint)) {}

  const std::shared_ptr<RpcServer> server_;
  const std::string socket_;
  const std::shared_ptr<Endpoint> endpoint_;
  std::optional<std::chrono::steady_clock::time_point> stop_by_;
};

}  // namespace patchbay
