#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace patchbay {

/// Threads that are joined together: one for each call or stream that may block. Thread-safe,
/// except that only one thread may call Join.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { Join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  /// Runs `task` on a new thread. Returns false after Join; the task is not run.
  bool Spawn(std::function<void()> task);

  /// Accepts no more tasks and waits for those that run. Must not be called from a task.
  void Join();

 private:
  void JoinDone();

  std::mutex mutex_;
  bool closed_ = false;
  std::list<std::thread> running_;
  std::list<std::thread> done_;  ///< ended threads to join
};

}  // namespace patchbay
