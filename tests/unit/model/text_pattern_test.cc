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

TEST(TextPattern, LimitsItsMemory) {
  const TextPattern pattern = TextPattern::Compile("(USB|ACM)\\d+").value();
  EXPECT_LE(pattern.memory(), std::size_t{64} << 10);
  // Without a limit it would remember 2^16 states of matches.
  const TextPattern many = TextPattern::Compile("(a|b)*a(a|b){15}").value();
  EXPECT_LE(many.memory(), std::size_t{128} << 10);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += (i * 7919 / 13) % 3 == 0 ? 'a' : 'b';
  EXPECT_EQ(many.Matches(text), text[text.size() - 16] == 'a');
  EXPECT_NE(TextPattern::Compile("\\pL{300}").error().message.find("too large"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
