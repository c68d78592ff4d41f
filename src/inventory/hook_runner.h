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

/// Runs the hooks of one resource, each call on a thread of its own. No two calls work on one
/// device at a time, so that what makes a device clean has ended before a container gets it; a call
/// that has to wait does so at the cost of its own timeout. A device whose program hangs in the
/// kernel keeps the next call waiting.
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

  void Work(const HookCall& call, const Done& done);
  bool IsFree(const HookCall& call) const;
  Status TakeTurn(const HookCall& call, Time deadline);
  void EndTurn(const HookCall& call);
  HookOutcome RunAndReport(const HookCall& call, Time deadline);
  void AwaitEnd(std::vector<UniqueFd> left_behind) const;
  void JoinEnded();

  const std::string resource_;
  const std::shared_ptr<ResourceObserver> observer_;
  Log& log_;
  const std::shared_ptr<const Cancellation> cancellation_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::set<std::string> busy_;  ///< devices that a call works on
  bool ending_ = false;
  std::uint64_t next_serial_ = 0;
  std::map<std::uint64_t, std::thread> threads_;
  std::vector<std::uint64_t> ended_;  ///< threads with nothing left to do
};

}  // namespace patchbay
