#include "model/glob.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

Glob GlobOf(std::string_view pattern) {
  auto glob = Glob::Compile(pattern);
  EXPECT_TRUE(glob) << pattern << ": " << (glob ? "" : glob.error().message);
  return glob ? *glob : Glob();
}

TEST(Glob, MatchesWholePaths) {
  struct Case {
    std::string_view pattern, path;
    bool matches;
  };
  const Case cases[] = {
      {"/dev/null", "/dev/null", true},
      {"/dev/null", "/dev/null0", false},
      {"/dev/ttyUSB*", "/dev/ttyUSB0", true},
      {"/dev/ttyUSB*", "/dev/ttyUSB", true},
      {"/dev/ttyUSB*", "/dev/bus/ttyUSB0", false},
      {"/dev/*", "/dev/a/b", false},
      {"/dev/*", "/dev/.hidden", false},
      {"/dev/sd?", "/dev/sda", true},
      {"/dev/sd?", "/dev/sda1", false},
      {"/dev/sd[a-c]", "/dev/sdb", true},
      {"/dev/sd[!a-c]", "/dev/sdb", false},
      {"/dev/sd[!a-c]", "/dev/sdz", true},
      {"/dev/{tty,loop}*", "/dev/loop3", true},
      {"/dev/{tty,loop}*", "/dev/null", false},
      {"/dev/{a,b/{c,d}}x", "/dev/b/dx", true},
      {"/dev/{a,b/{c,d}}x", "/dev/ax", true},
      {"/dev/**/event*", "/dev/event0", true},
      {"/dev/**/event*", "/dev/input/event0", true},
      {"/dev/**/event*", "/dev/a/b/c/event0", true},
      {"/dev/**/event*", "/dev/.a/event0", false},
      {"/dev/**/a/**/b", "/dev/a/b", true},
      {"/dev/**/a/**/b", "/dev/x/a/y/z/b", true},
      {"/dev/**/a/**/b", "/dev/x/a/.y/z/b", false},
      {"/dev/**/a/**/b", "/dev/a/a/b/b", true},
      {"/dev/**/a/**/b", "/dev/b/a", false},
      {"/**/**/**/**/**/**/**/**/**/**/z", "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", false},
      {"/dev/a\\*b", "/dev/a*b", true},
      {"/dev/a\\*b", "/dev/axb", false},
      {"/dev/\\{a", "/dev/{a", true},
      {"/dev/x*", "/dev/x y\nz", true},
      {"/dev/x*", "/dev/x\xff\xfe", true},
      {"/dev/[]a]", "/dev/]", true},
      {"/dev/[!]a]", "/dev/]", false},
      {"/dev/[!]a]", "/dev/b", true},
      {"/dev/[^a]", "/dev/b", true},
      {"/dev/[[:digit:]]", "/dev/7", true},
      {"/dev/[[:digit:]]", "/dev/x", false},
      {"/dev/[a\\]b]", "/dev/]", true},
      {"/dev/[.]x", "/dev/.x", false},
      {"/dev/?x", "/dev/.x", false},
      {"/dev/.*", "/dev/.x", true},
      {"/dev/a,b", "/dev/a,b", true},
      {"/dev/{a\\,b,c}", "/dev/a,b", true},
      {"/dev/{a\\,b,c}", "/dev/a", false},
      {"/dev/{a}", "/dev/a", true},
      {"/dev/x{,y}", "/dev/x", true},
      {"/dev/x{,y}", "/dev/xy", true},
      {"/dev/x{}y", "/dev/xy", true},
      {"/dev/{a,b}{1,2}", "/dev/b2", true},
      {"/dev/{a,b}{1,2}", "/dev/ab", false},
      {"/{dev,srv/{x,y}}/a", "/srv/y/a", true},
      {"/**", "/a/b/c", true},
      {"/**", "/", false},
      {"/**/a", "/a", true},
      {"/a/**/b/**/c", "/a/b/c", true},
      {"/a/**/b/**/c", "/a/x/b/y/z/c", true},
      {"/a/**/b/**/c", "/a/x/y/z/c", false},
      {"/a/**/**/c", "/a/c", true},
      {"/a/**/**/c", "/a/x/c", true},
      {"/a/x**/c", "/a/xyz/c", true},
      {"/a/x**/c", "/a/x/y/c", false},
      {"/dev//a/", "/dev/a", true},
      {"/dev/a", "//dev///a/", true},
      {"/dev/ü?", "/dev/üx", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(GlobOf(c.pattern).Matches(c.path), c.matches) << c.pattern << " " << c.path;
  }
}

TEST(Glob, ReturnsTheDirectoryOfItsMatches) {
  struct Case {
    std::string_view pattern, directory;
    bool spans;
  };
  const Case cases[] = {
      {"/dev/ttyUSB*", "/dev/", false},    {"/dev/snd/pcm*", "/dev/snd/", false},
      {"/dev/*/event*", "/dev/", true},    {"/dev/**", "/dev/", true},
      {"/dev/**/x", "/dev/", true},        {"/dev/{snd/a,snd/b}", "/dev/snd/", false},
      {"/dev/{snd,dri}/a", "/dev/", true}, {"/dev/snd{0,1}/a", "/dev/", true},
  };
  for (const Case& c : cases) {
    const Glob glob = GlobOf(c.pattern);
    EXPECT_EQ(glob.fixed_directory(), c.directory) << c.pattern;
    EXPECT_EQ(glob.spans_directories(), c.spans) << c.pattern;
  }
}

TEST(Glob, LocatesSyntaxErrors) {
  std::string wide = "/{";
  for (int i = 0; i < 500; ++i) wide += "a,";
  wide += "b}" + std::string(600, 'c');
  struct Case {
    std::string_view pattern;
    std::size_t offset;
    std::string_view part_of_message;
  };
  const Case cases[] = {
      {"dev/tty", 0, "start with"},
      {"", 0, "start with"},
      {"/dev/[a-", 5, "not closed"},
      {"/dev/{a,b", 5, "not closed"},
      {"/dev/a}", 6, "is unmatched"},
      {"/dev/../x", 5, "cannot contain"},
      {"/dev/./x", 5, "cannot contain"},
      {"/dev/\\.\\./x", 5, "cannot contain"},
      {"/dev/\\./x", 5, "cannot contain"},
      {"/dev/{.,x}./y", 0, "cannot contain"},
      {"/dev/[a/b]", 5, "not closed"},
      {"/dev/a\\/b", 6, "backslash"},
      {"/dev/{a,{b}", 5, "not closed"},
      {"/dev/{a}}", 8, "is unmatched"},
      {"/{}", 0, "does not name a file"},
      {std::string_view("/dev/a\0b", 8), 6, "NUL"},
      {"/", 0, "does not name a file"},
      {"/dev/x\\", 6, "backslash"},
      {"/a{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}", 0, "alternatives"},
      {wide, 0, "262144 bytes"},
  };
  for (const Case& c : cases) {
    const auto glob = Glob::Compile(c.pattern);
    ASSERT_FALSE(glob) << c.pattern;
    EXPECT_EQ(glob.error().offset, c.offset) << c.pattern;
    EXPECT_NE(glob.error().message.find(c.part_of_message), std::string::npos)
        << glob.error().message;
  }
}

TEST(Glob, ExpandsBraces) {
  const Glob glob = GlobOf("/{a,b{c,d}}/{1,2}");
  std::vector<std::string> alternatives;
  for (const Glob::Components& components : glob.alternatives()) {
    std::string path;
    for (const Glob::Component& component : components) path += "/" + component.name.text();
    alternatives.push_back(path);
  }
  EXPECT_EQ(alternatives,
            (std::vector<std::string>{"/a/1", "/a/2", "/bc/1", "/bc/2", "/bd/1", "/bd/2"}));
  EXPECT_EQ(GlobOf("/{0,1,2,3,4,5,6,7,8,9}{0,1,2,3,4,5,6,7,8,9}{0,1,2,3,4,5,6,7,8,9}")
                .alternatives()
                .size(),
            1000u);
}

TEST(Glob, HandlesHostilePatterns) {
  const auto many = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  // Must not crash or hang; any result is valid.
  for (const std::string& pattern :
       {"/" + many("{", 100'000) + many("}", 100'000), "/" + many("{}", 100'000) + "a",
        "/" + many("{a,b}", 50'000), "/" + many("[", 100'000), "/" + many("\\", 100'001)}) {
    EXPECT_FALSE(Glob::Compile(pattern)) << pattern.substr(0, 10);
  }
  EXPECT_TRUE(Glob::Compile("/" + many("{", 2000) + "a" + many("}", 2000)));
  const Glob stars = GlobOf("/" + many("**/", 200) + "x");
  EXPECT_FALSE(stars.Matches("/" + many("a/", 200) + "y"));
  EXPECT_TRUE(stars.Matches("/" + many("a/", 200) + "x"));
  EXPECT_FALSE(GlobOf("/" + many("a*", 40) + "b").Matches("/" + many("a", 255)));
}

TEST(NamePattern, BracesAreAlternatives) {
  const auto patterns = CompileAlternatives("can{0,1[0-9],\\{x}").value();
  EXPECT_EQ(patterns.size(), 3u);
  for (const char* name : {"can0", "can17", "can{x"}) EXPECT_TRUE(MatchesAny(patterns, name));
  for (const char* name : {"can1", "can", "can{0,1[0-9],\\{x}"}) {
    EXPECT_FALSE(MatchesAny(patterns, name)) << name;
  }
  EXPECT_TRUE(MatchesAny(CompileAlternatives("{a,b{c,d}}").value(), "bd"));
  EXPECT_EQ(CompileAlternatives("ab").value().size(), 1u);
  EXPECT_EQ(CompileAlternatives("a{b").error().offset, 1u);
  EXPECT_EQ(CompileAlternatives("a}b").error().offset, 1u);
  EXPECT_EQ(CompileAlternatives("ab[").error().offset, 2u);
  EXPECT_FALSE(CompileAlternatives("{a,[b}"));
  std::string many;
  for (int i = 0; i < 11; ++i) many += "{a,b}";
  EXPECT_FALSE(CompileAlternatives(many));
  EXPECT_FALSE(CompileAlternatives(std::string(5000, 'a')));
}

TEST(NamePattern, DetectsLiterals) {
  struct Case {
    std::string_view pattern;
    bool literal;
    std::string_view text;
  };
  const Case cases[] = {
      {"abc", true, "abc"},    {"a\\*c", true, "a*c"}, {"a\\\\c", true, "a\\c"},
      {"a*", false, "a*"},     {"a?", false, "a?"},    {"[a]", false, "[a]"},
      {"\\*?", false, "\\*?"}, {"]", true, "]"},       {"", true, ""},
  };
  for (const Case& c : cases) {
    const auto pattern = NamePattern::Compile(c.pattern);
    ASSERT_TRUE(pattern) << c.pattern;
    EXPECT_EQ(pattern->literal(), c.literal) << c.pattern;
    EXPECT_EQ(pattern->text(), c.text) << c.pattern;
  }
}

}  // namespace
}  // namespace patchbay
