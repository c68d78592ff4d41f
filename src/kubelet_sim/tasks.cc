#include "kubelet_sim/tasks.h"

#include <utility>

namespace patchbay {

bool Tasks::Spawn(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  tasks_.remove_if([](Task& old) {
    if (!old.done) return false;
    old.thread.join();
    return true;
  });
  Task& added = tasks_.emplace_back();
  added.thread = std::thread([&added, task = std::move(task)] {
    task();
    added.done = true;
  });
  return true;
}

void Tasks::Join() {
  std::list<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    tasks.splice(tasks.end(), tasks_);
  }
  for (Task& task : tasks) task.thread.join();
}

}  // namespace patchbay
