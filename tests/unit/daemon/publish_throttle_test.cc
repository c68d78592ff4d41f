#include "daemon/publish_throttle.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Change = ProbeScheduler::Change;

class PublishThrottleTest : public testing::Test {
 protected:
  PublishThrottle throttle_;
  PublishThrottle::Time now_{seconds(1000)};
};

TEST_F(PublishThrottleTest, FirstHealthChangeIsPublishedAtOnce) {
  EXPECT_EQ(throttle_.OnChange(Change::kHealth, now_), now_);
}

TEST_F(PublishThrottleTest, NewReasonWaitsASecond) {
  EXPECT_EQ(throttle_.OnChange(Change::kReason, now_), now_ + seconds(1));
}

TEST_F(PublishThrottleTest, ChangesBeforeThePlannedTimePlanNothing) {
  EXPECT_TRUE(throttle_.OnChange(Change::kHealth, now_));
  EXPECT_FALSE(throttle_.OnChange(Change::kHealth, now_));
  EXPECT_FALSE(throttle_.OnChange(Change::kReason, now_));
}

TEST_F(PublishThrottleTest, HealthChangeDoesNotWaitForAPlannedReason) {
  EXPECT_TRUE(throttle_.OnChange(Change::kReason, now_));
  EXPECT_EQ(throttle_.OnChange(Change::kHealth, now_ + milliseconds(10)), now_ + milliseconds(10));
}

TEST_F(PublishThrottleTest, PublishingTakesAFifthOfTheTime) {
  throttle_.OnPublishing();
  throttle_.OnPublished(milliseconds(20), now_);
  EXPECT_EQ(throttle_.OnChange(Change::kHealth, now_ + milliseconds(1)), now_ + milliseconds(80));
}

TEST_F(PublishThrottleTest, ChangeAfterPublishingIsPlannedAgain) {
  EXPECT_TRUE(throttle_.OnChange(Change::kHealth, now_));
  throttle_.OnPublishing();
  EXPECT_EQ(throttle_.OnChange(Change::kHealth, now_), now_);
}

}  // namespace
}  // namespace patchbay
