#include "model/regex.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(Regex, MatchesTheWholePathAndCaptures) {
  const auto regex =
      Regex::Compile(R"(/dev/xfpga/(?P<kind>user|mgmt)\.m(?P<card>\d+)(?P<part>p\d)?)");
  ASSERT_TRUE(regex);
  EXPECT_EQ(regex->capture_names(), (std::vector<std::string>{"kind", "card", "part"}));
  Captures captures;
  ASSERT_TRUE(regex->Match("/dev/xfpga/user.m12", captures));
  EXPECT_EQ(captures, (Captures{{"kind", "user"}, {"card", "12"}}));
  EXPECT_FALSE(regex->Match("/dev/xfpga/user.m12x", captures));
  EXPECT_FALSE(regex->Match("x/dev/xfpga/user.m12", captures));
}

TEST(Regex, KnowsWhereMatchesCanLie) {
  struct Case {
    std::string_view pattern, directory;
    int depth;
  };
  const Case cases[] = {
      {R"(/dev/ttyUSB\d+)", "/dev/", 0},
      {R"(/dev/xfpga/(?P<kind>user|mgmt)\.m(?P<card>\d+))", "/dev/xfpga/", 0},
      {R"(/dev/(dri/card|fb)\d+)", "/dev/", 1},
      {R"(/dev/snd/.*)", "/dev/snd/", Regex::kAnyDepth},
      {R"(/dev/snd/[^/]+)", "/dev/snd/", 0},
      {R"(/dev/snd/[^x]+)", "/dev/snd/", Regex::kAnyDepth},
      {R"(/dev/snd/\S+)", "/dev/snd/", Regex::kAnyDepth},
      {R"(/dev/snd/[+-9])", "/dev/snd/", Regex::kAnyDepth},
      {R"(/dev(/a)+)", "/dev/", Regex::kAnyDepth},
      {R"(/.*)", "/", Regex::kAnyDepth},
      {R"(/dev/null)", "/dev/", 0},
  };
  for (const Case& c : cases) {
    const auto regex = Regex::Compile(c.pattern);
    ASSERT_TRUE(regex) << c.pattern;
    EXPECT_EQ(regex->fixed_directory(), c.directory) << c.pattern;
    EXPECT_EQ(regex->depth(), c.depth) << c.pattern;
  }
}

TEST(Regex, PointsAtTheMistake) {
  EXPECT_EQ(Regex::Compile("dev/x").error().offset, 0u);
  EXPECT_EQ(Regex::Compile("/dev/(a").error().message.empty(), false);
  const auto bad = Regex::Compile(R"(/dev/[z-a])");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().offset, 6u);
}

}  // namespace
}  // namespace patchbay
