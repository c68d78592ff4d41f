#pragma once

#include <algorithm>

#include "model/device.h"

namespace patchbay {

/// Turns single verdicts into a state, as Kubernetes does: so many failures in a row make a device
/// unhealthy, so many successes in a row make it healthy. The first verdict that differs from what
/// is reported before it needs its threshold as well. A value.
class Thresholds {
 public:
  Thresholds(int failures, int successes, Health before_first)
      : failures_(failures), successes_(successes), health_(before_first) {}

  /// Takes in a verdict; returns whether health() is another now.
  bool Step(bool success) {
    const int needed = success ? successes_ : failures_;
    run_ = success == last_ ? std::min(run_ + 1, needed) : 1;
    last_ = success;
    const Health target = success ? Health::kHealthy : Health::kUnhealthy;
    if (health_ == target || run_ < needed) return false;
    health_ = target;
    return true;
  }

  /// Whether there was a verdict at all.
  bool is_judged() const { return run_ > 0; }
  Health health() const { return health_; }

 private:
  int failures_;
  int successes_;
  int run_ = 0;  ///< verdicts in a row that were as the last
  bool last_ = false;
  Health health_;
};

}  // namespace patchbay
