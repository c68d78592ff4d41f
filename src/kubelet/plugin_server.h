#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "kubelet/plugin_service.h"
#include "rpc/unix_server.h"

namespace patchbay {

/// The server on one plugin socket, for one registration of one resource. Start and the
/// destructor block for some milliseconds and must not run on the loop.
class PluginServer {
 public:
  /// Serves on `socket`. The path must not be in use: an existing socket is replaced. When Start
  /// returns, the server accepts connections at this path. Fails with kUnavailable.
  static Result<std::unique_ptr<PluginServer>> Start(std::shared_ptr<RpcServer> rpc,
                                                     std::string socket, PluginBackend backend,
                                                     PluginService::OnStreams on_streams);

  /// Stops the server and removes the socket. No function of the backend is called afterwards.
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  /// Ends all streams immediately; from any thread, at most once. The grace period of other calls
  /// begins now, not with the destructor: servers that stop one after another share it.
  void BeginStop();

  /// Sends a last list and ends each stream once the list was written to it; from any thread.
  void BeginDrain(const std::shared_ptr<const Snapshot>& last) {
    service_.lists().CloseAfter(last);
  }

  const std::string& socket() const { return server_->socket(); }
  /// Returns whether GetDevicePluginOptions was called.
  bool gave_options() const { return service_.gave_options(); }
  /// Sends a list on every stream; from any thread.
  void Announce(const std::shared_ptr<const Snapshot>& snapshot) {
    service_.lists().Offer(snapshot);
  }

 private:
  PluginServer(PluginBackend backend, PluginService::OnStreams on_streams)
      : service_(std::move(backend), std::move(on_streams)) {}

  PluginService service_;
  std::unique_ptr<UnixServer> server_;  ///< destroyed before the service
};

}  // namespace patchbay
