#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "os/loop.h"

namespace patchbay {

/// Connects threads that can outlive a loop with it: a thread waits for what the loop does, with a
/// deadline, until the port is closed. Thread-safe; always in a shared_ptr.
class LoopPort : public std::enable_shared_from_this<LoopPort> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `loop` must live until Close.
  explicit LoopPort(Loop& loop) : loop_(&loop) {}

  /// Nothing reaches the loop any more, and no thread waits.
  void Close() {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
    changed_.notify_all();
  }

  /// Calls `f` on the loop, unless the port is closed.
  void Post(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) loop_->Post(std::move(f));
  }

  /// Calls `start` on this thread with a function that any thread can call with the value. Returns
  /// the value; nothing if the deadline passes or the port is closed.
  template <class T, class Start>
  std::optional<T> Await(Time deadline, Start start) {
    const auto value = std::make_shared<std::optional<T>>();
    start([self = shared_from_this(), value](T result) {
      const std::lock_guard lock(self->mutex_);
      if (!*value) value->emplace(std::move(result));
      self->changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return loop_ == nullptr || value->has_value(); });
    return *value;
  }

  /// Returns what `f` returns on the loop.
  template <class F>
  auto Call(Time deadline, F f) -> std::optional<decltype(f())> {
    return Await<decltype(f())>(deadline, [&](auto done) {
      Post([f = std::move(f), done = std::move(done)] { done(f()); });
    });
  }

  /// Returns false at once if the port is or gets closed.
  bool SleepUntil(Time time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, time, [&] { return loop_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Loop* loop_;
};

}  // namespace patchbay
