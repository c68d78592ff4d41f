#include "model/regex.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Regex, ReturnsTheDirectoryAndDepthOfItsMatches) {
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
      {R"(/dev/a|/dev/b)", "/dev/", 2},
      {R"(/dev/a|/etc/b)", "/", 3},
      {R"(/dev/a|b)", "/", 1},
      {R"(/?dev/a)", "/", 1},
      {R"(/*dev/a)", "/", Regex::kAnyDepth},
      {R"(/(?i)dev/a)", "/", 1},
      {R"(/dev/[]/]x)", "/dev/", Regex::kAnyDepth},
      {R"(/dev/[^]/]x)", "/dev/", 0},
      {R"(/dev/[[:punct:]]x)", "/dev/", Regex::kAnyDepth},
      {R"(/dev/[\x2fa]x)", "/dev/", Regex::kAnyDepth},
      {R"(/dev/a\x2fx)", "/dev/a/", Regex::kAnyDepth},
      {R"(/dev/a\Q/b\E)", "/dev/a/", Regex::kAnyDepth},
      {R"(/dev/a\/b)", "/dev/a/", 0},
      {R"(/dev/\d+\/b)", "/dev/", 1},
      {R"(/dev/x/{1,3}y)", "/dev/x/", Regex::kAnyDepth},
      {R"(/dev/x/+y)", "/dev/x/", Regex::kAnyDepth},
      {R"(/dev/(a/)?b)", "/dev/", 1},
      {R"(/dev/(a/){2}b)", "/dev/a/a/", Regex::kAnyDepth},
      {R"(/dev/\pLx)", "/dev/", Regex::kAnyDepth},
  };
  for (const Case& c : cases) {
    const auto regex = Regex::Compile(c.pattern);
    ASSERT_TRUE(regex) << c.pattern;
    EXPECT_EQ(regex->fixed_directory(), c.directory) << c.pattern;
    EXPECT_EQ(regex->depth(), c.depth) << c.pattern;
  }
}

TEST(Regex, ReturnsTheDirectoryOfALongPattern) {
  for (const char* name :
       {"usb-FTDI_FT232R_USB_UART_[A-Z0-9]+-if00-port0",
        "usb-Silicon_Labs_CP2102N_USB_to_UART_Bridge_Controller_[0-9a-f]{32}-if00-port0",
        ".{1,200}"}) {
    EXPECT_EQ(Regex::Compile(std::string("/dev/serial/by-id/") + name)->fixed_directory(),
              "/dev/serial/by-id/");
  }
}

TEST(Regex, LocatesSyntaxErrors) {
  EXPECT_EQ(Regex::Compile("dev/x").error().offset, 0u);
  EXPECT_EQ(Regex::Compile("/dev/(a").error().message.empty(), false);
  const auto bad = Regex::Compile(R"(/dev/[z-a])");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().offset, 6u);
}

TEST(Regex, MatchesLieWithinItsDirectoryAndDepth) {
  const std::string_view patterns[] = {
      R"(/dev/.*)",           R"(/dev/[^/]+)",    R"(/dev/a|b)",     R"(/dev/(a/)?b)",
      R"(/dev/[!-~]+)",       R"(/dev(/[a-c])+)", R"(/dev/a\/b)",    R"(/dev/\W?a)",
      R"(/d?ev?/?a/?b)",      R"(/dev/a/b|/a)",   R"(/(?i)DEV/A)",   R"(/dev/[^a]b)",
      R"(/dev/[[:graph:]]*)", R"(/dev/(?s:.)b)",  R"(/dev/a\x2fb)",  R"(/\Qdev/a\E)",
      R"((?:/dev)?/a)",       R"(/dev/[+-0]b)",   R"(/dev/(a|b/c))", R"(/+a/b)",
  };
  const std::string_view paths[] = {
      "/a",         "/a/b",   "/dev",    "/dev/a",  "/dev/b", "/dev/a/b", "/dev/a/b/c", "/dev/b/c",
      "/dev/a/c/b", "/e/a/b", "/dev/+b", "/dev/!a", "/DEV/A", "/b",       "/dev/x/b",
  };
  int matches = 0;
  for (const std::string_view pattern : patterns) {
    const auto regex = Regex::Compile(pattern);
    if (!regex) continue;
    for (const std::string_view path : paths) {
      Captures captures;
      if (!regex->Match(path, captures)) continue;
      ++matches;
      ASSERT_TRUE(path.starts_with(regex->fixed_directory())) << pattern << " " << path;
      const auto below = path.substr(regex->fixed_directory().size());
      EXPECT_LE(std::count(below.begin(), below.end(), '/'), regex->depth())
          << pattern << " " << path;
    }
  }
  EXPECT_GT(matches, 40);
}

TEST(Regex, MatchClearsPreviousCaptures) {
  const auto regex = Regex::Compile(R"(/dev/a(?P<n>\d)?(x)?(?P<m>\d)?)");
  ASSERT_TRUE(regex);
  Captures captures;
  ASSERT_TRUE(regex->Match("/dev/a1x2", captures));
  EXPECT_EQ(captures, (Captures{{"n", "1"}, {"m", "2"}}));
  ASSERT_TRUE(regex->Match("/dev/ax3", captures));
  EXPECT_EQ(captures, (Captures{{"m", "3"}}));
  EXPECT_FALSE(regex->Match("/dev/b", captures));
  EXPECT_EQ(captures, Captures());
}

TEST(Regex, AcceptsOneGroupNameInTwoAlternatives) {
  const auto regex = Regex::Compile(R"(/dev/(?:x(?P<n>\d)|y(?P<n>\d)))");
  ASSERT_TRUE(regex);
  Captures captures;
  ASSERT_TRUE(regex->Match("/dev/x1", captures));
  EXPECT_EQ(captures, (Captures{{"n", "1"}}));
  ASSERT_TRUE(regex->Match("/dev/y2", captures));
  EXPECT_EQ(captures, (Captures{{"n", "2"}}));
}

TEST(Regex, RejectsInvalidPatterns) {
  for (const std::string_view pattern :
       {"", "(/dev/x)", "^/dev/x", "/dev/(?P<a>x", "/dev/(?=x)", R"(/dev/(x)\1)", "/dev/*+",
        "/dev/x{2000}", "/((((((((((a{100}){100}){100}){100}))))))){9}", "/dev/\xff"}) {
    const auto regex = Regex::Compile(pattern);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_LE(regex.error().offset, pattern.size()) << pattern;
    EXPECT_FALSE(regex.error().message.empty()) << pattern;
  }
}

}  // namespace
}  // namespace patchbay
