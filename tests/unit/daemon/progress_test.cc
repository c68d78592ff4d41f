#include "daemon/progress.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsOkWhileNothingIsPendingForLong) {
  const Progress::Time now = Progress::Time() + 1h;
  EXPECT_TRUE(JudgeProgress({}, {}, now).ok);
  EXPECT_TRUE(JudgeProgress({30s, 30s, std::pair(now - 60s, std::string("a.b/c"))}, {}, now).ok);
}

TEST(Progress, FailsWhenAServerDoesNotStartOrStop) {
  const Verdict verdict =
      JudgeProgress({.server = 31s, .directory = {}, .call = {}}, {}, Progress::Time() + 1h);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.body,
            "a gRPC server has been starting or stopping for 31 s; its resource cannot be "
            "registered\n");
}

TEST(Progress, FailsWhenTheKubeletsDirectoryHangs) {
  const Verdict verdict =
      JudgeProgress({.server = {}, .directory = 31s, .call = {}}, {}, Progress::Time() + 1h);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.body,
            "the kubelet's directory has not responded for 31 s; no resource can be registered\n");
}

TEST(Progress, FailsWhenAKubeletCallIsPendingForLong) {
  const Progress::Time now = Progress::Time() + 1h;
  const Verdict verdict = JudgeProgress(
      {.server = {}, .directory = {}, .call = std::pair(now - 61s, std::string("a.b/c"))}, {}, now);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.body, "a call of the kubelet for a.b/c has been pending for 61 s\n");
}

}  // namespace
}  // namespace patchbay
