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

namespace patchbay {

/// Runs the probes of all resources on threads of its own: at most so many at once, the resources
/// taking turns, those of one resource in the order in which they came. Never two of one device.
///
/// Belongs to the loop thread. A probe hangs when its job does not come back within its patience,
/// or leaves a program behind that nothing can kill. It is given up: `done` is told so, and its
/// place is another's, though its thread or program goes on in the kernel; when that ends, a
/// program is reaped, and `done` is told that it is `over`. The destructor waits for no such
/// thread.
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

  /// From now on; what runs already goes on.
  void SetMostAtOnce(int max_at_once);

  /// Runs `job` when its turn comes, then calls `done` on the loop: once, or twice for a job that
  /// was given up. Where too many hang already it is not run, which is an error
  /// of the probe.
  ///
  /// `target` has no other job, unless that was dropped. One that was dropped and has not ended is
  /// waited for; if it hangs `job` is not run, and `done` is called for that hang and its end.
  void Run(const Target& target, std::chrono::milliseconds patience, Job job, Done done);
  /// Drops the jobs of a resource that have not begun; `done` of none of its jobs is called any
  /// more. What runs already goes on, and is remembered until it ends.
  void Drop(const std::string& resource);

  /// How many run now, but for those that were given up.
  int running() const { return running_; }

 private:
  struct Task;
  class Threads;

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
  int running_ = 0;                                  ///< not those that were given up
  std::map<std::string, std::deque<Task>> waiting_;  ///< by resource; no empty queues
  std::string last_turn_;                            ///< the resource that was served last
  std::map<Target, Task> begun_;
  Lifetime lifetime_;
  std::shared_ptr<Threads> threads_;
};

}  // namespace patchbay
