#include "daemon/progress.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsOkIfNoWorkIsOverdue) {
  const Progress::Time now = Progress::Time() + 1h;
  EXPECT_TRUE(CheckProgress({}, {}, now).ok);
  EXPECT_TRUE(CheckProgress({30s, 30s, std::pair(now - 60s, std::string("a.b/c"))}, {}, now).ok);
}

TEST(Progress, FailsWhenAServerDoesNotStartOrStop) {
  const CheckResult result =
      CheckProgress({.server = 31s, .directory = {}, .call = {}}, {}, Progress::Time() + 1h);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.body,
            "creating or removing the socket of a resource has taken 31 s; the resource cannot be "
            "registered\n");
}

TEST(Progress, FailsWhenTheKubeletsDirectoryHangs) {
  const CheckResult result =
      CheckProgress({.server = {}, .directory = 31s, .call = {}}, {}, Progress::Time() + 1h);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.body,
            "the kubelet's directory has not responded for 31 s; no resource can be registered\n");
}

TEST(Progress, FailsWhenAKubeletCallIsPendingForLong) {
  const Progress::Time now = Progress::Time() + 1h;
  const CheckResult result = CheckProgress(
      {.server = {}, .directory = {}, .call = std::pair(now - 61s, std::string("a.b/c"))}, {}, now);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.body, "a kubelet call for a.b/c has been pending for 61 s\n");
}

}  // namespace
}  // namespace patchbay
