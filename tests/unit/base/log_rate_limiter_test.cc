#include "base/log_rate_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/log.h"

namespace patchbay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kBurst = static_cast<int>(LogRateLimiter::kBurst);
constexpr int kBurstOfAll = static_cast<int>(LogRateLimiter::kBurstOfAll);

/// Submits lines and returns how many are written.
int Written(LogRateLimiter& quota, const std::string& subject, int lines,
            LogRateLimiter::Time now) {
  int written = 0;
  for (int i = 0; i < lines; ++i) written += quota.Admit(subject, now).write ? 1 : 0;
  return written;
}

TEST(LogRateLimiter, AllowsABurstAndThenOneLinePerMinute) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  EXPECT_EQ(Written(quota, "flaps", 1000, now), kBurst);
  EXPECT_EQ(quota.SuppressedCount(), 1000U - kBurst);
  now += seconds(59);
  EXPECT_FALSE(quota.Admit("flaps", now).write);
  now += seconds(2);
  const auto outcome = quota.Admit("flaps", now);
  EXPECT_TRUE(outcome.write);
  EXPECT_EQ(outcome.left_out_alike, 1001U - kBurst);
  EXPECT_EQ(outcome.left_out_of_all, 0U);
  EXPECT_EQ(quota.SuppressedCount(), 0U);

  int written = 0;
  std::size_t reported = 0;
  for (int i = 0; i < 3600; ++i) {
    now += seconds(1);
    const auto later = quota.Admit("flaps", now);
    written += later.write ? 1 : 0;
    reported += later.left_out_alike;
  }
  EXPECT_EQ(written, 60);
  EXPECT_EQ(reported + quota.SuppressedCount(), 3600U - 60);
}

TEST(LogRateLimiter, FlappingSubjectDoesNotSuppressOthers) {
  LogRateLimiter quota;
  const LogRateLimiter::Time now{};
  Written(quota, "flaps", 100000, now);
  EXPECT_TRUE(quota.Admit("fails once", now).write);
}

TEST(LogRateLimiter, RestoresTheBurstAfterQuietTime) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  Written(quota, "flaps", kBurst + 5, now);
  now += hours(1);
  EXPECT_EQ(quota.Admit("flaps", now).left_out_alike, 5U);
  EXPECT_EQ(Written(quota, "flaps", 1000, now), kBurst - 1);
}

TEST(LogRateLimiter, ReportsSuppressedLinesOncePerMinute) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  Written(quota, "flaps", kBurst + 1, now);
  now += seconds(90);
  EXPECT_EQ(quota.Admit("flaps", now).left_out_alike, 1U);
  EXPECT_FALSE(quota.Admit("flaps", now).write);
  now += seconds(31);  // half a line had accumulated before
  const auto soon = quota.Admit("flaps", now);
  EXPECT_TRUE(soon.write);
  EXPECT_EQ(soon.left_out_alike, 0U);
  now += seconds(61);
  EXPECT_EQ(quota.Admit("flaps", now).left_out_alike, 1U);
}

TEST(LogRateLimiter, LimitsAllSubjectsTogether) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  int written = 0;
  for (int i = 0; i < 100000; ++i) written += quota.Admit(std::to_string(i), now).write ? 1 : 0;
  EXPECT_EQ(written, kBurstOfAll);
  now += milliseconds(101);
  const auto outcome = quota.Admit("another", now);
  EXPECT_TRUE(outcome.write);
  EXPECT_EQ(outcome.left_out_of_all, 100000U - kBurstOfAll);
  EXPECT_FALSE(quota.Admit("one more", now).write);
}

TEST(LogRateLimiter, EvictsOldestSubjectBeyondMaxSubjects) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  Written(quota, "old", kBurst + 7, now);
  for (std::size_t i = 0; i < LogRateLimiter::kMaxSubjects; ++i) {
    now += milliseconds(101);
    const auto outcome = quota.Admit(std::to_string(i), now);
    ASSERT_TRUE(outcome.write) << i;
    ASSERT_EQ(outcome.left_out_of_all, i + 1 == LogRateLimiter::kMaxSubjects ? 7U : 0U) << i;
  }
  EXPECT_EQ(Written(quota, "old", 1000, now + seconds(100)), kBurst);
}

TEST(LogRateLimiter, DetailsHaveASeparateLimit) {
  LogRateLimiter quota;
  LogRateLimiter::Time now{};
  for (int i = 0; i < kBurstOfAll; ++i) ASSERT_TRUE(quota.AllowDetail(now).write) << i;
  EXPECT_FALSE(quota.AllowDetail(now).write);
  EXPECT_TRUE(quota.Admit("fails once", now).write);
  EXPECT_EQ(quota.AllowDetail(now + seconds(1)).left_out_of_all, 1U);
}

/// Returns the lines without timestamps.
std::string LinesOf(const std::ostringstream& out) {
  std::string lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines += line.substr(line.find(' ') + 1) + "\n";
  return lines;
}

TEST(LogRateLimiter, LimitsLinesOfTheLog) {
  std::ostringstream out;
  LogRateLimiter::Time now{};
  {
    Log log(LogLevel::kDebug, LogFormat::kText, out, [&] { return now; });
    const auto flap = [&](const char* device) {
      log.Warning("flaps", {{"resource", "a.b/c"}, {"device", device}, {"reason", "r"}});
    };
    for (int i = 0; i < 100; ++i) flap("x");
    EXPECT_EQ(std::ranges::count(out.str(), '\n'), kBurst);
    out.str("");
    flap("y");
    EXPECT_EQ(LinesOf(out), "warning flaps resource=a.b/c device=y reason=r\n");
    out.str("");
    for (int i = 0; i < 100; ++i) log.Debug("detail", {{"resource", "a.b/c"}});
    EXPECT_EQ(std::ranges::count(out.str(), '\n'), 100);
    out.str("");
    now += seconds(61);
    flap("x");
    EXPECT_EQ(LinesOf(out),
              "warning repeated log lines suppressed like=flaps resource=a.b/c device=x count=40\n"
              "warning flaps resource=a.b/c device=x reason=r\n");
    flap("x");
    flap("x");
    out.str("");
  }
  EXPECT_EQ(LinesOf(out), "warning log lines dropped (rate limit) count=2\n");
}

}  // namespace
}  // namespace patchbay
