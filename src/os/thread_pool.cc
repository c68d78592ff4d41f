#include "os/thread_pool.h"

#include <algorithm>

namespace patchbay {

ThreadPool::~ThreadPool() { threads_.End(options_.end_patience, overdue()); }

void ThreadPool::Add(Job job) {
  job.serial = next_serial_++;
  {
    const std::lock_guard lock(mutex_);
    requested_.emplace(job.serial, Clock::now());
  }
  waiting_.push_back(std::move(job));
}

Status ThreadPool::TryRun(Job job) {
  Add(std::move(job));
  if (waiting_.size() > 1 || !HasPlace()) return {};
  Status started = Start(waiting_.front());
  if (!started) Forget(waiting_.front().serial);
  waiting_.pop_front();
  return started;
}

void ThreadPool::StartNext() {
  while (!waiting_.empty() && HasPlace()) {
    if (!Start(waiting_.front())) {
      retry_ = loop_.After(kThreadPause, [this] { StartNext(); });
      return;
    }
    waiting_.pop_front();
  }
}

bool ThreadPool::HasPlace() const {
  const std::size_t replaced = std::min(overdue(), options_.max_overdue);
  return running_.size() - replaced < options_.max_running;
}

std::size_t ThreadPool::overdue() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const auto& job) { return job.second.is_overdue; }));
}

/// Leaves the job as it is if it fails.
Status ThreadPool::Start(Job& job) {
  const auto work = std::make_shared<std::function<void()>>(std::move(job.work));
  const auto end = lifetime_.Guard([this, serial = job.serial, done = job.done] {
    Forget(serial);
    StartNext();
    done();  // last: it can destroy the pool
  });
  if (Status started = threads_.Run([work, end, &loop = loop_](const JobThreads::Owner& owner) {
        (*work)();
        *work = nullptr;  // destroying what it owns may block
        owner.Call([&] { loop.Post(end); });
      });
      !started) {
    job.work = std::move(*work);
    return started;
  }
  running_[job.serial].patience = loop_.After(options_.patience, [this, serial = job.serial] {
    running_.at(serial).is_overdue = true;
    StartNext();
  });
  return {};
}

void ThreadPool::Forget(std::uint64_t serial) {
  running_.erase(serial);
  const std::lock_guard lock(mutex_);
  requested_.erase(serial);
}

ThreadPool::Clock::duration ThreadPool::OldestAge(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return requested_.empty() ? Clock::duration::zero() : now - requested_.begin()->second;
}

}  // namespace patchbay
