#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "health/probe.h"
#include "os/loop.h"

namespace patchbay {

/// Runs the probes of all resources on threads of its own: at most so many at once, the resources
/// taking turns, those of one resource in the order in which they came.
///
/// Belongs to the loop thread. A job that does not come back within its patience is given up: it is
/// told to have timed out, and its place is another's, though its thread goes on in the kernel;
/// when it does come back its outcome is told as well. The destructor waits for no such thread.
class ProbePool {
 public:
  using Job = std::function<ProbeOutcome()>;
  using Done = std::function<void(ProbeOutcome)>;

  ProbePool(Loop& loop, int most_at_once);
  ~ProbePool();
  ProbePool(const ProbePool&) = delete;
  ProbePool& operator=(const ProbePool&) = delete;

  /// From now on; what runs already goes on.
  void SetMostAtOnce(int most_at_once);

  /// Runs `job` when its turn comes, then calls `done` on the loop: once, or twice for a job that
  /// was given up, first with `hangs`.
  void Run(const std::string& resource, std::chrono::milliseconds patience, Job job, Done done);
  /// Drops the jobs of a resource that have not begun; `done` of none of its jobs is called any
  /// more.
  void Drop(const std::string& resource);

  /// How many run now, but for those that were given up.
  int running() const { return running_; }

 private:
  struct Task;
  class Threads;

  std::size_t given_up() const { return begun_.size() - static_cast<std::size_t>(running_); }
  void StartNext();
  void Begin(Task task);
  void OnDone(std::uint64_t serial, ProbeOutcome outcome);
  void GiveUp(std::uint64_t serial);

  Loop& loop_;
  int most_at_once_;
  int running_ = 0;  ///< not those that were given up
  std::uint64_t next_serial_ = 0;
  std::map<std::string, std::deque<Task>> waiting_;  ///< no empty queues
  std::string last_turn_;                            ///< the resource that was served last
  std::map<std::uint64_t, Task> begun_;
  Lifetime lifetime_;
  std::shared_ptr<Threads> threads_;
};

}  // namespace patchbay
