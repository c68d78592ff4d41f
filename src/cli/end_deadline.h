#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace patchbay {

/// Makes sure that a process that began to end does end: on a thread of its own, since what holds
/// up the end may be anything. Make it first, so that it goes last.
class EndDeadline {
 public:
  EndDeadline() = default;
  /// Everything ended in time.
  ~EndDeadline();
  EndDeadline(const EndDeadline&) = delete;
  EndDeadline& operator=(const EndDeadline&) = delete;

  /// A little less than the two seconds that an end may take. Kubernetes waits much longer, a node
  /// that shuts down does not.
  static constexpr std::chrono::milliseconds kLimit{1800};

  /// From now on the process has kLimit left; then `last_act` is called and it exits with `code`.
  /// Once.
  void Begin(int code, std::function<void()> last_act);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool in_time_ = false;
  std::thread thread_;
};

}  // namespace patchbay
