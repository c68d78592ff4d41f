#include "kubelet_sim/tasks.h"

#include <utility>

namespace patchbay {

bool Tasks::Spawn(std::function<void()> task) {
  std::list<std::thread> done;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    done.swap(done_);
    const auto self = running_.emplace(running_.end());
    *self = std::thread([this, self, task = std::move(task)] {
      task();
      const std::lock_guard ending(mutex_);
      if (!closed_) done_.splice(done_.end(), running_, self);
    });
  }
  for (std::thread& thread : done) thread.join();
  return true;
}

void Tasks::Join() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  // Theirs alone from here on.
  for (std::list<std::thread>* const threads : {&running_, &done_}) {
    for (std::thread& thread : *threads) thread.join();
    threads->clear();
  }
}

}  // namespace patchbay
