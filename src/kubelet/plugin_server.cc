#include "kubelet/plugin_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace patchbay {
namespace {

/// A request may name every device of a resource, so it may be larger than gRPC's 4 MiB.
constexpr int kMaxRequestBytes = 16 * 1024 * 1024;
/// What a call may still take once the server stops; then it is cancelled.
constexpr std::chrono::milliseconds kShutdownGrace{200};

}  // namespace

void KeepGrpc() {
  // What gRPC and protobuf write to stderr by themselves is neither one line nor for
  // administrators, and what matters of it comes back as errors, which are logged; but for last
  // words. GRPC_VERBOSITY brings all of it back.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* line) {
      if (std::strstr(line->message, "assertion failed") != nullptr) {
        std::fprintf(stderr, "gRPC: %s:%d: %s\n", line->file, line->line, line->message);
      }
    });
    google::protobuf::SetLogHandler(nullptr);
  }
  grpc_init();
}

Result<std::unique_ptr<PluginServer>> PluginServer::Start(std::string socket, PluginBackend backend,
                                                          ListStreams::OnChange on_streams) {
  std::unique_ptr<PluginServer> plugin(
      new PluginServer(std::move(socket), std::move(backend), std::move(on_streams)));
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.AddListeningPort("unix:" + plugin->socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin->service_);
  plugin->server_ = builder.BuildAndStart();
  if (plugin->server_ == nullptr) {
    return Fail(ErrorKind::kUnavailable,
                "cannot serve on a socket in " +
                    plugin->socket_.substr(0, plugin->socket_.rfind('/')) +
                    "; see that the directory exists, that this process may write there and that "
                    "its path is not too long");
  }
  return plugin;
}

void PluginServer::BeginStop() {
  service_.streams().Close();
  stop_by_ = std::chrono::system_clock::now() + kShutdownGrace;
}

PluginServer::~PluginServer() {
  if (server_ == nullptr) return;
  if (!stop_by_) BeginStop();
  server_->Shutdown(*stop_by_);
  server_.reset();
  unlink(socket_.c_str());
}

}  // namespace patchbay
