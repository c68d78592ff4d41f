#include "sim/kubelet/thread_group.h"

#include <utility>

namespace patchbay {

bool ThreadGroup::Spawn(std::function<void()> task) {
  JoinDone();
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const auto self = running_.emplace(running_.end());
  try {
    *self = std::thread([this, self, task = std::move(task)] {
      task();
      const std::lock_guard ending(mutex_);
      if (!closed_) done_.splice(done_.end(), running_, self);
    });
  } catch (...) {
    running_.erase(self);
    throw;
  }
  return true;
}

void ThreadGroup::JoinDone() {
  std::list<std::thread> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (std::thread& thread : done) thread.join();
}

void ThreadGroup::Join() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  // All threads have ended, so the list does not change.
  for (std::thread& thread : running_) thread.join();
  running_.clear();
  JoinDone();
}

}  // namespace patchbay
