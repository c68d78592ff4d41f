#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/result.h"
#include "os/unique_fd.h"
#include "rpc/endpoint.h"

namespace patchbay {

/// Accepts connections on all Unix sockets of the process, on a thread of its own, and keeps the
/// endpoint of each until the client closes it. If no file descriptors are left, it tries again
/// four times a second. Thread-safe.
class Acceptor {
 public:
  /// Takes over the file descriptor of a connection. Called on the thread of the acceptor.
  using OnConnection = std::function<void(int connection)>;

  /// Fails with kUnavailable without threads or file descriptors.
  static Result<std::unique_ptr<Acceptor>> Start(OnConnection on_connection);
  ~Acceptor() { Stop(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Ends the thread. Connections remain.
  void Stop();

  /// Accepts connections for `endpoint` on `listener`, which does not block.
  Status Listen(UniqueFd listener, std::shared_ptr<Endpoint> endpoint);
  /// Closes the listener of `endpoint`. Its connections remain.
  void StopListening(const Endpoint& endpoint);
  /// Ends the connections of `endpoint` for its clients, which receive everything that was sent,
  /// and waits until `time` at most until they have closed them.
  void EndUntil(const Endpoint& endpoint, std::chrono::steady_clock::time_point time);
  /// Shuts down all connections of `endpoint`. What was not received is lost.
  void Disconnect(const Endpoint& endpoint);

  /// Returns the endpoint of the connection that OnConnection took over as `connection`, or null if
  /// the client has closed it.
  std::shared_ptr<Endpoint> EndpointOf(int connection) const;

 private:
  /// A second file descriptor of the connection that was passed on as `given`. It notices that the
  /// client closes the connection, and can shut it down without a race with its owner, who closes
  /// `given` at any time.
  struct Connection {
    UniqueFd own;
    int given;
    std::shared_ptr<Endpoint> endpoint;
  };
  struct Listener {
    UniqueFd fd;
    std::shared_ptr<Endpoint> endpoint;
  };

  Acceptor(OnConnection on_connection, UniqueFd epoll, UniqueFd stop)
      : on_connection_(std::move(on_connection)),
        epoll_(std::move(epoll)),
        stop_(std::move(stop)) {}
  void Run();
  void AcceptAll(int listener);
  bool AcceptOne(int listener);
  void Forget(int own);
  void ShutDown(const Endpoint& endpoint, int how) const;

  const OnConnection on_connection_;
  const UniqueFd epoll_;
  const UniqueFd stop_;  ///< an eventfd
  mutable std::mutex mutex_;
  std::condition_variable forgotten_;
  std::map<int, Listener> listeners_;      ///< by file descriptor
  std::map<int, Connection> connections_;  ///< by their own file descriptor
  std::map<int, int> given_;               ///< to the key in `connections_`
  std::set<int> starved_;  ///< listeners without a file descriptor for a connection; of the thread
  std::thread thread_;
};

}  // namespace patchbay
