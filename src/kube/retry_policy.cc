#include "kube/retry_policy.h"

#include <algorithm>

namespace patchbay {

using std::chrono::milliseconds;

ApiRetry RetryFor(const ApiError& error) {
  if (error.kind == ApiErrorKind::kRequest) return ApiRetry::kRejected;
  if (error.kind != ApiErrorKind::kStatus) return ApiRetry::kLater;
  switch (error.status) {
    case 401:  // the token file may be about to change
    case 403:  // an API server that starts does not know its rules yet
    case 408:
    case 429: return ApiRetry::kLater;
    case 409: return ApiRetry::kReread;
    case 410: return ApiRetry::kRelist;
    default: return error.status >= 500 ? ApiRetry::kLater : ApiRetry::kRejected;
  }
}

milliseconds RetryPolicy::NextDelay(const ApiError& error, ApiRetry retry) {
  constexpr unsigned kDoublings = 8;  // beyond kLongest
  const milliseconds grown = kFirst * (1U << std::min(failures_, kDoublings));
  const bool rejected = retry == ApiRetry::kRejected;
  const milliseconds limit = rejected ? kLongest : std::min(grown, kLongest);
  ++failures_;
  std::uniform_int_distribution<milliseconds::rep> distribution(rejected ? limit.count() / 2 : 0,
                                                                limit.count());
  const milliseconds delay(distribution(random_));
  return std::max<milliseconds>(delay, error.retry_after.value_or(std::chrono::seconds(0)));
}

}  // namespace patchbay
