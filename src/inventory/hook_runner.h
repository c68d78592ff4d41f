#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "inventory/hook.h"
#include "inventory/observer.h"

namespace patchbay {

/// Runs the hooks of one resource, each call on a thread of its own. Calls that work on one device
/// run one after the other, in the order in which they came, so that what makes a device clean has
/// ended before the next container gets it; of kRelease sixteen run at once. A device whose program
/// hangs in the kernel keeps the next call waiting.
///
/// Thread-safe. The destructor waits for what runs: trigger the cancellation first.
class HookRunner {
 public:
  /// Fails with kPrecondition, and a text for the administrator of the pod.
  using Done = std::function<void(const Status&)>;

  HookRunner(std::string resource, std::shared_ptr<ResourceObserver> observer, Log& log,
             std::shared_ptr<const Cancellation> cancellation);
  ~HookRunner();
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  /// Returns at once. `done` is called once, on the thread of the call, or on this one where there
  /// is nothing to run and nothing to wait for. A call without commands waits for its devices.
  void Run(HookCall call, Done done);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Place {
    Hook hook;
    std::set<std::string> devices;
  };
  using Queue = std::map<std::uint64_t, Place>;

  void Work(Queue::iterator place, const HookCall& call, const Done& done);
  bool IsTurnOf(Queue::const_iterator place) const;
  Status AwaitTurn(Queue::const_iterator place, const HookCall& call, Time latest);
  HookOutcome RunAndReport(const HookCall& call, Time deadline);
  void AwaitEnd(std::vector<UniqueFd> left_behind) const;
  void JoinEnded();

  const std::string resource_;
  const std::shared_ptr<ResourceObserver> observer_;
  Log& log_;
  const std::shared_ptr<const Cancellation> cancellation_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;  ///< the calls that run or wait, as they came
  std::uint64_t next_serial_ = 0;
  bool ending_ = false;
  std::map<std::uint64_t, std::thread> threads_;
  std::vector<std::uint64_t> ended_;  ///< threads with nothing left to do
};

}  // namespace patchbay
