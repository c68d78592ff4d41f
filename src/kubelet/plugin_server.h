#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kubelet/plugin_service.h"

namespace patchbay {

/// Initializes gRPC for the life of the process. Otherwise gRPC shuts down with the last server or
/// call and starts again with the next. Its shutdown occasionally waits ten seconds for a sleeping
/// thread of its own, and the next call waits as well.
void InitGrpc();

/// The gRPC server on one plugin socket, for one registration of one resource. Start and the
/// destructor block for some milliseconds and must not run on the loop.
class PluginServer {
 public:
  /// Serves on `socket`. The path must not be in use: gRPC silently replaces an existing socket.
  /// When Start returns, the server accepts connections at this path. Fails with kUnavailable.
  static Result<std::unique_ptr<PluginServer>> Start(std::string socket, PluginBackend backend,
                                                     ListStreams::OnChange on_streams);

  /// Stops the server and removes the socket. No function of the backend is called afterwards.
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  /// Ends all streams immediately; from any thread, at most once. The grace period of other calls
  /// begins now, not with the destructor: servers that stop one after another share it.
  void BeginStop();

  /// Sends a last list and ends each stream once the list was written to it; from any thread.
  void BeginDrain(const std::shared_ptr<const Snapshot>& last) {
    service_.streams().CloseAfter(last);
  }

  const std::string& socket() const { return socket_; }
  /// Sends a list on every stream; from any thread.
  void Announce(const std::shared_ptr<const Snapshot>& snapshot) {
    service_.streams().Offer(snapshot);
  }

 private:
  PluginServer(std::string socket, PluginBackend backend, ListStreams::OnChange on_streams)
      : socket_(std::move(socket)), service_(std::move(backend), std::move(on_streams)) {}

  const std::string socket_;
  PluginService service_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<std::chrono::system_clock::time_point> stop_by_;
};

}  // namespace patchbay
