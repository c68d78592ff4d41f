#include "cli/end_deadline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace patchbay {
namespace {

TEST(EndDeadlineDeathTest, EndsAProcessThatHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        EndDeadline deadline;
        deadline.Begin(3, [] { std::fputs("the last act", stderr); });
        while (true) pause();
      },
      testing::ExitedWithCode(3), "the last act");
}

TEST(EndDeadline, LeavesAProcessAloneThatEndsInTime) {
  bool acted = false;
  {
    EndDeadline deadline;
    deadline.Begin(3, [&] { acted = true; });
  }
  EXPECT_FALSE(acted);
}

TEST(EndDeadline, NeedsNoBeginning) { const EndDeadline deadline; }

}  // namespace
}  // namespace patchbay
