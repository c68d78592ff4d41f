// A server is started, checked once through its own socket, and only then registered, since the
// kubelet dials it immediately. gRPC waits at the end until pending writes have finished, so the
// connections of a peer that does not read are shut down.

#include "kubelet/plugin_server.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/format.h"
#include "base/log_writer.h"
#include "base/path.h"
#include "kubelet/plugin_sockets.h"

namespace patchbay {
namespace {

/// A request can contain every device of a resource, which exceeds the 4 MiB default of gRPC.
constexpr int kMaxRequestBytes = 16 * 1024 * 1024;
/// Per connection. The kubelet has one stream and a few concurrent calls.
constexpr int kMaxConcurrentCalls = 256;
/// The time for pending calls when the server stops. They are then cancelled.
constexpr std::chrono::milliseconds kShutdownGrace{200};
/// The time after that until open connections are shut down.
constexpr std::chrono::milliseconds kForcedCloseDelay{200};
/// The time limit for a server to accept a connection and to send its settings.
constexpr int kSettingsTimeout = 2000;  // milliseconds
/// The minimum time for connections to close. Breaking them scans all descriptors of the process.
constexpr std::chrono::milliseconds kMinCloseTime{50};

/// Closes the connections of a server that does not stop in time: gRPC waits until pending writes
/// have finished, which a peer that does not read, such as a stopped process, delays indefinitely.
class ForcedClose {
 public:
  ForcedClose(const std::string& socket, std::chrono::system_clock::time_point when) {
    try {
      thread_ = std::thread([this, socket, when] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_until(lock, when, [this] { return is_over_; })) BreakConnections(socket);
      });
    } catch (const std::system_error&) {  // no more threads: most peers do read
    }
  }
  ~ForcedClose() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  ForcedClose(const ForcedClose&) = delete;
  ForcedClose& operator=(const ForcedClose&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Returns true if the peer sends its HTTP/2 settings, as a server does without a request.
bool SendsSettings(const UniqueFd& connection) {
  pollfd readable{connection.get(), POLLIN, 0};
  char first = 0;
  return poll(&readable, 1, kSettingsTimeout) > 0 &&
         recv(connection.get(), &first, 1, MSG_DONTWAIT) == 1;
}

/// Returns true if the server that was started on `socket` can be reached there. All servers share
/// gRPC's threads, so once one server has responded, it is enough that a socket is bound: accepting
/// a connection costs a server as much as one of the kubelet.
bool IsServed(const std::string& socket) {
  static std::atomic<bool> one_responds = false;
  if (one_responds) return IsBound(socket);
  const auto connection = Connect(socket);
  const bool responds = connection && SendsSettings(*connection);
  if (responds) one_responds = true;
  return responds;
}

/// Checks the plugin socket before the kubelet is asked to dial it.
Status SelfCheck(const std::string& socket) {
  if (IsServed(socket)) return {};
  return Fail(ErrorKind::kUnavailable,
              "self-check failed: the plugin socket in " + DirectoryOf(socket) +
                  " is not responding; check if something removes sockets there, and if file "
                  "descriptors and threads are available");
}

}  // namespace

void InitGrpc() {
  // Messages that gRPC and protobuf write to stderr are not structured and not for administrators;
  // relevant errors are returned and logged. Fatal messages remain, and GRPC_VERBOSITY enables all.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args* line) {
      if (std::strstr(line->message, "assertion failed") != nullptr) {
        // abort() follows, and must not wait for the log.
        WriteWithin(STDERR_FILENO,
                    format("gRPC: {}:{}: {}\n", line->file, line->line, line->message),
                    LogWriter::kDrainTime);
      }
    });
    google::protobuf::SetLogHandler(nullptr);
  }
  // Disables deadlock detection of abseil, which Debian enables and which slows down every lock of
  // gRPC.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc_init();
}

Result<std::unique_ptr<PluginServer>> PluginServer::Start(std::string socket, PluginBackend backend,
                                                          ListStreams::OnChange on_streams) {
  std::unique_ptr<PluginServer> plugin(
      new PluginServer(std::move(socket), std::move(backend), std::move(on_streams)));
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentCalls);
  builder.AddListeningPort("unix:" + plugin->socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin->service_);
  plugin->server_ = builder.BuildAndStart();
  if (plugin->server_ == nullptr) {
    return Fail(ErrorKind::kUnavailable,
                "cannot listen on a socket in " + DirectoryOf(plugin->socket_) +
                    "; check that the directory exists, that this process may write there (run as "
                    "root) and that its path is not too long");
  }
  TRY(SelfCheck(plugin->socket_));
  return plugin;
}

void PluginServer::BeginStop() {
  service_.streams().Close();
  stop_by_ = std::chrono::system_clock::now() + kShutdownGrace;
}

PluginServer::~PluginServer() {
  if (server_ == nullptr) return;
  if (!stop_by_) BeginStop();
  {
    const ForcedClose breaker(socket_, std::max(*stop_by_ + kForcedCloseDelay,
                                                std::chrono::system_clock::now() + kMinCloseTime));
    server_->Shutdown(*stop_by_);
  }
  server_.reset();
  unlink(socket_.c_str());
}

}  // namespace patchbay
