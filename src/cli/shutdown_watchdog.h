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

/// Ensures that a shutdown completes in time. It runs on its own threads, since anything can delay
/// the shutdown, the loop included. They are started in the constructor, because it may be
/// impossible to start threads later. Construct it before any thread that may hang: it blocks the
/// signals in the calling thread and in threads that are started later.
class ShutdownWatchdog {
 public:
  /// One of `signals` begins the shutdown: `f` is called on `loop` with its number, and the process
  /// exits after kLimit at the latest, even if the loop hangs.
  ShutdownWatchdog(std::vector<int> signals, Loop& loop, std::function<void(int)> f);
  /// The shutdown completed in time. The signals are ignored from now on: a second one must not
  /// turn a normal exit into a failure.
  ~ShutdownWatchdog();
  ShutdownWatchdog(const ShutdownWatchdog&) = delete;
  ShutdownWatchdog& operator=(const ShutdownWatchdog&) = delete;

  /// Together they are less than the two seconds that a shutdown may take. Kubernetes waits longer,
  /// but a node that shuts down does not.
  static constexpr std::chrono::milliseconds kLimit{1600};
  static constexpr std::chrono::milliseconds kLastActLimit{300};
  static_assert(kLimit + kLastActLimit < std::chrono::seconds(2));

  /// Sets the function to call when the time is over; from any thread. It is called on a separate
  /// thread, and the process exits after kLastActLimit even if it hangs.
  void SetLastAct(std::function<void()> f);

  /// Begins the shutdown, unless it has begun, with the exit code `code`; from any thread.
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
