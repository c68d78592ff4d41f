#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace patchbay {

/// A registration with a Loop. Destroying it cancels the registration; its function is not called
/// afterwards. Used on the loop thread only.
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    std::swap(cancel_, other.cancel_);
    return *this;
  }
  ~Subscription() {
    if (cancel_) cancel_();
  }
  explicit operator bool() const { return cancel_ != nullptr; }

 private:
  std::function<void()> cancel_;
};

/// The event loop, as its users see it. Its thread owns all mutable state. Users read the time from
/// the loop, so that a test can replace it with a loop that has a simulated clock.
///
/// Post can be called on any thread, all other methods only on the loop thread. Functions passed to
/// a loop must not block.
class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = Clock::duration;

  virtual ~Loop() = default;

  /// Returns the time of the loop's clock, which tests control. From any thread.
  virtual Time Now() const = 0;
  /// Calls `f` on the loop thread, in the order of the calls to Post.
  virtual void Post(std::function<void()> f) = 0;
  /// Calls `f` once, `delay` from now, unless the subscription is destroyed first.
  virtual Subscription After(Duration delay, std::function<void()> f) = 0;
  /// Calls `f` whenever `fd` is readable. The descriptor must outlive the subscription.
  virtual Subscription OnReadable(int fd, std::function<void()> f) = 0;
};

/// Binds functions to the lifetime of an object on the loop thread: a guarded function does nothing
/// after the Lifetime is destroyed. Declare it as the last member, so that it is destroyed first.
class Lifetime {
 public:
  template <class F>
  auto Guard(F f) const {
    return [weak = std::weak_ptr<const bool>(token_), f = std::move(f)](auto&&... args) mutable {
      if (weak.lock()) f(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<const bool> token_ = std::make_shared<const bool>(true);
};

}  // namespace patchbay
