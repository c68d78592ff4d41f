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
  void AwaitLoads(int loads) {
    ASSERT_TRUE(loop_.RunUntil([&] { return loads_ >= loads; }));
    loop_.Advance(seconds(0));  // runs the callback that the load posted
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
    AwaitLoads(second + 2);
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
  AwaitLoads(2);
  source_.Reload();
  AwaitLoads(3);
  EXPECT_EQ(taken_, 1) << "SIGHUP does not read a partial file";
  is_being_written_ = false;
  loop_.Advance(seconds(1));
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  EXPECT_EQ(text_.str(), "");
}

}  // namespace
}  // namespace patchbay
