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

/// Listens on a unix socket and hands out connections, of which it keeps a hold to cut them. gRPC's
/// own listener would unlink the path when it ends, and so could not leave what a crash leaves.
///
/// Thread-safe.
class SocketListener {
 public:
  /// Is called on the listener's thread with a connected, non-blocking socket.
  using OnAccept = std::function<void(UniqueFd connection)>;

  /// Binds and listens before it returns: connecting succeeds, and waits until `accept_delay` is
  /// over. Fails with kUnavailable.
  static Result<std::unique_ptr<SocketListener>> Create(std::string path,
                                                        std::chrono::milliseconds accept_delay,
                                                        OnAccept on_accept);
  /// Cuts all connections and stops listening. The socket file stays: connecting to it is refused.
  ~SocketListener();
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

 private:
  SocketListener(UniqueFd listening, UniqueFd stop, std::chrono::milliseconds accept_delay,
                 OnAccept on_accept);
  void Accept(std::chrono::milliseconds delay);
  void Keep(UniqueFd connection);

  UniqueFd listening_;
  UniqueFd stop_;  ///< an eventfd, readable once it is time to end
  OnAccept on_accept_;
  std::vector<UniqueFd> connections_;  ///< of the accepting thread until it is joined
  std::thread thread_;
};

}  // namespace patchbay
