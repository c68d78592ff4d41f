#include "base/path.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(SplitPath, LeavesOutEmptyComponents) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(SplitPath("/dev/null"), (Parts{"dev", "null"}));
  EXPECT_EQ(SplitPath("//dev///null/"), (Parts{"dev", "null"}));
  EXPECT_EQ(SplitPath("/"), Parts());
  EXPECT_EQ(SplitPath(""), Parts());
  EXPECT_EQ(SplitPath("a"), (Parts{"a"}));
}

TEST(BaseName, IsTheLastPart) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/dev/null", "null"}, {"/null", "null"}, {"null", "null"}, {"/dev/", ""}, {"", ""},
  };
  for (const auto& [path, name] : cases) EXPECT_EQ(BaseName(path), name) << path;
}

TEST(DirectoryOf, IsTheParent) {
  EXPECT_EQ(DirectoryOf("/dev/null"), "/dev");
  EXPECT_EQ(DirectoryOf("/dev/"), "/dev");
  EXPECT_EQ(DirectoryOf("/dev"), "/");
  EXPECT_EQ(DirectoryOf("/"), "/");
  EXPECT_EQ(DirectoryOf(""), "/");
}

}  // namespace
}  // namespace patchbay
