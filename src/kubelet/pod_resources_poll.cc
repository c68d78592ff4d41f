#include "kubelet/pod_resources_poll.h"

#include <algorithm>
#include <utility>

namespace patchbay {

using Version = PodResourcesVersion;

void PodResourcesPoll::Soon(Time now) {
  const Time when = now + kPollSoon;
  if (!due_) {
    soon_ = soon_.value_or(when);
  } else if (limited_ == 0) {
    due_ = std::min(*due_, when);
  }
}

bool PodResourcesPoll::End(PollOutcome outcome, Time now) {
  if (outcome == PollOutcome::kUnimplemented && !other_tried_) {
    other_tried_ = true;
    version_ = version_ == Version::kV1 ? Version::kV1alpha1 : Version::kV1;
    due_ = now;
    return false;
  }
  other_tried_ = false;
  last_ = outcome;
  const std::optional<Time> soon = std::exchange(soon_, std::nullopt);
  if (outcome == PollOutcome::kRateLimited) {
    ++limited_;
    due_ = now + BackOff();
    return true;
  }
  limited_ = 0;
  up_ = outcome == PollOutcome::kAnswered;
  if (!*up_) version_ = Version::kV1;
  due_ = now + period_;
  if (soon) due_ = std::clamp(*soon, now, *due_);
  return true;
}

PodResourcesPoll::Duration PodResourcesPoll::BackOff() const {
  constexpr int kMaxPeriods = 12;
  return period_ * std::min(1 << std::min(limited_, 4), kMaxPeriods);
}

}  // namespace patchbay
