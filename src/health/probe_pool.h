#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "health/probe.h"
#include "os/loop.h"
#include "os/threads.h"

namespace patchbay {

/// Runs the probes of all resources on its own threads, up to a maximum at the same time. Resources
/// take turns, and the probes of one resource run in their order. Never runs two probes of the same
/// device.
///
/// Belongs to the loop thread. A probe hangs if its job does not return within its patience, or
/// leaves a program that cannot be killed. It is then abandoned: `done` is called with an outcome
/// that `hangs`, and another probe takes its place, while its thread or program continues in the
/// kernel. When that ends, the program is reaped, and `done` is called with `over`. The destructor
/// does not wait for such threads.
class ProbePool {
 public:
  /// The names of a resource and of one of its devices.
  using Target = std::pair<std::string, std::string>;
  using Job = std::function<ProbeOutcome()>;
  using Done = std::function<void(ProbeOutcome)>;

  ProbePool(Loop& loop, int max_at_once);
  ~ProbePool();
  ProbePool(const ProbePool&) = delete;
  ProbePool& operator=(const ProbePool&) = delete;

  /// Sets the maximum number of running probes. Running probes continue.
  void SetMostAtOnce(int max_at_once);

  /// Runs `job` when its turn comes, then calls `done` on the loop: once, or twice for an abandoned
  /// job. If too many jobs hang, or no thread can be started, it is not run, and the outcome is an
  /// error.
  ///
  /// `target` must not have another job, except a dropped one. `job` runs when the dropped one has
  /// ended; if that hangs, `job` is not run, and `done` is called for the hang and its end.
  void Run(const Target& target, std::chrono::milliseconds patience, Job job, Done done);
  /// Drops the waiting jobs of a resource. `done` is not called any more for any of its jobs.
  /// Running jobs continue, and are remembered until they end.
  void Drop(const std::string& resource);

  /// The number of running jobs, without abandoned ones.
  int running() const { return running_; }

 private:
  struct Task;

  std::size_t given_up() const { return begun_.size() - static_cast<std::size_t>(running_); }
  std::size_t GivenUpOf(const std::string& resource) const;
  void StartNext();
  void Begin(Task task);
  void RefuseWaiting();
  static ProbeOutcome Hang(const Task& task, std::string reason);
  void OnLate(const Target& target);
  void OnDone(const Target& target, ProbeOutcome outcome);
  void OnProgramEnded(const Target& target);
  void GiveUp(Task& task, ProbeOutcome outcome);
  void End(const Target& target, ProbeOutcome outcome);

  Loop& loop_;
  int max_at_once_;
  int running_ = 0;                                  ///< without abandoned jobs
  std::map<std::string, std::deque<Task>> waiting_;  ///< by resource; no empty queues
  std::string last_turn_;                            ///< the resource of the last started job
  std::map<Target, Task> begun_;
  JobThreads threads_;
  Lifetime lifetime_;
};

}  // namespace patchbay
