#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace patchbay {

/// Makes sure that a process that began to end does end: on a thread of its own, since what holds
/// up the end may be anything. The thread is started at once, because there may be none to be had
/// when the end begins. Make it first, so that it goes last.
class EndDeadline {
 public:
  EndDeadline();
  /// Everything ended in time.
  ~EndDeadline();
  EndDeadline(const EndDeadline&) = delete;
  EndDeadline& operator=(const EndDeadline&) = delete;

  /// Together with the time that the log may take for its last lines this is a little less than the
  /// two seconds that an end may take. Kubernetes waits much longer, a node that shuts down does
  /// not.
  static constexpr std::chrono::milliseconds kLimit{1600};

  /// From now on the process has kLimit left; then `last_act` is called, which must not block, and
  /// it exits with `code`. Another call changes nothing.
  void Begin(int code, std::function<void()> last_act);

 private:
  void Wait();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  bool in_time_ = false;
  int code_ = 0;
  std::function<void()> last_act_;
  std::thread thread_;
};

}  // namespace patchbay
