#include "kubelet/plugin_server.h"

namespace patchbay {
namespace {

/// A request can contain every device of a resource, which exceeds the 4 MiB default of gRPC.
constexpr int kMaxRequestBytes = 16 * 1024 * 1024;

}  // namespace

Result<std::unique_ptr<PluginServer>> PluginServer::Start(std::string socket, PluginBackend backend,
                                                          ListStreams::OnChange on_streams) {
  std::unique_ptr<PluginServer> plugin(new PluginServer(std::move(backend), std::move(on_streams)));
  plugin->server_ =
      TRY(UnixServer::Start(std::move(socket), {&plugin->service_}, kMaxRequestBytes));
  return plugin;
}

void PluginServer::BeginStop() {
  service_.streams().Close();
  server_->BeginStop();
}

PluginServer::~PluginServer() { service_.streams().Close(); }

}  // namespace patchbay
