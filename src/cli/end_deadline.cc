#include "cli/end_deadline.h"

#include <cstdlib>
#include <utility>

namespace patchbay {

EndDeadline::~EndDeadline() {
  {
    const std::lock_guard lock(mutex_);
    in_time_ = true;
  }
  ended_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void EndDeadline::Begin(int code, std::function<void()> last_act) {
  thread_ = std::thread([this, code, last_act = std::move(last_act)] {
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, kLimit, [this] { return in_time_; })) return;
    last_act();
    std::_Exit(code);
  });
}

}  // namespace patchbay
