#include "health/probe_pool.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/format.h"

namespace patchbay {
namespace {

/// Beyond so many devices that hang in the kernel at once, places are not given to others any more.
constexpr std::size_t kMostGivenUp = 256;
/// How long an end waits for jobs that were cancelled.
constexpr std::chrono::milliseconds kPatienceAtEnd{1500};

}  // namespace

/// Threads that nobody joins, since some may never come back. What they touch is theirs too.
class ProbePool::Threads : public std::enable_shared_from_this<Threads> {
 public:
  /// Called on any thread, under a lock.
  using Ended = std::function<void(std::uint64_t serial, ProbeOutcome outcome)>;

  Threads(std::size_t most_idle, Ended ended) : most_idle_(most_idle), ended_(std::move(ended)) {}

  void SetMostIdle(std::size_t most_idle) {
    const std::lock_guard lock(mutex_);
    most_idle_ = most_idle;
  }

  void Run(std::uint64_t serial, Job job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({serial, std::move(job)});
    if (jobs_.size() <= idle_) return wake_.notify_one();
    try {
      std::thread([self = shared_from_this()] { self->Work(); }).detach();
      ++idle_;
    } catch (const std::system_error&) {  // no more threads: one that is busy will come to it
    }
  }

  /// After this nothing is told any more. Waits for jobs that end soon, `given_up` of them not.
  void Stop(std::size_t given_up) {
    std::unique_lock lock(mutex_);
    ended_ = nullptr;
    jobs_.clear();
    wake_.notify_all();
    over_.wait_for(lock, kPatienceAtEnd, [&] { return busy_ <= given_up && idle_ == 0; });
  }

 private:
  struct Numbered {
    std::uint64_t serial;
    Job job;
  };

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !ended_ || !jobs_.empty(); });
      --idle_;
      if (!ended_) break;
      Numbered next = std::move(jobs_.front());
      jobs_.pop_front();
      ++busy_;
      lock.unlock();
      ProbeOutcome outcome = next.job();
      next.job = nullptr;
      lock.lock();
      --busy_;
      if (!ended_) break;
      ended_(next.serial, std::move(outcome));
      if (idle_ >= most_idle_) break;
      ++idle_;
    }
    over_.notify_all();
  }

  std::size_t most_idle_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable over_;
  std::deque<Numbered> jobs_;
  std::size_t idle_ = 0;
  std::size_t busy_ = 0;
  Ended ended_;  ///< null when all is over
};

struct ProbePool::Task {
  std::string resource;
  std::chrono::milliseconds patience;
  Job job;
  Done done;
  Subscription limit = {};
  bool given_up = false;
};

ProbePool::ProbePool(Loop& loop, int most_at_once)
    : loop_(loop),
      most_at_once_(most_at_once),
      threads_(std::make_shared<Threads>(
          static_cast<std::size_t>(most_at_once),
          [&loop, on_done = lifetime_.Guard([this](std::uint64_t serial, ProbeOutcome& outcome) {
            OnDone(serial, std::move(outcome));
          })](std::uint64_t serial, ProbeOutcome outcome) {
            loop.Post([on_done, serial,
                       shared = std::make_shared<ProbeOutcome>(std::move(outcome))]() mutable {
              on_done(serial, *shared);
            });
          })) {}

ProbePool::~ProbePool() { threads_->Stop(given_up()); }

void ProbePool::SetMostAtOnce(int most_at_once) {
  most_at_once_ = most_at_once;
  threads_->SetMostIdle(static_cast<std::size_t>(most_at_once));
  StartNext();
}

void ProbePool::Run(const std::string& resource, std::chrono::milliseconds patience, Job job,
                    Done done) {
  waiting_[resource].push_back({resource, patience, std::move(job), std::move(done)});
  StartNext();
}

void ProbePool::Drop(const std::string& resource) {
  waiting_.erase(resource);
  for (auto& [serial, task] : begun_) {
    if (task.resource == resource) task.done = [](const ProbeOutcome&) {};
  }
}

void ProbePool::StartNext() {
  while (running_ < most_at_once_ && !waiting_.empty() && given_up() < kMostGivenUp) {
    auto turn = waiting_.upper_bound(last_turn_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_turn_ = turn->first;
    Task task = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    Begin(std::move(task));
  }
}

void ProbePool::Begin(Task task) {
  const std::uint64_t serial = next_serial_++;
  ++running_;
  task.limit = loop_.After(task.patience, [this, serial] { GiveUp(serial); });
  threads_->Run(serial, std::exchange(task.job, nullptr));
  begun_.emplace(serial, std::move(task));
}

void ProbePool::GiveUp(std::uint64_t serial) {
  Task& task = begun_.at(serial);
  task.limit = Subscription();
  task.given_up = true;
  --running_;
  const Done done = task.done;  // which may drop the task
  ProbeOutcome outcome;
  outcome.result = ProbeResult::kTimeout;
  outcome.reason = format(
      "no answer within {} ms; it hangs in the kernel, and the device is not "
      "probed again before it comes back",
      task.patience.count());
  outcome.took = task.patience;
  outcome.hangs = true;
  done(std::move(outcome));
  StartNext();
}

void ProbePool::OnDone(std::uint64_t serial, ProbeOutcome outcome) {
  auto node = begun_.extract(serial);
  const Task& task = node.mapped();
  if (!task.given_up) --running_;
  task.done(std::move(outcome));
  StartNext();
}

}  // namespace patchbay
