#include "cli/end_deadline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>
#include <thread>

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

TEST(EndDeadlineDeathTest, KeepsToTheFirstBeginning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        EndDeadline deadline;
        deadline.Begin(3, [] { std::fputs("the first act", stderr); });
        deadline.Begin(4, [] { std::fputs("another act", stderr); });
        while (true) pause();
      },
      testing::ExitedWithCode(3), "the first act");
}

/// A user other than root, whose processes the kernel counts, and who may not have one more.
void LetThereBeNoMoreThreads() {
  const rlimit one{1, 1};
  if (setrlimit(RLIMIT_NPROC, &one) != 0 || setresuid(54321, 54321, 54321) != 0) _exit(5);
  try {
    std::thread([] {}).join();
    _exit(6);
  } catch (const std::system_error&) {
  }
}

TEST(EndDeadlineDeathTest, NeedsNoThreadWhenTheEndBegins) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        EndDeadline deadline;
        LetThereBeNoMoreThreads();
        deadline.Begin(3, [] {});
        while (true) pause();
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace patchbay
