#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "health/probe_scheduler.h"

namespace patchbay {

/// Decides when results of probes are published, so that many results cause few device list
/// updates: publishing takes at most a fifth of the loop's time, and a new reason for a device that
/// is already Unhealthy is delayed by one second.
///
/// Pure; time is an argument.
class PublishThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr std::chrono::seconds kReasonDelay{1};

  /// A result of a probe changed something. Returns the time to publish it; nothing if that is
  /// planned for an earlier time.
  std::optional<Time> OnChange(ProbeScheduler::Change change, Time now) {
    const bool is_urgent = change == ProbeScheduler::Change::kHealth;
    const Time due = is_urgent ? std::max(now, not_before_) : now + kReasonDelay;
    if (planned_ && *planned_ <= due) return std::nullopt;
    return planned_ = due;
  }
  /// A list is being published, or is not necessary: cancels the planned time.
  void OnPublishing() { planned_.reset(); }
  /// A list was published, which took the duration `took`.
  void OnPublished(Duration took, Time now) { not_before_ = now + 4 * took; }

 private:
  std::optional<Time> planned_;
  Time not_before_{};
};

}  // namespace patchbay
