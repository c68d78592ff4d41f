#include "model/glob_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace patchbay {
namespace {

Glob OverlapGlob(std::string_view pattern) {
  auto glob = Glob::Compile(pattern);
  EXPECT_TRUE(glob) << pattern << ": " << (glob ? "" : glob.error().message);
  return glob ? *glob : Glob();
}

std::string Repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

/// Returns a path that both globs match, by comparing all alternatives.
std::optional<std::string> PathMatchedByBoth(const Glob& a, const Glob& b) {
  const auto wanted = [&](const std::string& path) { return a.Matches(path) && b.Matches(path); };
  std::vector<FixedEnds> ends;
  for (const Glob::Components& components : b.alternatives())
    ends.push_back(FixedEndsOf(components));
  OverlapSearch search(10'000'000);
  for (const Glob::Components& x : a.alternatives()) {
    const FixedEnds ends_of_x = FixedEndsOf(x);
    for (std::size_t i = 0; i < ends.size() && search.Spend(1); ++i) {
      if (!CanMeet(ends_of_x, ends[i])) continue;
      if (auto path = search.Find(x, b.alternatives()[i], wanted)) return path;
    }
  }
  return std::nullopt;
}

/// Returns the path that both match, or "". Must not depend on the order.
std::string Common(std::string_view pattern_a, std::string_view pattern_b) {
  const Glob a = OverlapGlob(pattern_a), b = OverlapGlob(pattern_b);
  const auto path = PathMatchedByBoth(a, b);
  EXPECT_EQ(path.has_value(), PathMatchedByBoth(b, a).has_value()) << pattern_a << " " << pattern_b;
  if (!path) return "";
  EXPECT_TRUE(a.Matches(*path)) << pattern_a << " " << *path;
  EXPECT_TRUE(b.Matches(*path)) << pattern_b << " " << *path;
  return *path;
}

TEST(GlobOverlap, FindsACommonPath) {
  struct Case {
    std::string_view a, b, path;
  };
  const Case cases[] = {
      {"/dev/tty", "/dev/tty", "/dev/tty"},
      {"/dev/tty", "/dev/ttx", ""},
      {"/dev/tty", "/dev/tty/a", ""},
      {"/dev/ttyUSB*", "/dev/ttyUSB0", "/dev/ttyUSB0"},
      {"/dev/ttyUSB*", "/dev/ttyUSB*", "/dev/ttyUSB0"},
      {"/dev/ttyUSB*", "/dev/tty*", "/dev/ttyUSB0"},
      {"/dev/tty*", "/dev/*USB?", "/dev/ttyUSB0"},
      {"/dev/ttyUSB*", "/dev/ttyACM*", ""},
      {"/dev/ttyUSB", "/dev/ttyUSB*", "/dev/ttyUSB"},
      {"/dev/ttyUSB*", "/dev/*B", "/dev/ttyUSBB"},
      {"/dev/ttyUS?", "/dev/ttyUSB*", "/dev/ttyUSB"},
      {"/dev/x?", "/dev/x??", ""},
      {"/dev/a*b*c", "/dev/*cab*", "/dev/acab0c"},
      // Brackets.
      {"/dev/sd[a-c]", "/dev/sd[c-f]", "/dev/sdc"},
      {"/dev/sd[a-c]", "/dev/sd[d-f]", ""},
      {"/dev/sd[!a-c]", "/dev/sd[a-d]", "/dev/sdd"},
      {"/dev/sd[!a-c]", "/dev/sd[a-c]", ""},
      {"/dev/sd[a-z]*", "/dev/sd*[0-9]", "/dev/sda0"},
      {"/dev/x[]]", "/dev/x[!a]", "/dev/x]"},
      {"/dev/x[[:digit:]]", "/dev/x[[:alpha:]1]", "/dev/x1"},
      {"/dev/x[a\\]b]", "/dev/x[!ab]", "/dev/x]"},
      {"/dev/x[a\\]", "/dev/x?a?", "/dev/x[a]"},
      {"/dev/x[[:a]", "/dev/x[:0]", "/dev/x:"},
      // Escapes.
      {"/dev/a\\*b", "/dev/a?b", "/dev/a*b"},
      {"/dev/a\\*?", "/dev/a\\?*", ""},
      // Hidden names.
      {"/dev/.*", "/dev/*", ""},
      {"/dev/.*", "/dev/[.]x", ""},
      {"/dev/.*", "/dev/.?", "/dev/.0"},
      {"/dev/.*", "/dev/\\.a*", "/dev/.a0"},
      {"/dev/.?", "/dev/.[.]", ""},
      {"/dev/..*", "/dev/.*", "/dev/..."},
      {"/dev/.?[.]", "/dev/.*", "/dev/..."},
      {"/dev/*x", "/dev/.x", ""},
      {"/dev/**/x", "/dev/.a/x", ""},
      // Alternatives.
      {"/dev/{a,b}*", "/dev/{c,b}?", "/dev/b0"},
      {"/dev/{a,b}", "/dev/{c,d}", ""},
      {"/dev/x{,y}", "/dev/xy*", "/dev/xy"},
      {"/{dev,srv/{x,y}}/a", "/*/y/*", "/srv/y/a"},
      // Any number of directories.
      {"/dev/**/event*", "/dev/input/*", "/dev/input/event0"},
      {"/dev/**/event*", "/dev/*", "/dev/event0"},
      {"/dev/**", "/dev/snd/pcm*", "/dev/snd/pcm0"},
      {"/**/a/**/b", "/**/b/**/c", ""},
      {"/**/a/**/b", "/**/b/**/b", "/b/a/b"},
      {"/**/a/**", "/b/**/c", "/b/a/c"},
      {"/**/a/*", "/*/*/b", "/0/a/b"},
      {"/dev/**/x", "/dev/**/y", ""},
      {"/dev/**", "/srv/**", ""},
      {"/a/**/b", "/a/*", "/a/b"},
      {"/a/**/b", "/a/?/?/?/b", "/a/0/0/0/b"},
  };
  for (const Case& c : cases) EXPECT_EQ(Common(c.a, c.b), c.path) << c.a << " " << c.b;
}

TEST(GlobOverlap, FindsOnlyNamesOfValidLength) {
  EXPECT_EQ(Common("/" + Repeated("?", 255), "/*"), "/" + Repeated("0", 255));
  EXPECT_EQ(Common("/" + Repeated("?", 256), "/*"), "");
  EXPECT_EQ(Common("/" + Repeated("a", 256), "/*"), "");
  EXPECT_EQ(Common("/" + Repeated("a", 200) + "*", "/*" + Repeated("b", 200)), "");
  EXPECT_EQ(Common("/" + Repeated("a", 127) + "*", "/*" + Repeated("b", 127)).size(), 255u);
}

/// Returns all short paths of a few characters.
std::vector<std::string> ShortPaths() {
  std::vector<std::string> names, more = {""};
  std::size_t short_names = 0;
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> longer;
    for (const std::string& name : more) {
      for (const char c : {'a', 'b', '.'}) longer.push_back(name + c);
    }
    for (const std::string& name : longer) {
      if (name != "." && name != "..") names.push_back(name);
    }
    if (length == 2) short_names = names.size();
    more = std::move(longer);
  }
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < names.size(); ++i) {
    paths.push_back("/" + names[i]);
    for (std::size_t j = 0; j < names.size(); ++j) {
      paths.push_back("/" + names[i] + "/" + names[j]);
      for (std::size_t k = 0; k < short_names && i < short_names && j < short_names; ++k) {
        paths.push_back("/" + names[i] + "/" + names[j] + "/" + names[k]);
      }
    }
  }
  return paths;
}

