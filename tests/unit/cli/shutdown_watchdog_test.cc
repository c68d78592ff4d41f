#include "cli/shutdown_watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <system_error>
#include <thread>

#include "support/process.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

/// Runs on the loop after a signal.
void Ignore(int) {}

TEST(ShutdownWatchdogDeathTest, ExitsAProcessThatHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        ShutdownWatchdog deadline({}, loop, Ignore);
        deadline.SetLastAct([] { std::fputs("the last act", stderr); });
        deadline.Begin(3);
        while (true) pause();
      },
      testing::ExitedWithCode(3), "the last act");
}

/// For example, if the loop accesses a file system that hangs.
TEST(ShutdownWatchdogDeathTest, ExitsOnASignalWhileTheLoopHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        ShutdownWatchdog deadline({SIGTERM}, loop, Ignore);
        deadline.SetLastAct([] { std::fputs("the last act", stderr); });
        loop.Post([] {
          kill(getpid(), SIGTERM);
          while (true) pause();
        });
        loop.Run();
      },
      testing::ExitedWithCode(0), "the last act");
}

TEST(ShutdownWatchdogDeathTest, ExitsIfTheFinalActionHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        ShutdownWatchdog deadline({}, loop, Ignore);
        deadline.SetLastAct([] {
          while (true) pause();
        });
        deadline.Begin(3);
        while (true) pause();
      },
      testing::ExitedWithCode(3), "");
}

TEST(ShutdownWatchdog, HasOneThread) {
  AsioLoop loop;
  const std::size_t before = test::ThreadsOf(getpid());
  const ShutdownWatchdog deadline({}, loop, Ignore);
  EXPECT_EQ(test::ThreadsOf(getpid()), before + 1);
}

TEST(ShutdownWatchdog, NotifiesTheLoopOfASignal) {
  AsioLoop loop;
  int received = 0;
  ShutdownWatchdog deadline({SIGUSR2}, loop, [&](int number) {
    received = number;
    loop.Stop();
  });
  kill(getpid(), SIGUSR2);
  loop.Run();
  EXPECT_EQ(received, SIGUSR2);
}

TEST(ShutdownWatchdogDeathTest, IgnoresSignalsAfterDestruction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        { ShutdownWatchdog deadline({SIGTERM}, loop, Ignore); }
        kill(getpid(), SIGTERM);
        _exit(4);
      },
      testing::ExitedWithCode(4), "");
}

TEST(ShutdownWatchdog, DoesNothingIfTheProcessExitsInTime) {
  AsioLoop loop;
  bool acted = false;
  {
    ShutdownWatchdog deadline({}, loop, Ignore);
    deadline.SetLastAct([&] { acted = true; });
    deadline.Begin(3);
  }
  EXPECT_FALSE(acted);
}

// A failure is a hang in the destructor or the end of the process.
TEST(ShutdownWatchdog, MayBeDestroyedWithoutAStart) {
  AsioLoop loop;
  const ShutdownWatchdog deadline({}, loop, Ignore);
}

TEST(ShutdownWatchdogDeathTest, IgnoresASecondBegin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        ShutdownWatchdog deadline({}, loop, Ignore);
        deadline.Begin(3);
        deadline.Begin(4);
        while (true) pause();
      },
      testing::ExitedWithCode(3), "");
}

void LetThereBeNoMoreThreads() {
  if (!test::ForbidThreads()) _exit(5);
  try {
    std::thread([] {}).join();
    _exit(6);
  } catch (const std::system_error&) {
  }
}

/// Only the last act is omitted.
TEST(ShutdownWatchdogDeathTest, BeginNeedsNoNewThread) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        AsioLoop loop;
        ShutdownWatchdog deadline({}, loop, Ignore);
        LetThereBeNoMoreThreads();
        deadline.Begin(3);
        while (true) pause();
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace patchbay
