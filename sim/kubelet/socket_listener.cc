#include "sim/kubelet/socket_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

/// Returns whether the peer has closed the connection.
bool IsClosed(const UniqueFd& connection) {
  pollfd query{.fd = connection.get(), .events = 0, .revents = 0};
  return poll(&query, 1, 0) > 0 && (query.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

Result<std::unique_ptr<SocketListener>> SocketListener::Create(
    std::string path, std::chrono::milliseconds accept_delay, OnAccept on_accept) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid, Format("{} is too long for a socket path", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!listening || !stop) return FailErrno("cannot create a socket", errno);
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listening.get(), SOMAXCONN) != 0) {
    return FailErrno(Format("cannot listen on {}", path), errno);
  }
  return std::unique_ptr<SocketListener>(new SocketListener(std::move(listening), std::move(stop),
                                                            accept_delay, std::move(on_accept)));
}

SocketListener::SocketListener(UniqueFd listening, UniqueFd stop,
                               std::chrono::milliseconds accept_delay, OnAccept on_accept)
    : listening_(std::move(listening)),
      stop_(std::move(stop)),
      on_accept_(std::move(on_accept)),
      thread_([this, accept_delay] { Accept(accept_delay); }) {}

SocketListener::~SocketListener() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  for (const UniqueFd& connection : connections_) shutdown(connection.get(), SHUT_RDWR);
}

void SocketListener::Accept(std::chrono::milliseconds delay) {
  pollfd stop{.fd = stop_.get(), .events = POLLIN, .revents = 0};
  if (poll(&stop, 1, static_cast<int>(delay.count())) != 0) return;
  while (true) {
    pollfd wait[] = {stop, {.fd = listening_.get(), .events = POLLIN, .revents = 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return;
    if (wait[0].revents != 0) return;
    UniqueFd connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) continue;
    Keep(UniqueFd(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)));
    on_accept_(std::move(connection));
  }
}

void SocketListener::Keep(UniqueFd connection) {
  std::erase_if(connections_, IsClosed);
  connections_.push_back(std::move(connection));
}

}  // namespace patchbay
