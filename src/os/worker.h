#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "os/loop.h"

namespace patchbay {

/// Threads for what is too slow for the loop: walking directories, starting and stopping servers.
/// Jobs begin in the order of the calls, and with one thread run one after the other. A job brings
/// its result back itself, with Loop::Post and a guarded function.
///
/// Run may be called from any thread. The destructor waits for the jobs under way and drops those
/// that have not begun.
class Worker {
 public:
  explicit Worker(int threads = 1);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Run(std::function<void()> job);

  /// Runs `job` on the worker, then `done` with what it returned on `loop`.
  template <class Job, class Done>
  void Run(Loop& loop, Job job, Done done) {
    Run([&loop, job = std::move(job), done = std::move(done)]() mutable {
      auto result = std::make_shared<decltype(job())>(job());
      loop.Post([result, done = std::move(done)]() mutable { done(std::move(*result)); });
    });
  }

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace patchbay
