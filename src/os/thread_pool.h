#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "os/loop.h"

namespace patchbay {

/// Threads for work that is too slow for the loop and that can hang in the kernel for good: looking
/// up paths, starting and stopping servers. At most `max_running` jobs run at once, and they begin
/// in the order of the calls to Run. A job that runs longer than `patience` is overdue: it no
/// longer counts, and another thread takes its place, until `max_overdue` jobs are.
///
/// Threads are not joined, since some may never return. Where the system has no thread left, jobs
/// wait for the threads that exist. Thread-safe.
///
/// The destructor drops the jobs that have not begun, waits up to `end_patience` for those that run
/// and never for those that are overdue. It may not be called on a thread of the pool.
class ThreadPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  struct Options {
    std::size_t max_running = 1;
    std::chrono::milliseconds patience = std::chrono::seconds(1);
    std::size_t max_overdue = 256;
    std::size_t max_idle = 4;  ///< threads that are kept for the next jobs; at least 1
    /// The first thread starts with the pool and stays, so that a job never waits for the system to
    /// have a thread. Otherwise threads start when there is work.
    bool starts_at_once = false;
    std::chrono::milliseconds end_patience{500};
  };

  struct Job {
    /// May hang. It may outlive the pool and everything else, so it touches only what it owns.
    std::function<void()> work;
    /// Called after `work`, on the same thread, unless the pool is gone or the job is late. May not
    /// block: the destructor of the pool waits for it.
    std::function<void()> then = nullptr;
    /// Called once if `work` has not ended `limit` after the call to Run, also when it has not
    /// begun; in that case it never does. On a thread of the pool; may not block.
    std::function<void()> on_late = nullptr;
    std::chrono::milliseconds limit{};  ///< of on_late
    /// Where there is no thread to begin the job, or none to call its `on_late`, and the system has
    /// no other, Run refuses the job; otherwise it waits.
    bool needs_thread = false;
  };

  /// Throws std::system_error where the first thread cannot start and is to start at once.
  explicit ThreadPool(const Options& options);
  ThreadPool() : ThreadPool(Options()) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Returns false, and drops the job, if it is refused.
  bool Run(Job job);

  /// Runs `work` in the pool, then `done` with its result on `loop`.
  template <class Work, class Done>
  void Run(Loop& loop, Work work, Done done) {
    auto result = std::make_shared<std::optional<decltype(work())>>();
    Run(Job{.work = [result, work = std::move(work)]() mutable { result->emplace(work()); },
            .then =
                [&loop, result, done = std::move(done)]() mutable {
                  loop.Post(
                      [result, done = std::move(done)]() mutable { done(std::move(**result)); });
                }});
  }

  /// How long ago the oldest job that has not ended was passed to Run; zero without one.
  Clock::duration OldestAge(Time now) const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
