// A server is started and checked once through its own socket before Start returns, since the
// kubelet dials it immediately afterwards. gRPC waits at the end until pending writes have
// finished, so the connections of a peer that does not read are shut down.

#include "rpc/unix_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/path.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

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
  const bool responds = IsAccepting(socket);
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

bool IsAccepting(const std::string& socket) {
  const auto connection = Connect(socket);
  return connection && SendsSettings(*connection);
}

Result<std::unique_ptr<UnixServer>> UnixServer::Start(std::string socket,
                                                      const std::vector<grpc::Service*>& services,
                                                      int max_request_bytes) {
  std::unique_ptr<UnixServer> server(new UnixServer(std::move(socket)));
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(max_request_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentCalls);
  builder.AddListeningPort("unix:" + server->socket_, grpc::InsecureServerCredentials());
  for (grpc::Service* service : services) builder.RegisterService(service);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return Fail(ErrorKind::kUnavailable,
                "cannot listen on a socket in " + DirectoryOf(server->socket_) +
                    "; check that the directory exists, that this process may write there (run as "
                    "root) and that its path is not too long");
  }
  TRY(SelfCheck(server->socket_));
  return server;
}

void UnixServer::BeginStop() {
  if (!stop_by_) stop_by_ = std::chrono::system_clock::now() + kShutdownGrace;
}

UnixServer::~UnixServer() {
  if (server_ == nullptr) return;
  BeginStop();
  {
    const ForcedClose breaker(socket_, std::max(*stop_by_ + kForcedCloseDelay,
                                                std::chrono::system_clock::now() + kMinCloseTime));
    server_->Shutdown(*stop_by_);
  }
  server_.reset();
  unlink(socket_.c_str());
}

}  // namespace patchbay
