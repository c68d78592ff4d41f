#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Listens on a Unix socket and passes on its connections, which it can close later. The listener
/// of gRPC unlinks the path when it ends, so it cannot simulate a crash.
///
/// Thread-safe.
class SocketListener {
 public:
  /// Called on the thread of the listener with a connected, non-blocking socket.
  using OnAccept = std::function<void(UniqueFd connection)>;

  /// Binds and listens before it returns, so that connecting succeeds. Connections are accepted
  /// after `accept_delay`. Fails with kUnavailable.
  static Result<std::unique_ptr<SocketListener>> Create(std::string path,
                                                        std::chrono::milliseconds accept_delay,
                                                        OnAccept on_accept);
  /// Closes all connections and stops listening. The socket file remains, and rejects connections.
  ~SocketListener();
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

 private:
  SocketListener(UniqueFd listening, UniqueFd stop, std::chrono::milliseconds accept_delay,
                 OnAccept on_accept);
  void Accept(std::chrono::milliseconds delay);
  void Keep(UniqueFd connection);

  UniqueFd listening_;
  UniqueFd stop_;  ///< an eventfd, readable when the thread must end
  OnAccept on_accept_;
  std::vector<UniqueFd> connections_;  ///< used by the accepting thread until it is joined
  std::thread thread_;
};

}  // namespace patchbay
