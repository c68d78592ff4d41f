#include "config/duration.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ParsesANumberAndAUnit) {
  EXPECT_EQ(ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(ParseDuration("30s"), milliseconds(30'000));
  EXPECT_EQ(ParseDuration("5m"), milliseconds(300'000));
  EXPECT_EQ(ParseDuration("1h"), milliseconds(3'600'000));
  EXPECT_EQ(ParseDuration("0s"), milliseconds(0));
  for (const std::string_view bad : {"", "5", "s", "5 s", " 5s", "5s ", "-5s", "+5s", "1.5s", "5d",
                                     "1m30s", "5S", "99999999999999999999s", "9999999999h"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(Duration, FormatsInTheLargestUnit) {
  for (const std::string_view text : {"250ms", "90s", "5m", "36h", "0s"}) {
    EXPECT_EQ(FormatDuration(*ParseDuration(text)), text);
  }
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
}

}  // namespace
}  // namespace patchbay
