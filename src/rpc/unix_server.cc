// A server is checked once through its own socket before Start returns, since the kubelet dials it
// immediately afterwards. A peer that does not read, such as a stopped process, would delay the end
// of its calls indefinitely, so connections are shut down after the grace period.

#include "rpc/unix_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/format.h"
#include "base/path.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

/// The time for pending calls when the server stops. They are then canceled.
constexpr std::chrono::milliseconds kShutdownGrace{200};
/// The time limit for a server to accept a connection and to send its settings.
constexpr int kSettingsTimeout = 2000;  // milliseconds

/// Returns true if the peer sends its HTTP/2 settings, as a server does without a request.
bool SendsSettings(const UniqueFd& connection) {
  pollfd readable{connection.get(), POLLIN, 0};
  char first = 0;
  return poll(&readable, 1, kSettingsTimeout) > 0 &&
         recv(connection.get(), &first, 1, MSG_DONTWAIT) == 1;
}

/// Checks the plugin socket before the kubelet is asked to dial it.
Status SelfCheck(const std::string& socket) {
  if (const auto connection = Connect(socket); connection && SendsSettings(*connection)) return {};
  return Fail(ErrorKind::kUnavailable,
              "self-check failed: the plugin socket in " + DirectoryOf(socket) +
                  " is not responding; check if something removes sockets there, and if file "
                  "descriptors and threads are available");
}

/// Removes the file of an earlier socket.
void RemoveSocket(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
}

}  // namespace

Result<std::unique_ptr<UnixServer>> UnixServer::Start(std::shared_ptr<RpcServer> server,
                                                      std::string socket, RpcHandlers handlers) {
  RemoveSocket(socket);
  auto listener = Listen(socket);
  if (!listener) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot listen on a socket in {}; check that the directory exists, that "
                       "this process may write there (run as root) and that its path is not too "
                       "long ({})",
                       DirectoryOf(socket), listener.error().message));
  }
  const auto endpoint = std::make_shared<Endpoint>(std::move(handlers));
  std::unique_ptr<UnixServer> started(
      new UnixServer(std::move(server), std::move(socket), endpoint));
  TRY(started->server_->acceptor().Listen(*std::move(listener), endpoint));
  TRY(SelfCheck(started->socket_));
  return started;
}

void UnixServer::BeginStop() {
  if (!stop_by_) stop_by_ = std::chrono::steady_clock::now() + kShutdownGrace;
}

UnixServer::~UnixServer() {
  BeginStop();
  unlink(socket_.c_str());  // first: a socket that nothing has bound could be replaced meanwhile
  server_->acceptor().StopListening(*endpoint_);
  endpoint_->Close();
  endpoint_->AwaitIdleUntil(*stop_by_);
  server_->acceptor().EndUntil(*endpoint_, *stop_by_);
  server_->acceptor().Disconnect(*endpoint_);
  endpoint_->AwaitIdle();
}

}  // namespace patchbay
