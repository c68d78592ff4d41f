#pragma once

#include <chrono>
#include <memory>

#include "os/loop.h"

namespace patchbay {

/// Tells whether a loop still turns, without waking it unless somebody asks: every question leaves
/// a ping on the loop, and the loop is alive while the last ping is not overdue. A loop that stands
/// still is therefore found out `limit` after the first question it did not answer.
///
/// Thread-safe. The loop must outlive the last call to Alive, but need not outlive the pulse.
class LoopPulse {
 public:
  explicit LoopPulse(Loop& loop, Loop::Duration limit = std::chrono::seconds(10));

  /// Never waits. `now` is the time of Loop::Clock.
  bool Alive(Loop::Time now);

 private:
  struct State;

  Loop& loop_;
  Loop::Duration limit_;
  std::shared_ptr<State> state_;  ///< shared with the ping under way
};

}  // namespace patchbay
