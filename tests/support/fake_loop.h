#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "os/loop.h"

namespace patchbay::test {

/// A Loop with virtual time. Functions run only within Advance, RunPosted, RunReadable and
/// RunUntil, on the thread that calls them.
class FakeLoop : public Loop {
 public:
  Time Now() const override { return now_; }

  void Post(std::function<void()> f) override {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(f));
    }
    wake_.notify_one();
  }

  Subscription After(Duration delay, std::function<void()> f) override {
    const TimerKey key(now_ + std::max(delay, Duration::zero()), next_++);
    timers_->emplace(key, std::move(f));
    return Subscription([weak = std::weak_ptr(timers_), key] {
      if (const auto timers = weak.lock()) timers->erase(key);
    });
  }

  Subscription OnReadable(int fd, std::function<void()> f) override {
    const int key = next_++;
    readers_->emplace(key, Reader{fd, std::move(f)});
    return Subscription([weak = std::weak_ptr(readers_), key] {
      if (const auto readers = weak.lock()) readers->erase(key);
    });
  }

  /// Advances the clock and runs the timers that are due, each at its own time; timers of the same
  /// time in the order of the calls to After. Posted functions run before the clock advances.
  void Advance(Duration duration) {
    const Time end = now_ + duration;
    RunPosted();
    while (!timers_->empty() && timers_->begin()->first.first <= end) {
      auto timer = timers_->extract(timers_->begin());
      now_ = timer.key().first;
      timer.mapped()();
      RunPosted();
    }
    now_ = end;
  }

  /// Runs the posted functions, and those that they post. Returns false if there were none.
  bool RunPosted() {
    if (!RunNextPosted()) return false;
    while (RunNextPosted()) {
    }
    return true;
  }

  /// Calls the function of every readable descriptor once, waiting up to `patience` of real time
  /// for the first. Returns false if there was none.
  bool RunReadable(std::chrono::milliseconds patience = {}) {
    std::vector<int> keys;
    std::vector<pollfd> fds;
    for (const auto& [key, reader] : *readers_) {
      keys.push_back(key);
      fds.push_back({reader.fd, POLLIN, 0});
    }
    if (poll(fds.data(), fds.size(), static_cast<int>(patience.count())) <= 0) return false;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      const auto reader = readers_->find(keys[i]);
      if (fds[i].revents == 0 || reader == readers_->end()) continue;
      const auto f = reader->second.f;  // a copy: it may drop its own subscription
      f();
    }
    return true;
  }

  /// Runs the functions that other threads post, one by one, until `done` holds: those after that
  /// remain. Returns false if none was posted within `patience` of real time.
  template <class Predicate>
  bool RunUntil(Predicate done, std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    while (!done()) {
      if (RunNextPosted()) continue;
      std::unique_lock lock(mutex_);
      if (!wake_.wait_for(lock, patience, [this] { return !posted_.empty(); })) return false;
    }
    return true;
  }

  std::size_t timers() const { return timers_->size(); }
  /// The time until the next timer; there must be one.
  Duration UntilNextTimer() const { return timers_->begin()->first.first - now_; }

 private:
  using TimerKey = std::pair<Time, int>;
  struct Reader {
    int fd;
    std::function<void()> f;
  };

  /// Returns false if there was none.
  bool RunNextPosted() {
    std::function<void()> f;
    {
      const std::lock_guard lock(mutex_);
      if (posted_.empty()) return false;
      f = std::move(posted_.front());
      posted_.pop_front();
    }
    f();
    return true;
  }

  Time now_ = Time() + std::chrono::hours(1);
  int next_ = 0;
  // Shared, so that a subscription may outlive the loop.
  std::shared_ptr<std::map<TimerKey, std::function<void()>>> timers_ =
      std::make_shared<std::map<TimerKey, std::function<void()>>>();
  std::shared_ptr<std::map<int, Reader>> readers_ = std::make_shared<std::map<int, Reader>>();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> posted_;
};

}  // namespace patchbay::test
