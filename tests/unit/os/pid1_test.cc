#include "os/pid1.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

// tests/e2e/init_test.py covers PID 1 of a container.
TEST(Init, DoesNothingUnlessPid1) {
  if (getpid() == 1) GTEST_SKIP() << "this is PID 1";
  const pid_t before = getpid();
  const auto role = RunAsPid1([](const WatchdogKill&) {});
  ASSERT_TRUE(role);
  EXPECT_FALSE(role->exit_code);
  EXPECT_FALSE(role->heartbeat);
  EXPECT_EQ(getpid(), before);
}

TEST(HangDetector, DetectsConsecutiveChecksWithoutAHeartbeat) {
  HangDetector hang(2);
  EXPECT_FALSE(hang.Check(1));
  EXPECT_FALSE(hang.Check(1));
  EXPECT_FALSE(hang.Check(1));
  EXPECT_FALSE(hang.Check(2));
  EXPECT_FALSE(hang.Check(2));
  EXPECT_FALSE(hang.Check(2));
  EXPECT_TRUE(hang.Check(2));
}

TEST(HangDetector, IgnoresAProcessWithoutAnyHeartbeat) {
  HangDetector hang(0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(hang.Check(0));
  EXPECT_FALSE(hang.Check(1));
  EXPECT_TRUE(hang.Check(1));
}

/// Runs `f` as PID 1 of a new PID namespace, so that its processes end with it. Returns the exit
/// code, or nothing if namespaces are not available.
std::optional<int> AsPid1(const std::function<int()>& f) {
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(255);
    const pid_t init = fork();
    if (init == 0) _exit(f());
    int status = 0;
    waitpid(init, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 254);
  }
  int status = 0;
  waitpid(outer, &status, 0);
  if (WEXITSTATUS(status) == 255) return std::nullopt;
  return WEXITSTATUS(status);
}

class Watchdog : public testing::Test {
 protected:
  /// Runs `work` as the worker. PID 1 exits with its exit code, or with the number of kills plus
  /// 100.
  static std::optional<int> Run(const std::function<int(Heartbeat&)>& work,
                                WatchdogPace pace = {.check = milliseconds(20)}) {
    return AsPid1([&] {
      std::uint64_t kills = 0;
      const auto role = RunAsPid1([&](const WatchdogKill& kill) { kills = kill.kills; }, pace);
      if (!role) return 250;
      if (!role->exit_code) return work(*role->heartbeat);
      return *role->exit_code == 128 + SIGKILL ? 100 + static_cast<int>(kills) : *role->exit_code;
    });
  }
};

TEST_F(Watchdog, ReplacesAStoppedProcess) {
  const auto code = Run([](Heartbeat& heart) {
    if (heart.kills() == 1) return 42;
    heart.Beat();
    kill(getpid(), SIGSTOP);
    return 1;
  });
  if (!code) GTEST_SKIP() << "no namespaces";
  EXPECT_EQ(code, 42);
}

TEST_F(Watchdog, GivesUpAfterTooManyKills) {
  const auto code = Run([](Heartbeat& heart) {
    heart.Beat();
    kill(getpid(), SIGSTOP);
    return 1;
  });
  if (!code) GTEST_SKIP() << "no namespaces";
  EXPECT_EQ(code, 103);
}

TEST_F(Watchdog, StartsNoProcessAfterSigterm) {
  WatchdogPace pace;
  pace.end = milliseconds(50);
  const auto code = Run(
      [](Heartbeat& heart) {
        heart.Beat();
        std::signal(SIGTERM, SIG_IGN);
        kill(1, SIGTERM);
        while (true) pause();
        return 1;
      },
      pace);
  if (!code) GTEST_SKIP() << "no namespaces";
  EXPECT_EQ(code, 101);
}

}  // namespace
}  // namespace patchbay
