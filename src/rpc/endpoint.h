#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "rpc/server_call.h"

namespace patchbay {

/// The handlers of one socket, and the number of their calls that are running. Thread-safe.
class Endpoint {
 public:
  explicit Endpoint(RpcHandlers handlers) : handlers_(std::move(handlers)) {}

  const RpcHandlers& handlers() const { return handlers_; }

  /// Begins a call, unless the endpoint is closed. Every call that began must end.
  bool BeginCall() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    ++calls_;
    return true;
  }
  void EndCall() {
    const std::lock_guard lock(mutex_);
    if (--calls_ == 0) idle_.notify_all();
  }

  /// No call begins afterwards.
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  /// Waits until no call is running.
  void AwaitIdle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return calls_ == 0; });
  }
  /// Waits until then at most.
  void AwaitIdleUntil(std::chrono::steady_clock::time_point time) {
    std::unique_lock lock(mutex_);
    idle_.wait_until(lock, time, [this] { return calls_ == 0; });
  }

 private:
  const RpcHandlers handlers_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t calls_ = 0;
  bool is_closed_ = false;
};

}  // namespace patchbay
