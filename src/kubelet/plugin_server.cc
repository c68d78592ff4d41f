#include "kubelet/plugin_server.h"

namespace patchbay {

Result<std::unique_ptr<PluginServer>> PluginServer::Start(std::shared_ptr<RpcServer> rpc,
                                                          std::string socket, PluginBackend backend,
                                                          PluginService::OnStreams on_streams) {
  std::unique_ptr<PluginServer> plugin(new PluginServer(std::move(backend), std::move(on_streams)));
  plugin->server_ =
      TRY(UnixServer::Start(std::move(rpc), std::move(socket), plugin->service_.Handlers()));
  return plugin;
}

void PluginServer::BeginStop() {
  service_.lists().Close();
  server_->BeginStop();
}

PluginServer::~PluginServer() { service_.lists().Close(); }

}  // namespace patchbay
