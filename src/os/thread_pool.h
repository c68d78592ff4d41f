#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "os/loop.h"
#include "os/threads.h"

namespace patchbay {

/// Runs work for the loop that can hang in the kernel indefinitely: looking up paths, starting and
/// stopping servers. At most `max_running` jobs run at once, each on a thread of its own, and start
/// in their order. A job that runs longer than `patience` is overdue: it no longer counts, and the
/// next one starts, unless `max_overdue` jobs are overdue already.
///
/// Belongs to the loop thread, except OldestAge. The destructor drops the jobs that have not
/// started, and waits up to `end_patience` for those that run and are not overdue.
class ThreadPool {
 public:
  using Clock = std::chrono::steady_clock;
  /// The pause after the system could not create a thread.
  static constexpr std::chrono::seconds kThreadPause{1};

  struct Options {
    std::size_t max_running = 4;
    std::chrono::milliseconds patience = std::chrono::seconds(1);
    std::size_t max_overdue = 64;
    std::chrono::milliseconds end_patience{500};
  };

  ThreadPool(Loop& loop, const Options& options) : loop_(loop), options_(options) {}
  explicit ThreadPool(Loop& loop) : ThreadPool(loop, Options()) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Runs `work` on a thread, then `done` with its result on the loop. `work` can outlive the pool
  /// and all other objects, so it must access only what it owns. Without threads, tries again each
  /// kThreadPause.
  template <class Work, class Done>
  void Run(Work work, Done done) {
    Add(JobOf(std::move(work), std::move(done)));
    StartNext();
  }
  void Run(std::function<void()> work) {
    Add({.work = std::move(work)});
    StartNext();
  }
  /// The same, but refuses the job if it could start now and the system cannot create a thread.
  template <class Work, class Done>
  Status TryRun(Work work, Done done) {
    return TryRun(JobOf(std::move(work), std::move(done)));
  }
  Status TryRun(std::function<void()> work) { return TryRun(Job{.work = std::move(work)}); }

  /// Returns the time since the oldest unfinished job was passed to Run, or zero if there is none.
  /// Any thread.
  Clock::duration OldestAge(Clock::time_point now) const;

 private:
  struct Job {
    std::function<void()> work;
    std::function<void()> done = [] {};
    std::uint64_t serial = 0;
  };
  struct Running {
    Subscription patience;
    bool is_overdue = false;
  };

  template <class Work, class Done>
  static Job JobOf(Work work, Done done) {
    auto result = std::make_shared<std::optional<decltype(work())>>();
    return {.work = [result, work = std::move(work)]() mutable { result->emplace(work()); },
            .done = [result, done = std::move(done)]() mutable { done(std::move(**result)); }};
  }

  void Add(Job job);
  Status TryRun(Job job);
  void StartNext();
  bool HasPlace() const;
  Status Start(Job& job);
  void Forget(std::uint64_t serial);
  std::size_t overdue() const;

  Loop& loop_;
  const Options options_;
  std::deque<Job> waiting_;
  std::map<std::uint64_t, Running> running_;
  Subscription retry_;  ///< while no thread can be created
  std::uint64_t next_serial_ = 0;
  mutable std::mutex mutex_;                              ///< protects the next member
  std::map<std::uint64_t, Clock::time_point> requested_;  ///< unfinished jobs
  JobThreads threads_;
  Lifetime lifetime_;
};

}  // namespace patchbay
