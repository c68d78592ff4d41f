#include "base/path.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(SplitPath, OmitsEmptyComponents) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(SplitPath("/dev/null"), (Parts{"dev", "null"}));
  EXPECT_EQ(SplitPath("//dev///null/"), (Parts{"dev", "null"}));
  EXPECT_EQ(SplitPath("/"), Parts());
  EXPECT_EQ(SplitPath(""), Parts());
  EXPECT_EQ(SplitPath("a"), (Parts{"a"}));
}

TEST(IsShortestPath, AcceptsOnlyNormalizedAbsolutePaths) {
  for (const char* path : {"/a", "/dev/null", "/dev/..a", "/.../x"}) {
    EXPECT_TRUE(IsShortestPath(path)) << path;
  }
  for (const char* path :
       {"", "/", "a", "a/b", "//", "/a/", "/a//b", "/a/.", "/./a", "/..", "/a/../b"}) {
    EXPECT_FALSE(IsShortestPath(path)) << path;
  }
  EXPECT_FALSE(IsShortestPath(std::string_view("/a\0b", 4)));
}

TEST(FollowLink, ResolvesRelativeAndAbsoluteTargets) {
  EXPECT_EQ(FollowLink("/dev/x", "../null"), "/dev/null");
  EXPECT_EQ(FollowLink("/dev/x", "y/./z"), "/dev/x/y/z");
  EXPECT_EQ(FollowLink("/dev/x", "/run//a"), "/run/a");
  EXPECT_EQ(FollowLink("/dev", "../../../a"), "/a");
  EXPECT_EQ(FollowLink("/dev", "/"), "");
  EXPECT_EQ(FollowLink("/dev", ".."), "");
}

TEST(BaseName, ReturnsTheLastComponent) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/dev/null", "null"}, {"/null", "null"}, {"null", "null"}, {"/dev/", ""}, {"", ""},
  };
  for (const auto& [path, name] : cases) EXPECT_EQ(BaseName(path), name) << path;
}

TEST(DirectoryOf, ReturnsTheParent) {
  EXPECT_EQ(DirectoryOf("/dev/null"), "/dev");
  EXPECT_EQ(DirectoryOf("/dev/"), "/dev");
  EXPECT_EQ(DirectoryOf("/dev"), "/");
  EXPECT_EQ(DirectoryOf("/"), "/");
  EXPECT_EQ(DirectoryOf(""), "/");
}

}  // namespace
}  // namespace patchbay
