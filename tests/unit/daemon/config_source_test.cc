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
    loop_.Advance(seconds(0));  // what the load posted
  }

  test::FakeLoop loop_;
  std::ostringstream text_;
  Log log_{LogLevel::kInfo, LogFormat::kText, text_};
  std::atomic<bool> is_being_written_ = false;
  std::atomic<int> loads_ = 0;
  int taken_ = 0;  ///< loads that counted
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

TEST_F(ConfigSourceTest, DoesNotWaitForAWriterForEver) {
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 1; }));
  is_being_written_ = true;
  source_.Reload();
  for (int second = 0; second < 10; ++second) {
    AwaitLoads(second + 2);
    EXPECT_EQ(taken_, 1) << second;
    loop_.Advance(seconds(1));
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  EXPECT_NE(text_.str().find("still open for writing; reading it as it is"), std::string::npos);

  // It has been told, and another writer is waited for again.
  text_.str("");
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 3; }));
  EXPECT_EQ(text_.str(), "");
  is_being_written_ = false;
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 4; }));
}

}  // namespace
}  // namespace patchbay
