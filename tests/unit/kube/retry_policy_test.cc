#include "kube/retry_policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ApiError WithStatus(unsigned status) {
  return {.kind = ApiErrorKind::kStatus, .message = "m", .status = status};
}
const ApiError kLost{.kind = ApiErrorKind::kNetwork, .message = "m"};

TEST(RetryFor, DependsOnTheStatus) {
  for (const unsigned status : {401, 403, 408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(RetryFor(WithStatus(status)), ApiRetry::kLater) << status;
  }
  for (const unsigned status : {301, 400, 404, 405, 422}) {
    EXPECT_EQ(RetryFor(WithStatus(status)), ApiRetry::kRejected) << status;
  }
  EXPECT_EQ(RetryFor(WithStatus(409)), ApiRetry::kReread);
  EXPECT_EQ(RetryFor(WithStatus(410)), ApiRetry::kRelist);
}

TEST(RetryFor, RetriesFailuresWithoutAStatus) {
  for (const auto kind : {ApiErrorKind::kCredentials, ApiErrorKind::kNetwork, ApiErrorKind::kTls,
                          ApiErrorKind::kTimeout, ApiErrorKind::kResponse}) {
    EXPECT_EQ(RetryFor({.kind = kind, .message = "m"}), ApiRetry::kLater);
  }
  EXPECT_EQ(RetryFor({.kind = ApiErrorKind::kRequest, .message = "m"}), ApiRetry::kRejected);
}

/// Returns the longest of many delays after `failures` failures.
milliseconds LongestDelay(unsigned failures) {
  milliseconds longest{0};
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    RetryPolicy policy(seed);
    for (unsigned i = 1; i < failures; ++i) static_cast<void>(policy.NextDelay(kLost));
    longest = std::max(longest, policy.NextDelay(kLost));
  }
  return longest;
}

TEST(RetryPolicy, DoublesTheLimitUpToTheLongest) {
  using testing::AllOf, testing::Gt, testing::Le;
  EXPECT_THAT(LongestDelay(1), AllOf(Gt(milliseconds(150)), Le(milliseconds(200))));
  EXPECT_THAT(LongestDelay(2), AllOf(Gt(milliseconds(300)), Le(milliseconds(400))));
  EXPECT_THAT(LongestDelay(8), AllOf(Gt(seconds(20)), Le(milliseconds(25'600))));
  EXPECT_THAT(LongestDelay(9), AllOf(Gt(seconds(25)), Le(seconds(30))));
  EXPECT_THAT(LongestDelay(200), AllOf(Gt(seconds(25)), Le(seconds(30))));
}

TEST(RetryPolicy, SpreadsTheClients) {
  std::set<milliseconds> delays;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    RetryPolicy policy(seed);
    for (int i = 0; i < 10; ++i) static_cast<void>(policy.NextDelay(kLost));
    delays.insert(policy.NextDelay(kLost));
  }
  EXPECT_GT(delays.size(), 90u);
  EXPECT_LT(*delays.begin(), seconds(5));
}

TEST(RetryPolicy, StartsAgainAfterASuccess) {
  RetryPolicy policy(1);
  for (int i = 0; i < 10; ++i) static_cast<void>(policy.NextDelay(kLost));
  policy.Reset();
  EXPECT_LE(policy.NextDelay(kLost), RetryPolicy::kFirst);
}

TEST(RetryPolicy, WaitsAtLeastRetryAfter) {
  RetryPolicy policy(1);
  ApiError busy = WithStatus(429);
  busy.retry_after = seconds(45);
  EXPECT_EQ(policy.NextDelay(busy), seconds(45));
  EXPECT_LT(policy.NextDelay(WithStatus(429)), seconds(1));
}

TEST(RetryPolicy, WaitsLongAfterARejection) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    RetryPolicy policy(seed);
    const milliseconds delay = policy.NextDelay(WithStatus(422));
    EXPECT_GE(delay, RetryPolicy::kLongest / 2);
    EXPECT_LE(delay, RetryPolicy::kLongest);
  }
}

}  // namespace
}  // namespace patchbay
