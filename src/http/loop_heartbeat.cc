#include "http/loop_heartbeat.h"

#include <mutex>
#include <optional>

namespace patchbay {

struct LoopHeartbeat::State {
  std::mutex mutex;
  std::optional<Loop::Time> asked;  ///< when the pending ping was posted
};

LoopHeartbeat::LoopHeartbeat(Loop& loop, Loop::Duration limit)
    : loop_(loop), limit_(limit), state_(std::make_shared<State>()) {}

bool LoopHeartbeat::IsAlive(Loop::Time now) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->asked) return now - *state_->asked <= limit_;
    state_->asked = now;
  }
  // Without the mutex: a loop may run the ping immediately.
  loop_.Post([state = state_] {
    const std::lock_guard lock(state->mutex);
    state->asked.reset();
  });
  return true;
}

}  // namespace patchbay
