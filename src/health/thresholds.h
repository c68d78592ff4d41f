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

  /// Other thresholds, from the next verdict on. A state that no verdict has made yet is the new
  /// one from before the first.
  void SetLimits(int failures, int successes, Health before_first) {
    failures_ = failures;
    successes_ = successes;
    run_ = 0;
    if (!is_judged_) health_ = before_first;
  }

  /// Takes in a verdict; returns whether health() is another now.
  bool Step(bool success) {
    const int needed = success ? successes_ : failures_;
    run_ = success == last_ ? std::min(run_ + 1, needed) : 1;
    last_ = success;
    is_judged_ = true;
    const Health target = success ? Health::kHealthy : Health::kUnhealthy;
    if (health_ == target || run_ < needed) return false;
    health_ = target;
    return true;
  }

  Health health() const { return health_; }

 private:
  int failures_;
  int successes_;
  int run_ = 0;  ///< verdicts in a row that were as the last
  bool last_ = false;
  bool is_judged_ = false;  ///< there was a verdict
  Health health_;
};

}  // namespace patchbay
