#include "kubelet/rate_limiter.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

RateLimiter::Time At(int ms) { return RateLimiter::Time(std::chrono::hours(1)) + milliseconds(ms); }

TEST(RateLimiter, AllowsASendImmediatelyAfterAQuietInterval) {
  RateLimiter limiter(milliseconds(1000));
  EXPECT_EQ(limiter.NextAllowed(At(5)), At(5)) << "nothing was ever sent";
  limiter.RecordSend(At(10));
  struct Case {
    int changed, sent;
  };
  const Case cases[] = {{10, 1010},   {11, 1010},   {500, 1010}, {1009, 1010},
                        {1010, 1010}, {1011, 1011}, {9999, 9999}};
  for (const Case& c : cases)
    EXPECT_EQ(limiter.NextAllowed(At(c.changed)), At(c.sent)) << c.changed;
}

TEST(RateLimiter, AllowsOneSendPerInterval) {
  RateLimiter limiter(milliseconds(1000));
  limiter.RecordSend(At(-1000));
  int sent = 0;
  for (int ms = 0; ms < 10'000; ms += 20) {
    if (limiter.NextAllowed(At(ms)) > At(ms)) continue;
    limiter.RecordSend(At(ms));
    ++sent;
  }
  EXPECT_EQ(sent, 10);
}

TEST(RateLimiter, IntervalOfZeroAllowsEverySend) {
  RateLimiter limiter(milliseconds(0));
  limiter.RecordSend(At(1));
  EXPECT_EQ(limiter.NextAllowed(At(1)), At(1));
}

}  // namespace
}  // namespace patchbay
