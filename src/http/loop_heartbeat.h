#pragma once

#include <chrono>
#include <memory>

#include "os/loop.h"

namespace patchbay {

/// Detects a loop that no longer runs. Each call to IsAlive posts a ping to the loop, and the loop
/// is alive while the last ping is not overdue: a loop that hangs is detected `limit` after the
/// first ping that it does not run. Without calls the loop is not woken.
///
/// Thread-safe. The loop must outlive the last call to IsAlive, but not the heartbeat.
class LoopHeartbeat {
 public:
  explicit LoopHeartbeat(Loop& loop, Loop::Duration limit = std::chrono::seconds(10));

  /// Never waits. `now` is the time of Loop::Clock.
  bool IsAlive(Loop::Time now);

 private:
  struct State;

  Loop& loop_;
  Loop::Duration limit_;
  std::shared_ptr<State> state_;  ///< shared with the pending ping
};

}  // namespace patchbay
