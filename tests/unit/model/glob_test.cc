#include "model/glob.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

Glob Compiled(std::string_view pattern) {
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
      {"/dev/a\\*b", "/dev/a*b", true},
      {"/dev/a\\*b", "/dev/axb", false},
      {"/dev/\\{a", "/dev/{a", true},
      {"/dev/x*", "/dev/x y\nz", true},
      {"/dev/x*", "/dev/x\xff\xfe", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Compiled(c.pattern).Matches(c.path), c.matches) << c.pattern << " " << c.path;
  }
}

TEST(Glob, KnowsTheDirectoryOfItsMatches) {
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
    const Glob glob = Compiled(c.pattern);
    EXPECT_EQ(glob.fixed_directory(), c.directory) << c.pattern;
    EXPECT_EQ(glob.spans_directories(), c.spans) << c.pattern;
  }
}

TEST(Glob, PointsAtTheMistake) {
  struct Case {
    std::string_view pattern;
    std::size_t offset;
    std::string_view part_of_message;
  };
  const Case cases[] = {
      {"dev/tty", 0, "begin with"},
      {"", 0, "begin with"},
      {"/dev/[a-", 5, "never closed"},
      {"/dev/{a,b", 5, "never closed"},
      {"/dev/a}", 6, "closes nothing"},
      {"/dev/../x", 5, "may not contain"},
      {"/", 0, "names no file"},
      {"/dev/x\\", 6, "backslash"},
      {"/a{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}", 0, "alternatives"},
  };
  for (const Case& c : cases) {
    const auto glob = Glob::Compile(c.pattern);
    ASSERT_FALSE(glob) << c.pattern;
    EXPECT_EQ(glob.error().offset, c.offset) << c.pattern;
    EXPECT_NE(glob.error().message.find(c.part_of_message), std::string::npos)
        << glob.error().message;
  }
}

}  // namespace
}  // namespace patchbay
