#include "daemon/config_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include "support/fake_loop.h"

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

}  // namespace
}  // namespace patchbay
