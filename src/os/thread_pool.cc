// All threads run the same loop: call the `on_late` of a job whose limit has passed, start the next
// job if one may start, and otherwise wait for the time at which that can change. A waiting thread
// is therefore the timer for the running jobs. Ensure keeps one waiting while a timer is needed:
// while jobs wait for a running job to become overdue, and while a job has a limit.
//
// The pool and its threads share ownership of the state. After the pool is destroyed, a thread
// whose work returns detects `stopped_` and accesses nothing else.

#include "os/thread_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/format.h"
#include "os/thread_limit.h"

namespace patchbay {

class ThreadPool::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const Options& options) : options_(options) {}

  void Begin() {
    const std::lock_guard lock(mutex_);
    try {
      StartThread();
    } catch (const std::system_error& problem) {
      throw std::system_error(problem.code(),
                              Format("cannot start a thread; {}", kRaiseThreadLimit));
    }
  }

  bool Run(Job job) {
    const Time now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (stopped_) return true;
    const Time late_at = job.on_late ? now + job.limit : Time::max();
    limited_ += job.on_late ? 1 : 0;
    const bool may_wait = !job.needs_thread;
    queue_.push_back({std::move(job), now, late_at});
    if (Ensure(now) || may_wait) return true;
    if (late_at != Time::max()) --limited_;
    queue_.pop_back();
    return false;
  }

  void Stop() {
    std::deque<Task> dropped;
    std::unique_lock lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
    wake_.notify_all();
    ended_.wait(lock, [this] { return finishing_ == 0; });
    const Time deadline = Clock::now() + options_.end_patience;
    for (Time now = Clock::now(); now < deadline; now = Clock::now()) {
      if (idle_ == 0 && InTime(now) == 0) break;
      ended_.wait_until(lock, std::min(deadline, NextOverdue(now)));
    }
  }

  /// Returns whether there are threads for all jobs, after an attempt to create them.
  bool HasThreads() {
    const std::lock_guard lock(mutex_);
    return stopped_ || Ensure(Clock::now());
  }

  Clock::duration OldestAge(Time now) const {
    const std::lock_guard lock(mutex_);
    Time oldest = now;
    if (!queue_.empty()) oldest = std::min(oldest, queue_.front().queued);
    for (const auto& [serial, running] : running_) oldest = std::min(oldest, running.queued);
    return now - oldest;
  }

 private:
  struct Task {
    Job job;
    Time queued;
    Time late_at;
  };
  struct Running {
    Time queued;
    Time begun;
    Time late_at;
    std::function<void()> on_late;
    bool is_late = false;
  };

  bool IsOverdue(const Running& running, Time now) const {
    return now - running.begun >= options_.patience;
  }
  std::size_t InTime(Time now) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        running_, [&](const auto& entry) { return !IsOverdue(entry.second, now); }));
  }
  /// Returns the number of jobs that may start now.
  std::size_t FreePlaces(Time now) const {
    const std::size_t in_time = InTime(now);
    const std::size_t overdue = running_.size() - in_time;
    const std::size_t taken = in_time + overdue - std::min(overdue, options_.max_overdue);
    return options_.max_running - std::min(taken, options_.max_running);
  }
  Time NextOverdue(Time now) const {
    Time next = Time::max();
    for (const auto& [serial, running] : running_) {
      if (!IsOverdue(running, now)) next = std::min(next, running.begun + options_.patience);
    }
    return next;
  }
  /// Returns the time at which a waiting thread has work, if no other event occurs.
  Time NextEvent(Time now) const {
    Time next = queue_.empty() ? Time::max() : NextOverdue(now);
    if (limited_ == 0) return next;
    for (const Task& task : queue_) next = std::min(next, task.late_at);
    for (const auto& [serial, running] : running_) {
      if (running.on_late) next = std::min(next, running.late_at);
    }
    return next;
  }

  void StartThread() {
    std::thread([self = shared_from_this()] {
      if (const int niceness = self->options_.niceness; niceness != 0) {
        // Linux changes only this thread.
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + niceness);
      }
      self->Work();
    }).detach();
    ++idle_;
  }

  /// Ensures that enough threads wait for the jobs that may start and for those that may become
  /// late. Returns whether there are enough.
  bool Ensure(Time now) {
    const std::size_t beginning = std::min(queue_.size(), FreePlaces(now));
    const bool needs_timer = queue_.size() > beginning || limited_ > 0;
    const std::size_t wanted = beginning + (needs_timer ? 1 : 0);
    while (idle_ < wanted && !stopped_) {
      try {
        StartThread();
      } catch (const std::system_error&) {
        break;
      }
    }
    if (wanted == 1) {
      wake_.notify_one();
    } else if (wanted > 1) {
      wake_.notify_all();
    }
    return idle_ >= wanted;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const Time now = Clock::now();
      if (auto on_late = TakeLate(now)) {
        Call(std::move(on_late), lock);
      } else if (!queue_.empty() && FreePlaces(now) > 0) {
        Do(now, lock);
        if (idle_ > options_.max_idle && !stopped_) break;
      } else if (!Wait(now, lock)) {
        break;
      }
    }
    --idle_;
    Ensure(Clock::now());
    ended_.notify_all();
  }

  /// Waits for the next event. Returns false if this thread is not needed any more.
  bool Wait(Time now, std::unique_lock<std::mutex>& lock) {
    const bool needs_timer = !queue_.empty() || limited_ > 0;
    const std::size_t needed = options_.starts_at_once || needs_timer ? 1 : 0;
    const Time end = idle_ > needed ? now + options_.max_idle_time : Time::max();
    const Time next = std::min(NextEvent(now), end);
    if (next == Time::max()) {
      wake_.wait(lock);
      return true;
    }
    const bool is_over = wake_.wait_until(lock, next) == std::cv_status::timeout && next == end;
    // A job may have counted on this thread meanwhile, or the other idle threads have ended.
    return !is_over || !queue_.empty() || idle_ <= needed;
  }

  void Do(Time now, std::unique_lock<std::mutex>& lock) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    const std::uint64_t serial = next_serial_++;
    running_[serial] = {task.queued, now, task.late_at, std::move(task.job.on_late)};
    --idle_;
    Ensure(now);
    lock.unlock();
    task.job.work();
    task.job.work = nullptr;
    lock.lock();
    auto ended = running_.extract(serial);
    if (ended.mapped().on_late) --limited_;
    if (!stopped_ && task.job.then && !ended.mapped().is_late) {
      Call(std::move(task.job.then), lock);
    }
    ++idle_;
    ended_.notify_all();
    lock.unlock();  // destroying what the functions own may block
    ended = {};
    task = {};
    lock.lock();
  }

  /// Returns the `on_late` of a job whose limit has passed, or null if there is none.
  std::function<void()> TakeLate(Time now) {
    if (limited_ == 0) return nullptr;
    for (auto& [serial, running] : running_) {
      if (!running.on_late || running.late_at > now) continue;
      running.is_late = true;
      --limited_;
      return std::exchange(running.on_late, nullptr);
    }
    const auto late =
        std::ranges::find_if(queue_, [&](const Task& task) { return task.late_at <= now; });
    if (late == queue_.end()) return nullptr;
    // The function owns the rest of the job, which is destroyed when the lock is not held.
    auto dropped = std::make_shared<Job>(std::move(late->job));
    queue_.erase(late);
    --limited_;
    return [dropped] { dropped->on_late(); };
  }

  void Call(std::function<void()> f, std::unique_lock<std::mutex>& lock) {
    ++finishing_;
    lock.unlock();
    f();
    f = nullptr;
    lock.lock();
    --finishing_;
    ended_.notify_all();
  }

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;  ///< notified when a job, a callback or a thread ends
  std::deque<Task> queue_;
  std::map<std::uint64_t, Running> running_;
  std::uint64_t next_serial_ = 0;
  std::size_t limited_ = 0;    ///< jobs, waiting or running, whose on_late may still be called
  std::size_t idle_ = 0;       ///< threads that run no job
  std::size_t finishing_ = 0;  ///< running calls of `then` and `on_late`
  bool stopped_ = false;
};

ThreadPool::ThreadPool(const Options& options) : state_(std::make_shared<State>(options)) {
  if (options.starts_at_once) state_->Begin();
}

ThreadPool::~ThreadPool() { state_->Stop(); }

bool ThreadPool::Run(Job job) { return state_->Run(std::move(job)); }

void ThreadPool::AwaitThread(Loop& loop) {
  if (thread_retry_ || state_->HasThreads()) return;
  thread_retry_ = loop.After(kThreadPause, [this, &loop] {
    thread_retry_ = Subscription();
    AwaitThread(loop);
  });
}

ThreadPool::Clock::duration ThreadPool::OldestAge(Time now) const { return state_->OldestAge(now); }

}  // namespace patchbay
