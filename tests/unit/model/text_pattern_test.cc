#include "model/text_pattern.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(TextPattern, MatchesAWholeText) {
  const TextPattern pattern = TextPattern::Compile("up|un.*").value();
  EXPECT_TRUE(pattern.Matches("up"));
  EXPECT_TRUE(pattern.Matches("unknown"));
  EXPECT_FALSE(pattern.Matches("upper"));
  EXPECT_FALSE(pattern.Matches(""));
  EXPECT_FALSE(pattern.Matches("un\nknown"));
  EXPECT_EQ(pattern.text(), "up|un.*");
}

TEST(TextPattern, LocatesSyntaxErrors) {
  const auto broken = TextPattern::Compile("up|(down");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().offset, 0U);
  EXPECT_NE(broken.error().message, "");
  EXPECT_EQ(TextPattern::Compile("a**").error().offset, 1U);
}

}  // namespace
}  // namespace patchbay
