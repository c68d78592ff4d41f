#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "os/asio_loop.h"

namespace patchbay {

/// Exits the process if a shutdown takes too long. It runs on its own thread, because anything can
/// delay the shutdown, the loop included. The constructor starts it, because it may be impossible
/// to start threads later. Construct it before any thread that may hang: it blocks the signals in
/// the calling thread and in threads that are started later.
class ShutdownWatchdog {
 public:
  /// Each of `signals` begins the shutdown: `f` is called on `loop` with its number. The process
  /// exits within kLimit + kLastActLimit, even if the loop hangs.
  ShutdownWatchdog(std::vector<int> signals, Loop& loop, std::function<void(int)> f);
  /// Ends the watchdog after a shutdown in time. From then on, the process ignores the signals, so
  /// that a second one cannot turn a normal exit into a failure.
  ~ShutdownWatchdog();
  ShutdownWatchdog(const ShutdownWatchdog&) = delete;
  ShutdownWatchdog& operator=(const ShutdownWatchdog&) = delete;

  /// Together they are less than the two seconds that a shutdown may take. Kubernetes waits longer
  /// for a deleted pod, but not when the node shuts down.
  static constexpr std::chrono::milliseconds kLimit{1600};
  static constexpr std::chrono::milliseconds kLastActLimit{300};
  static_assert(kLimit + kLastActLimit < std::chrono::seconds(2));

  /// Sets the function to call when kLimit has passed. It runs on a separate thread, and the
  /// process exits kLastActLimit later even if it hangs. If no thread can be started, the process
  /// exits without it. Thread-safe.
  void SetLastAct(std::function<void()> f);

  /// Begins the shutdown with exit code `code`, unless it has begun. Thread-safe.
  void Begin(int code);

 private:
  void Start(int code);
  void OnLate(int code);

  const std::vector<int> signals_;
  AsioLoop own_loop_;  ///< runs on `thread_`, which also owns the next two members
  Subscription limit_;
  Subscription ends_;
  std::mutex mutex_;  ///< protects the next three members
  std::function<void()> last_act_;
  bool is_late_ = false;
  bool ended_in_time_ = false;
  std::thread thread_;
};

}  // namespace patchbay
