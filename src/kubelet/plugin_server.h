#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kubelet/plugin_service.h"

namespace patchbay {

/// Has gRPC stay until the process ends. Otherwise it goes with the last server or call and comes
/// with the next, and going takes ten seconds now and then: it waits for a thread of its own that
/// sleeps so long, and whatever is to come waits as well.
void KeepGrpc();

/// One gRPC server on one socket, for one registration of one resource. Starting and stopping block
/// for some milliseconds and are not for the loop.
class PluginServer {
 public:
  /// Serves on `socket`, a path that nobody uses yet: gRPC takes an occupied one over in silence.
  /// When Start returns, the server accepts connections at this path. Fails with kUnavailable.
  static Result<std::unique_ptr<PluginServer>> Start(std::string socket, PluginBackend backend,
                                                     ListStreams::OnChange on_streams);

  /// Stops completely and removes the socket. After that no function of the backend is called any
  /// more.
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  /// Ends all streams at once; from any thread, at most once. Other calls have a moment from now to
  /// end, also if the destructor is long in coming: servers that wait for one another share it.
  void BeginStop();

  /// Tells the kubelet a last list, and ends its streams once they have taken it; from any thread.
  void BeginRetreat(const std::shared_ptr<const Snapshot>& last) {
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
