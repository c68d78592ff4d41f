#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "os/loop.h"

namespace patchbay {

/// A thread pool for work that is too slow for the loop and that can hang in the kernel
/// indefinitely: looking up paths, starting and stopping servers. At most `max_running` jobs run at
/// once; they start in the order of the calls to Run. A job that runs longer than `patience` is
/// overdue: it no longer counts, and another thread replaces it, unless `max_overdue` jobs are
/// overdue already.
///
/// Threads are not joined, because some may never return. If the system cannot create a thread,
/// jobs wait for the existing threads, or for the next call. Thread-safe.
///
/// The destructor drops the jobs that have not started, waits up to `end_patience` for running
/// jobs, and does not wait for overdue jobs. It must not be called on a thread of the pool.
class ThreadPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  /// The pause after the system could not create a thread.
  static constexpr std::chrono::seconds kThreadPause{1};

  struct Options {
    std::size_t max_running = 1;
    std::chrono::milliseconds patience = std::chrono::seconds(1);
    std::size_t max_overdue = 256;
    std::size_t max_idle = 4;  ///< idle threads that are kept for the next jobs; at least 1
    std::chrono::milliseconds max_idle_time = std::chrono::seconds(5);  ///< then they end
    /// If true, the first thread starts with the pool and one stays, so that a job never waits for
    /// the system to create a thread. If false, threads start on demand.
    bool starts_at_once = false;
    int niceness = 0;  ///< added to that of the process, as by nice(1): with 19 threads come last
    std::chrono::milliseconds end_patience{500};
  };

  struct Job {
    /// Can hang. It can outlive the pool and all other objects, so it must access only what it
    /// owns.
    std::function<void()> work;
    /// Called after `work` on the same thread, unless the pool is destroyed or the job is late.
    /// Must not block, because the destructor of the pool waits for it.
    std::function<void()> then = nullptr;
    /// Called once if `work` has not ended `limit` after the call to Run. If `work` has not started
    /// by then, it never starts. Called on a thread of the pool; must not block.
    std::function<void()> on_late = nullptr;
    std::chrono::milliseconds limit{};  ///< for on_late
    /// If true, Run refuses the job if the pool has no thread to start it or to call its `on_late`,
    /// and the system cannot create one. If false, the job waits.
    bool needs_thread = false;
  };

  /// Throws std::system_error if `starts_at_once` is set and the first thread cannot be started.
  explicit ThreadPool(const Options& options);
  ThreadPool() : ThreadPool(Options()) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Queues a job. Returns false, and drops the job, if it is refused.
  bool Run(Job job);

  /// Runs `work` in the pool, then `done` with its result on `loop`. Without threads, tries to
  /// create one each kThreadPause. On the loop thread, where the pool must then be destroyed.
  template <class Work, class Done>
  void Run(Loop& loop, Work work, Done done) {
    Run(JobOf(loop, std::move(work), std::move(done)));
    AwaitThread(loop);
  }
  /// The same, but refuses the job, and returns false, if the system cannot create a thread for it.
  template <class Work, class Done>
  bool TryRun(Loop& loop, Work work, Done done) {
    Job job = JobOf(loop, std::move(work), std::move(done));
    job.needs_thread = true;
    return Run(std::move(job));
  }

  /// Returns the time since the oldest unfinished job was passed to Run, or zero if there is none.
  Clock::duration OldestAge(Time now) const;

 private:
  template <class Work, class Done>
  static Job JobOf(Loop& loop, Work work, Done done) {
    auto result = std::make_shared<std::optional<decltype(work())>>();
    return {
        .work = [result, work = std::move(work)]() mutable { result->emplace(work()); },
        .then =
            [&loop, result, done = std::move(done)]() mutable {
              loop.Post([result, done = std::move(done)]() mutable { done(std::move(**result)); });
            }};
  }

  /// Ensures that the waiting jobs get a thread.
  void AwaitThread(Loop& loop);

  class State;
  std::shared_ptr<State> state_;
  Subscription thread_retry_;  ///< while jobs of a loop wait for a thread
};

}  // namespace patchbay
