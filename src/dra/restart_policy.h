#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace patchbay {

/// The identities of the sockets of a driver, see SocketIdentity; nothing for a missing one.
struct SocketIds {
  std::optional<std::string> dra;
  std::optional<std::string> registration;
  bool operator==(const SocketIds&) const = default;
};

/// The servers of a driver that must start again.
enum class Restart {
  kNone,
  kRegistration,  ///< calls about claims continue
  kBoth,
};

/// Decides which servers must start again: those whose socket is not the one that they created. A
/// driver is not registered without its other socket, so its loss restarts both.
Restart RestartFor(const SocketIds& created, const SocketIds& found);

/// Decides when servers start again after a failure or the loss of a socket: the first time at
/// once, then after 1, 2, 4, … and at most 30 seconds. Sockets that existed for ten seconds end the
/// series.
class RestartPause {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void OnStarted(Time now) { started_ = now; }
  /// The servers failed to start, or a socket was lost. Returns the time until the next start.
  std::chrono::seconds OnFailure(Time now);

 private:
  int failures_ = 0;
  std::optional<Time> started_;  ///< nothing: not running
};

}  // namespace patchbay
