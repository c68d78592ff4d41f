#include "dra/restart_policy.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr std::chrono::seconds kStableTime{10};
constexpr std::chrono::seconds kMaxPause{30};
constexpr int kMaxDoublings = 5;  // 2^5 exceeds kMaxPause

}  // namespace

Restart RestartFor(const SocketIds& created, const SocketIds& found) {
  if (!found.dra || found.dra != created.dra) return Restart::kBoth;
  if (!found.registration || found.registration != created.registration) {
    return Restart::kRegistration;
  }
  return Restart::kNone;
}

std::chrono::seconds RestartPause::OnFailure(Time now) {
  if (started_ && now - *started_ >= kStableTime) failures_ = 0;
  started_.reset();
  const int failures = failures_++;
  if (failures == 0) return std::chrono::seconds(0);
  return std::min(std::chrono::seconds(1 << std::min(failures - 1, kMaxDoublings)), kMaxPause);
}

}  // namespace patchbay
