#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
#include "os/host_root.h"
#include "os/threads.h"

namespace patchbay {

/// Runs the hooks of one resource, each call on a thread of its own. Calls for the same device run
/// one after the other in the order they came, so that a release ends before the next container
/// gets the device. At most sixteen calls of kRelease run at once. If a program hangs in the
/// kernel, the next call for its device waits. Waiting calls have no thread. No program runs for a
/// disk in use, see disk_check.h.
///
/// Thread-safe. The destructor does the same as End, but waits three seconds at most; no `done` is
/// called after it.
class HookRunner {
 public:
  /// The maximum number of calls of kAllocate and kPreStart that wait or run, also of those that
  /// the kubelet has canceled; further ones fail at once. Releases are never refused.
  static constexpr std::size_t kMaxCalls = 256;

  /// Receives kPrecondition and a message for the owner of the pod if the hook failed.
  using Done = std::function<void(const Status&)>;
  /// Receives the result of each call that had commands, before its `Done`; any thread.
  using OnResult = std::function<void(Hook, bool success, std::chrono::nanoseconds duration)>;

  /// `host` is where the disks of calls are looked up.
  HookRunner(OnResult on_result, Log& log, std::shared_ptr<const Cancellation> cancellation,
             HostRoot host = {});
  ~HookRunner();
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  /// Returns immediately. `done` is called once, on a thread of the runner, or on this thread if
  /// there is nothing to run or to wait for. A call without commands waits for its devices.
  void Run(HookCall call, Done done);

  /// Waits for running calls: trigger the cancellation first. Later calls fail.
  void End();

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class State { kWaiting, kRunning, kHanging };
  struct QueueSlot {
    HookCall call;
    Done done;
    Time since;     ///< waiting since then
    Time begin_by;  ///< too little time is left after that
    Time end_by;
    State state = State::kWaiting;
  };
  using Queue = std::map<std::uint64_t, QueueSlot>;
  using Completions = std::vector<std::pair<QueueSlot, Status>>;
  /// The data of a call's thread, which may outlive the runner.
  struct Execution;

  static QueueSlot PlaceFor(HookCall call, Done done);
  void Keep();
  Completions Advance();
  std::vector<Queue::iterator> Due();
  bool Start(Queue::iterator at);
  void OnExecuted(std::uint64_t serial, Execution& execution);
  void Report(Execution& execution);
  void OnOver(std::uint64_t serial);
  void Complete(const Completions& completions);
  bool IsOver() const { return ending_ || cancellation_->triggered(); }
  Time NextWakeup() const;

  const OnResult on_result_;
  Log& log_;
  const std::shared_ptr<const Cancellation> cancellation_;
  const HostRoot host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;  ///< the waiting and running calls in their order
  std::uint64_t next_serial_ = 0;
  bool ending_ = false;
  bool abandoned_ = false;
  std::thread keeper_;  ///< from the first call on: starts and expires waiting calls
  JobThreads threads_;  ///< one for each call, which has limits of its own
};

}  // namespace patchbay
