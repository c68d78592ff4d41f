// All sockets are registered for changes only (EPOLLET): a listener is read until nothing waits,
// and the bytes of a connection do not wake the thread. A number of a file descriptor can be reused
// at any time, so an event is only a hint: listeners do not block, and only this thread closes the
// file descriptors in `connections_`.

#include "rpc/acceptor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

#include "os/threads.h"

namespace patchbay {
namespace {

constexpr int kStarvedPause = 250;  // milliseconds

bool Watch(int epoll, int fd, std::uint32_t events) {
  epoll_event event{events, {.fd = fd}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::Start(OnConnection on_connection) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC)), stop(eventfd(0, EFD_CLOEXEC));
  if (!epoll || !stop || !Watch(epoll.get(), stop.get(), EPOLLIN)) {
    return FailErrno("cannot watch sockets", errno);
  }
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(std::move(on_connection), std::move(epoll), std::move(stop)));
  acceptor->thread_ = TRY(StartThread([raw = acceptor.get()] { raw->Run(); }));
  return acceptor;
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

Status Acceptor::Listen(UniqueFd listener, std::shared_ptr<Endpoint> endpoint) {
  const int fd = listener.get();
  const std::lock_guard lock(mutex_);
  listeners_[fd] = {std::move(listener), std::move(endpoint)};
  if (Watch(epoll_.get(), fd, EPOLLIN | EPOLLET)) return {};
  const int error = errno;
  listeners_.erase(fd);
  return FailErrno("cannot watch a socket", error);
}

void Acceptor::StopListening(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_,
                [&](const auto& entry) { return entry.second.endpoint.get() == &endpoint; });
}

/// A client that can still write reads to the end. gRPC gives up a connection when a write fails,
/// with all that it has not read.
void Acceptor::EndUntil(const Endpoint& endpoint, std::chrono::steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  ShutDown(endpoint, SHUT_WR);
  forgotten_.wait_until(lock, time, [&] {
    return std::ranges::none_of(
        connections_, [&](const auto& entry) { return entry.second.endpoint.get() == &endpoint; });
  });
}

void Acceptor::Disconnect(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  ShutDown(endpoint, SHUT_RDWR);
}

void Acceptor::ShutDown(const Endpoint& endpoint, int how) const {
  for (const auto& [own, connection] : connections_) {
    if (connection.endpoint.get() == &endpoint) shutdown(own, how);
  }
}

std::shared_ptr<Endpoint> Acceptor::EndpointOf(int connection) const {
  const std::lock_guard lock(mutex_);
  const auto own = given_.find(connection);
  return own == given_.end() ? nullptr : connections_.at(own->second).endpoint;
}

void Acceptor::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), std::ssize(events),
                                 starved_.empty() ? -1 : kStarvedPause);
    for (const int listener : std::exchange(starved_, {})) AcceptAll(listener);
    for (const epoll_event& event : std::span(events).first(std::max(count, 0))) {
      const int fd = event.data.fd;
      if (fd == stop_.get()) return;
      if ((event.events & EPOLLRDHUP) != 0) {
        Forget(fd);
      } else {
        AcceptAll(fd);
      }
    }
  }
}

/// Accepts every connection that waits. `listener` may be closed, or be another one by now.
void Acceptor::AcceptAll(int listener) {
  while (AcceptOne(listener)) continue;
}

/// Returns false if no connection waits or can be accepted.
bool Acceptor::AcceptOne(int listener) {
  int given = -1;
  {
    const std::lock_guard lock(mutex_);
    const auto at = listeners_.find(listener);
    if (at == listeners_.end()) return false;
    UniqueFd accepted(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted) {
      if (errno == ECONNABORTED || errno == EINTR) return true;
      if (errno != EAGAIN) starved_.insert(listener);
      return false;
    }
    UniqueFd own(fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
    if (!own || !Watch(epoll_.get(), own.get(), EPOLLRDHUP | EPOLLET)) {
      starved_.insert(listener);  // this client is disconnected
      return false;
    }
    given = accepted.release();
    given_[given] = own.get();
    const int key = own.get();
    connections_[key] = {std::move(own), given, at->second.endpoint};
  }
  on_connection_(given);
  return true;
}

/// Forgets a connection that the client has closed. It is shut down in both directions: gRPC would
/// keep it until its writes end, which never happens if the client closed only its own direction
/// and does not read.
void Acceptor::Forget(int own) {
  const std::lock_guard lock(mutex_);
  const auto at = connections_.find(own);
  if (at == connections_.end()) return;
  // The number may belong to a newer connection by now.
  if (const auto given = given_.find(at->second.given);
      given != given_.end() && given->second == own) {
    given_.erase(given);
  }
  shutdown(own, SHUT_RDWR);
  // Closing it would not end its events while `given` is open.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, own, nullptr);
  connections_.erase(at);
  forgotten_.notify_all();
}

}  // namespace patchbay
