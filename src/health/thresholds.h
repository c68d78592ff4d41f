#pragma once

#include <algorithm>

#include "model/device.h"

namespace patchbay {

/// Applies failure_threshold and success_threshold to probe results, like the probes of Kubernetes:
/// the health changes after that many consecutive failures or successes. This includes the change
/// from the health before the first result. A value.
class Thresholds {
 public:
  Thresholds(int failures, int successes, Health before_first)
      : failures_(failures), successes_(successes), health_(before_first) {}

  /// Changes the thresholds from the next result on. If no result has changed the health yet, it is
  /// the new health before the first result.
  void SetLimits(int failures, int successes, Health before_first) {
    failures_ = failures;
    successes_ = successes;
    run_ = 0;
    if (!has_result_) health_ = before_first;
  }

  /// Records a result. Returns whether health() has changed.
  bool Step(bool success) {
    const int needed = success ? successes_ : failures_;
    run_ = success == last_ ? std::min(run_ + 1, needed) : 1;
    last_ = success;
    has_result_ = true;
    const Health target = success ? Health::kHealthy : Health::kUnhealthy;
    if (health_ == target || run_ < needed) return false;
    health_ = target;
    return true;
  }

  Health health() const { return health_; }

 private:
  int failures_;
  int successes_;
  int run_ = 0;  ///< the number of consecutive equal results
  bool last_ = false;
  bool has_result_ = false;  ///< there was a result
  Health health_;
};

}  // namespace patchbay
