#include "cli/end_deadline.h"

#include <cstdlib>
#include <utility>

namespace patchbay {

EndDeadline::EndDeadline() : thread_([this] { Wait(); }) {}

EndDeadline::~EndDeadline() {
  {
    const std::lock_guard lock(mutex_);
    in_time_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void EndDeadline::Begin(int code, std::function<void()> last_act) {
  const std::lock_guard lock(mutex_);
  if (begun_) return;
  begun_ = true;
  code_ = code;
  last_act_ = std::move(last_act);
  changed_.notify_one();
}

void EndDeadline::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return begun_ || in_time_; });
  if (changed_.wait_for(lock, kLimit, [this] { return in_time_; })) return;
  last_act_();
  std::_Exit(code_);
}

}  // namespace patchbay
