#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "hooks/hook.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Runs the hooks of one resource, each call on a thread of its own. Calls that work on one device
/// run one after the other, in the order in which they came, so that what makes a device clean has
/// ended before the next container gets it; of kRelease sixteen run at once. A device whose program
/// hangs in the kernel keeps the next call waiting. Calls that wait have no thread.
///
/// Thread-safe. The destructor does as End, but waits three seconds at most; after it no `done` is
/// called any more.
class HookRunner {
 public:
  /// Fails with kPrecondition, and a text for the administrator of the pod.
  using Done = std::function<void(const Status&)>;
  /// Receives the result of each call that had commands, before its `Done`; any thread.
  using OnResult = std::function<void(Hook, bool success, std::chrono::nanoseconds duration)>;

  HookRunner(OnResult on_result, Log& log, std::shared_ptr<const Cancellation> cancellation);
  ~HookRunner();
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  /// Returns at once. `done` is called once, on a thread of the runner, or on this one where there
  /// is nothing to run and nothing to wait for. A call without commands waits for its devices.
  void Run(HookCall call, Done done);

  /// Waits for what runs: trigger the cancellation first. What comes later is refused.
  void End();

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class State { kWaiting, kRunning, kHanging };
  struct QueueSlot {
    HookCall call;
    Done done;
    Time since;     ///< it waits
    Time begin_by;  ///< there would be no time for it after that
    Time end_by;
    State state = State::kWaiting;
  };
  using Queue = std::map<std::uint64_t, QueueSlot>;
  using Answers = std::vector<std::pair<QueueSlot, Status>>;
  /// What the thread of a call has, also when the runner is gone.
  struct Execution;

  static QueueSlot PlaceFor(HookCall call, Done done);
  void Keep();
  Answers Advance();
  std::vector<Queue::iterator> Due();
  bool Start(Queue::iterator at);
  void OnExecuted(std::uint64_t serial, Execution& execution);
  void Report(Execution& execution);
  void AwaitLeftBehind(std::uint64_t serial, std::vector<UniqueFd> left_behind);
  void OnOver(std::uint64_t serial);
  void Answer(const Answers& answers);
  bool IsOver() const { return ending_ || cancellation_->triggered(); }
  Time NextLook() const;

  const OnResult on_result_;
  Log& log_;
  const std::shared_ptr<const Cancellation> cancellation_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;  ///< the calls that wait or run, as they came
  std::uint64_t next_serial_ = 0;
  bool ending_ = false;
  bool abandoned_ = false;
  std::thread keeper_;  ///< since the first call: sees whose turn it is, and whose time is over
  ThreadPool pool_;
};

}  // namespace patchbay