TEST(GlobOverlap, AgreesWithExhaustiveSearch) {
  const std::vector<std::string> paths = ShortPaths();
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  constexpr std::string_view kPieces[] = {"a",    "b",   ".",    "a",    "b",   "*",      "?",
                                          "[ab]", "[b]", "[!a]", "*",    "[.]", "{a,b?}", "\\b",
                                          "/",    "/",   "/**/", "{,a}", "/*",  "{/a,*}", "[a-b.]"};
  struct Sample {
    Glob glob;
    std::vector<std::size_t> matches;
  };
  std::vector<Sample> samples;
  while (samples.size() < 150) {
    std::string pattern = "/";
    for (std::size_t pieces = 1 + below(5); pieces > 0; --pieces) {
      pattern += kPieces[below(std::size(kPieces))];
    }
    const auto glob = Glob::Compile(pattern);
    if (!glob) continue;
    samples.push_back({*glob, {}});
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (glob->Matches(paths[i])) samples.back().matches.push_back(i);
    }
  }
  int found = 0;
  for (const Sample& a : samples) {
    for (const Sample& b : samples) {
      const auto path = PathMatchedByBoth(a.glob, b.glob);
      std::vector<std::size_t> both;
      std::set_intersection(a.matches.begin(), a.matches.end(), b.matches.begin(), b.matches.end(),
                            std::back_inserter(both));
      if (!both.empty()) {
        EXPECT_TRUE(path) << a.glob.text() << " " << b.glob.text() << " " << paths[both.front()];
      }
      if (!path) continue;
      ++found;
      EXPECT_TRUE(a.glob.Matches(*path) && b.glob.Matches(*path))
          << a.glob.text() << " " << b.glob.text() << " " << *path;
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(GlobOverlap, FindsCommonNames) {
  struct Case {
    std::string_view a, b;
    std::optional<std::string> common;
  };
  const Case cases[] = {{"rack-*", "*-1", "rack-1"},
                        {"a", "a", "a"},
                        {"a", "b", std::nullopt},
                        {"rack-*", "desk*", std::nullopt},
                        {"*", "*", "0"},
                        {"n[1-3]", "n[4-6]", std::nullopt},
                        {"n[1-3]", "n[3-6]", "n3"},
                        {"?", "??", std::nullopt}};
  for (const Case& c : cases) {
    OverlapSearch search(100'000);
    EXPECT_EQ(search.FindName(*NamePattern::Compile(c.a), *NamePattern::Compile(c.b)), c.common)
        << c.a << " " << c.b;
  }
}

TEST(GlobOverlap, SearchesUntilAPathIsAccepted) {
  const Glob a = OverlapGlob("/dev/sd*"), b = OverlapGlob("/dev/sd[a-z]*");
  const auto find = [&](std::string_view unwanted) {
    const Glob exclude = OverlapGlob(unwanted);
    OverlapSearch search(100'000);
    return search
        .Find(a.alternatives()[0], b.alternatives()[0],
              [&](const std::string& path) { return !exclude.Matches(path); })
        .value_or("");
  };
  EXPECT_EQ(find("/dev/sr0"), "/dev/sda0");
  EXPECT_EQ(find("/dev/sda*"), "/dev/sdb1");
  EXPECT_EQ(find("/dev/sd[a-m]*"), "/dev/sdz9");
  EXPECT_EQ(find("/dev/sd*[0-9]"), "/dev/sdaa");
  EXPECT_EQ(find("/dev/sd??*"), "/dev/sda");
  EXPECT_EQ(find("/dev/sd?"), "/dev/sda0");
  EXPECT_EQ(find("/dev/sd*"), "");
}

TEST(GlobOverlap, StopsAtTheStepLimit) {
  const Glob a = OverlapGlob("/dev/tty*"), b = OverlapGlob("/dev/*USB?");
  const auto any = [](const std::string&) { return true; };
  OverlapSearch search(100'000);
  EXPECT_TRUE(search.Find(a.alternatives()[0], b.alternatives()[0], any));
  EXPECT_FALSE(search.exhausted());
  EXPECT_FALSE(search.Spend(100'000));
  EXPECT_TRUE(search.exhausted());
  EXPECT_FALSE(search.Find(a.alternatives()[0], b.alternatives()[0], any));
}

TEST(GlobOverlap, ReturnsTheLiteralPrefixAndSuffix) {
  struct Case {
    std::string_view pattern, begin, backward_end;
    bool whole;
  };
  const Case cases[] = {
      {"/dev/tty", "/dev/tty", "ytt/ved/", true},
      {"/dev/tty*", "/dev/tty", "", false},
      {"/dev/\\*[0-9]b", "/dev/*", "b", false},
      {"/dev/**/x", "/dev/", "x/", false},
      {"/dev/*/a/b", "/dev/", "b/a/", false},
      {"/d*v/a", "/d", "a/v", false},
      {"/**", "/", "", false},
  };
  for (const Case& c : cases) {
    const FixedEnds ends = FixedEndsOf(OverlapGlob(c.pattern).alternatives()[0]);
    EXPECT_EQ(ends.begin, c.begin) << c.pattern;
    EXPECT_EQ(ends.backward_end, c.backward_end) << c.pattern;
    EXPECT_EQ(ends.whole, c.whole) << c.pattern;
  }
}

// A failure is a crash or the time limit of the test; the results do not matter.
TEST(GlobOverlap, HostilePatternsTakeBoundedTime) {
  const std::string digits = "{0,1,2,3,4,5,6,7,8,9}";
  const std::string pairs[][2] = {
      {"/" + Repeated("**/a*/", 600) + "x", "/" + Repeated("*a/**/", 600) + "x"},
      {"/" + Repeated("**/a*/", 45) + "x", "/" + Repeated("*b*/**/", 45) + "x"},
      {"/**/" + Repeated("a*/", 45) + "b", "/" + Repeated("*a/**/", 45) + "*"},
      {"/" + Repeated("a*", 2000), "/" + Repeated("*a", 2000)},
      {"/" + Repeated("?*", 250), "/" + Repeated("*?", 250) + "a"},
      {"/" + Repeated("[a-z]", 800), "/" + Repeated("[!b]", 1000)},
      {"/[" + Repeated("[:alpha:]", 400) + "]", "/[" + Repeated("a-z", 1300) + "]"},
      {"/*" + Repeated("a", 240) + digits + digits + digits,
       "/*" + Repeated("b", 240) + digits + digits + digits},
      {"/*" + digits + digits + digits + "*" + Repeated("?", 240),
       "/*" + digits + digits + digits + "?*" + Repeated("?", 240)},
      {"/*" + digits + digits + digits + "*" + Repeated("?", 200) + "a*",
       "/*" + digits + digits + digits + "?*" + Repeated("?*", 110) + "b"},
  };
  for (const auto& [a, b] : pairs) PathMatchedByBoth(OverlapGlob(a), OverlapGlob(b));
}

}  // namespace
}  // namespace patchbay
