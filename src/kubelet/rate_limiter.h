#pragma once

#include <chrono>
#include <optional>

namespace patchbay {

/// Limits updates to one per interval: the first is sent immediately, the next when the interval is
/// over. The kubelet writes its checkpoint file for every device list, so a flapping device must
/// not cause constant disk writes. Pure; time is an argument.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit RateLimiter(std::chrono::steady_clock::duration interval) : interval_(interval) {}

  /// Returns when a change made at `now` may be sent; `now` itself means immediately.
  Time NextAllowed(Time now) const {
    if (!last_ || now - *last_ >= interval_) return now;
    return *last_ + interval_;
  }
  void RecordSend(Time now) { last_ = now; }

 private:
  std::chrono::steady_clock::duration interval_;
  std::optional<Time> last_;
};

}  // namespace patchbay
