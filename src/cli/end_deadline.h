#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "os/asio_loop.h"

namespace patchbay {

/// Makes sure that a process that began to end does end: on threads of its own, since what holds up
/// the end may be anything, the loop included. They are started at once, because there may be none
/// to be had when the end begins. Make it before any thread that may hang, since it blocks the
/// signals in the calling thread and in those that are started later.
class EndDeadline {
 public:
  /// The end begins with one of `signals`: `f` is called on `loop` with its number once that runs,
  /// and the process has kLimit left from then on, also if the loop hangs.
  EndDeadline(std::vector<int> signals, Loop& loop, std::function<void(int)> f);
  /// Everything ended in time. Afterwards the signals are ignored: a second one, sent while the
  /// last things are put away, must not turn a normal exit into a failure.
  ~EndDeadline();
  EndDeadline(const EndDeadline&) = delete;
  EndDeadline& operator=(const EndDeadline&) = delete;

  /// Together they are less than the two seconds that an end may take. Kubernetes waits much
  /// longer, a node that shuts down does not.
  static constexpr std::chrono::milliseconds kLimit{1600};
  static constexpr std::chrono::milliseconds kLastActLimit{300};

  /// What to do when the time is over, instead of what was set before; any thread. It is called on
  /// another one, and the process exits after kLastActLimit even if it hangs.
  void SetLastAct(std::function<void()> f);

  /// The end begins now, if it has not begun, to exit with `code`; any thread.
  void Begin(int code);

 private:
  void Start(int code);
  void Act();
  void End();

  const std::vector<int> signals_;
  AsioLoop own_loop_;  ///< of `thread_`, as are the next two
  std::optional<Subscription> limit_;
  Subscription ends_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::function<void()> last_act_;
  bool is_late_ = false;
  bool ended_in_time_ = false;
  int code_ = 0;
  std::thread last_act_thread_;
  std::thread thread_;
};

}  // namespace patchbay
