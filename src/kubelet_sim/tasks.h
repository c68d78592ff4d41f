#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace patchbay {

/// Threads that are joined together: one for each call or stream that may block. Thread-safe,
/// but Join is called by one thread.
class Tasks {
 public:
  Tasks() = default;
  ~Tasks() { Join(); }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  /// Runs `task` on a thread of its own. False after Join: nothing is run.
  bool Spawn(std::function<void()> task);

  /// Takes no more tasks and waits for those under way. Not to be called from a task.
  void Join();

 private:
  void JoinDone();

  std::mutex mutex_;
  bool closed_ = false;
  std::list<std::thread> running_;
  std::list<std::thread> done_;  ///< wait to be joined
};

}  // namespace patchbay
