#include "daemon/scan_scheduler.h"

#include <gmock/gmock.h>

#include <vector>

#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using Finished = ScanScheduler::Finished;

/// A scheduler with a simulated clock. The test defines how long scans take.
class ScanSchedulerTest : public testing::Test {
 protected:
  /// Simulates a scan and returns the pause after it.
  milliseconds Scan(milliseconds took) {
    const std::uint64_t scan = scans_.Start(now_);
    now_ += took;
    EXPECT_EQ(scans_.Finish(scan), Finished::kCounts);
    return std::chrono::duration_cast<milliseconds>(scans_.Pause(took, now_));
  }

  ScanScheduler scans_;
  ScanScheduler::Time now_{seconds(1000)};
};

TEST_F(ScanSchedulerTest, FirstRequestStartsAtOnce) { EXPECT_TRUE(scans_.Request()); }

TEST_F(ScanSchedulerTest, RequestsDuringAScanCauseOneMoreScan) {
  const std::uint64_t scan = scans_.Start(now_);
  EXPECT_FALSE(scans_.Request());
  EXPECT_FALSE(scans_.Request());
  EXPECT_EQ(scans_.Finish(scan), Finished::kCounts);
  scans_.Pause(milliseconds(1), now_);
  EXPECT_TRUE(scans_.EndPause());
  Scan(milliseconds(1));
  EXPECT_FALSE(scans_.EndPause());
}

TEST_F(ScanSchedulerTest, RequestDuringThePauseWaitsForItsEnd) {
  Scan(milliseconds(5));
  EXPECT_FALSE(scans_.Request());
  EXPECT_TRUE(scans_.EndPause());
}

TEST_F(ScanSchedulerTest, RequestAfterThePauseStartsAtOnce) {
  Scan(milliseconds(5));
  EXPECT_FALSE(scans_.EndPause());
  EXPECT_TRUE(scans_.Request());
}

TEST_F(ScanSchedulerTest, FirstPauseIsLongerAndIsNotDoubled) {
  EXPECT_EQ(Scan(milliseconds(5)), ScanScheduler::kFirstPause);
  now_ += ScanScheduler::kFirstPause;
  EXPECT_EQ(Scan(milliseconds(5)), milliseconds(10));
}

TEST_F(ScanSchedulerTest, PausesDoubleUpToASecondWhileRequestsContinue) {
  Scan(milliseconds(1));
  now_ += ScanScheduler::kFirstPause;
  std::vector<long> pauses;
  for (int i = 0; i < 6; ++i) {
    const milliseconds pause = Scan(milliseconds(50));
    pauses.push_back(pause.count());
    now_ += pause;
    scans_.EndPause();
  }
  EXPECT_THAT(pauses, ElementsAre(50, 100, 200, 400, 800, 1000));
}

TEST_F(ScanSchedulerTest, PauseIsAsLongAsASlowScanButASecondAtMost) {
  EXPECT_EQ(Scan(milliseconds(700)), milliseconds(700));
  EXPECT_EQ(Scan(seconds(30)), ScanScheduler::kMaxPause);
}

TEST_F(ScanSchedulerTest, GapBetweenRequestsResetsThePause) {
  Scan(milliseconds(1));
  now_ += ScanScheduler::kFirstPause;
  for (int i = 0; i < 4; ++i) now_ += Scan(milliseconds(50));
  scans_.EndPause();
  now_ += ScanScheduler::kCalm - milliseconds(1);
  EXPECT_EQ(Scan(milliseconds(50)), milliseconds(800));
  now_ += milliseconds(800) + ScanScheduler::kCalm;
  EXPECT_EQ(Scan(milliseconds(50)), milliseconds(50));
}

TEST_F(ScanSchedulerTest, IgnoresTheResultOfAnAbandonedScan) {
  const std::uint64_t first = scans_.Start(now_);
  scans_.Abandon();
  EXPECT_FALSE(scans_.scanning());
  const std::uint64_t second = scans_.Start(now_);
  scans_.Abandon();
  const std::uint64_t third = scans_.Start(now_);
  EXPECT_EQ(scans_.Finish(second), Finished::kAbandoned);
  EXPECT_TRUE(scans_.has_abandoned());
  EXPECT_EQ(scans_.Finish(first), Finished::kLastAbandoned);
  EXPECT_FALSE(scans_.has_abandoned());
  EXPECT_TRUE(scans_.scanning());
  EXPECT_EQ(scans_.Finish(third), Finished::kCounts);
  EXPECT_FALSE(scans_.scanning());
}

TEST(ScanLimit, IncludesTheTimeoutsOfCommands) {
  ResourceSpec spec = test::Resource({test::PathMatch({"/dev/*"}, NodeType::kAny)});
  EXPECT_EQ(ScanLimit(spec), seconds(10));
  MatchSpec command;
  command.source = CommandSource{.argv = {}, .timeout = milliseconds(1500)};
  spec.matches = {command, command};
  EXPECT_EQ(ScanLimit(spec), seconds(10 + 2 * 3 + 3));
}

}  // namespace
}  // namespace patchbay
