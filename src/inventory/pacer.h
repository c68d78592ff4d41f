#pragma once

#include <chrono>
#include <optional>

namespace patchbay {

/// Says when the next of many changes may be sent: at once when nothing was sent for an interval,
/// else when the interval is over. The kubelet writes its checkpoint for every list, so that a
/// flapping device must not become a flapping disk. Pure; time is an argument.
class Pacer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Pacer(std::chrono::steady_clock::duration interval) : interval_(interval) {}

  /// When something that changed at `now` is to be sent; `now` itself means at once.
  Time Next(Time now) const {
    if (!last_ || now - *last_ >= interval_) return now;
    return *last_ + interval_;
  }
  void Sent(Time now) { last_ = now; }

 private:
  std::chrono::steady_clock::duration interval_;
  std::optional<Time> last_;
};

}  // namespace patchbay
