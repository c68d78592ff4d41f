#include "daemon/config_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

#include "support/fake_loop.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::seconds;

class ConfigSourceTest : public testing::Test {
 protected:
  /// Waits until the source has the result of the last of `loads` loads, which found an open
  /// writer. A load that has begun does not suffice: only its result starts the timer of the next
  /// one.
  void AwaitRetry(int loads) {
    ASSERT_TRUE(loop_.RunUntil([&] {
      return loads_ == loads && loop_.timers() == 1 && loop_.UntilNextTimer() == seconds(1);
    }));
  }

  test::FakeLoop loop_;
  std::ostringstream text_;
  Log log_{LogLevel::kInfo, LogFormat::kText, text_};
  std::atomic<bool> is_being_written_ = false;
  std::atomic<int> loads_ = 0;
  int taken_ = 0;  ///< loads whose result was passed on
  ConfigSource source_{loop_,
                       log_,
                       {},
                       [this] {
                         Loaded loaded;
                         loaded.is_being_written = is_being_written_;
                         ++loads_;
                         return loaded;
                       },
                       [this](Loaded) { ++taken_; }};
};

TEST_F(ConfigSourceTest, ReportsAFileThatStaysOpenForWriting) {
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 1; }));
  is_being_written_ = true;
  source_.Reload();
  for (int second = 0; second < 10; ++second) {
    AwaitRetry(second + 2);
    EXPECT_EQ(taken_, 1) << second;
    loop_.Advance(seconds(1));
  }
  ASSERT_TRUE(loop_.RunUntil(
      [&] { return text_.str().find("is still open for writing; not") != std::string::npos; }));
  EXPECT_EQ(taken_, 1) << "the file may be incomplete";

  // As after SIGHUP.
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  const int loads = loads_;
  loop_.Advance(seconds(1));
  EXPECT_EQ(loads_, loads);
}

TEST_F(ConfigSourceTest, ReadsAFileOnceItIsNoLongerBeingWritten) {
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 1; }));
  is_being_written_ = true;
  source_.Reload();
  AwaitRetry(2);
  source_.Reload();
  AwaitRetry(3);
  EXPECT_EQ(taken_, 1) << "SIGHUP does not read a partial file";
  is_being_written_ = false;
  loop_.Advance(seconds(1));
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  EXPECT_EQ(text_.str(), "");
}

/// Returns 0 if the configuration is read as soon as there is a thread for it.
int LoadWithoutThreads() {
  test::TempTree tree;
  tree.File("config.toml", "");
  test::FakeLoop loop;
  std::ostringstream text;
  Log log{LogLevel::kInfo, LogFormat::kText, text};
  if (chmod(tree.path().c_str(), 0755) != 0 || !test::ForbidThreads()) return 0;
  int taken = 0;
  ConfigSource source(
      loop, log, {tree.path("config.toml")}, [] { return Loaded(); }, [&](Loaded) { ++taken; });
  source.Reload();
  loop.Advance(seconds(11));
  if (text.str().find("the limit of processes") == std::string::npos) return 2;
  if (taken != 0) return 3;
  test::AllowThreads();
  loop.Advance(seconds(1));
  return loop.RunUntil([&] { return taken == 1; }) ? 0 : 4;
}

TEST(ConfigSourceDeathTest, LoadsWhenThereIsAThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(LoadWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
