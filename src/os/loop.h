#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace patchbay {

/// Keeps something registered with a Loop; dropping it takes the registration back, after which its
/// function is not called any more. Belongs to the loop thread.
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

/// The one thread that owns everything that changes, seen from the parts that live on it. Time is
/// asked of the loop, so that a test can put one with a clock of its own in its place.
///
/// Post may be called from any thread; all else belongs to the loop thread. No function given to a
/// loop may block.
class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = Clock::duration;

  virtual ~Loop() = default;

  virtual Time Now() const = 0;
  /// Calls `f` on the loop thread, in the order of the calls to Post.
  virtual void Post(std::function<void()> f) = 0;
  /// Calls `f` once, `delay` from now, unless the subscription is dropped first.
  virtual Subscription After(Duration delay, std::function<void()> f) = 0;
  /// Calls `f` whenever `fd` has something to read. The descriptor must outlive the subscription.
  virtual Subscription OnReadable(int fd, std::function<void()> f) = 0;
};

/// Binds functions to the life of an object on the loop thread: a guarded function does nothing
/// once the Lifetime is gone. Make it the last member, so that it goes first.
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
