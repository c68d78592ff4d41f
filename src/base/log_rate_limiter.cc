#include "base/log_rate_limiter.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace patchbay {
namespace {

constexpr double kOneAMinute = 1.0 / 60;

}  // namespace

/// Refills the bucket. Returns whether it has a token for one line.
bool LogRateLimiter::Bucket::Fill(double burst, double per_second, Time now) {
  const double seconds = std::chrono::duration<double>(now - filled).count();
  tokens = std::min(burst, tokens + seconds * per_second);
  filled = now;
  return tokens >= 1;
}

std::size_t LogRateLimiter::Bucket::TakeSuppressed(Time now) {
  if (left_out == 0 || (reported && now - *reported < kReportInterval)) return 0;
  reported = now;
  return std::exchange(left_out, 0);
}

LogRateLimiter::Outcome LogRateLimiter::Admit(std::string_view subject, Time now) {
  if (!all_.Fill(kBurstOfAll, kPerSecondOfAll, now)) {
    ++all_.left_out;
    return {};
  }
  Bucket& bucket = BucketOf(subject, now);
  if (!bucket.Fill(kBurst, kOneAMinute, now)) {
    ++bucket.left_out;
    return {};
  }
  all_.tokens -= 1;
  bucket.tokens -= 1;
  return {true, bucket.TakeSuppressed(now), all_.TakeSuppressed(now)};
}

LogRateLimiter::Outcome LogRateLimiter::AllowDetail(Time now) {
  if (!details_.Fill(kBurstOfAll, kPerSecondOfAll, now)) {
    ++details_.left_out;
    return {};
  }
  details_.tokens -= 1;
  return {true, 0, details_.TakeSuppressed(now)};
}

std::size_t LogRateLimiter::SuppressedCount() const {
  std::size_t count = all_.left_out + details_.left_out;
  for (const auto& [subject, bucket] : subjects_) count += bucket.left_out;
  return count;
}

LogRateLimiter::Bucket& LogRateLimiter::BucketOf(std::string_view subject, Time now) {
  const std::size_t hash = std::hash<std::string_view>()(subject);
  if (const auto found = subjects_.find(hash); found != subjects_.end()) return found->second;
  if (subjects_.size() == kMaxSubjects) {
    const auto oldest = std::min_element(
        subjects_.begin(), subjects_.end(),
        [](const auto& a, const auto& b) { return a.second.filled < b.second.filled; });
    all_.left_out += oldest->second.left_out;
    subjects_.erase(oldest);
  }
  return subjects_.emplace(hash, Bucket{.tokens = kBurst, .filled = now}).first->second;
}

}  // namespace patchbay
