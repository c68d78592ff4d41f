#include "model/container_paths.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace patchbay {
namespace {

using testing::HasSubstr;

ContainerPath Node(std::string_view path, std::string_view source) {
  return {path, PathKind::kNode, source};
}
ContainerPath Mount(std::string_view path, std::string_view source) {
  return {path, PathKind::kMount, source};
}

TEST(FindPathClash, ComparesNodesAndMountsWithTheirAncestors) {
  struct Case {
    std::vector<ContainerPath> paths;
    std::optional<PathClash> clash;
  };
  const auto same = PathClash{ClashKind::kSamePath, 0, 1};
  const auto inside = PathClash{ClashKind::kNodeInMount, 0, 1};
  const auto below = PathClash{ClashKind::kBelowNode, 0, 1};
  const Case cases[] = {
      {{}, {}},
      {{Node("/dev/a", "/dev/a")}, {}},
      {{Node("/dev/a", "/dev/a"), Node("/dev/b", "/dev/b")}, {}},
      {{Node("/dev/a", "/dev/b"), Node("/dev/a", "/dev/c")}, same},
      {{Node("/dev/a", "/dev/b"), Node("/dev/a", "/dev/b")}, {}},
      {{Mount("/opt", "/x"), Mount("/opt", "/y")}, same},
      {{Mount("/dev/foo0", "/opt/file"), Node("/dev/foo0", "/dev/foo0")}, same},
      {{Node("/dev/foo0", "/dev/foo0"), Mount("/dev/foo0", "/opt/file")}, same},
      {{Node("/dev/foo0", "/dev/foo0"), Mount("/dev/foo0", "/dev/foo0")}, {}},
      {{Mount("/dev/x", "/opt"), Node("/dev/x/y/z", "/dev/z")}, inside},
      {{Mount("/dev/x", "/dev"), Node("/dev/x/y/z", "/dev/z")}, inside},
      {{Mount("/dev/x", "/dev"), Node("/dev/x/y/z", "/dev/y/z")}, {}},
      {{Node("/dev/x", "/dev/a"), Node("/dev/x/y", "/dev/b")}, below},
      {{Node("/dev/x", "/dev/a"), Mount("/dev/x/y", "/dev/a/y")}, below},
      {{Mount("/opt", "/a"), Mount("/opt/x", "/b")}, {}},
      {{Mount("/", "/a"), Node("/dev/x", "/dev/x")}, inside},
      // Names that only begin in the same way.
      {{Mount("/dev/x", "/opt"), Node("/dev/x0", "/dev/x0")}, {}},
      {{Mount("/dev/x", "/opt"), Node("/dev/x-0/y", "/dev/y"), Node("/dev/x/y", "/dev/y")},
       PathClash{ClashKind::kNodeInMount, 0, 2}},
      // Other spellings.
      {{Mount("/dev//x/", "/opt"), Node("/dev/./x/y", "/dev/y")}, inside},
      {{Mount("/sys/../dev/x", "/opt"), Node("/dev/x", "/dev/y")}, same},
      // The inner mount decides.
      {{Mount("/dev/x", "/opt"), Mount("/dev/x/y", "/dev"), Node("/dev/x/y/a", "/dev/a")}, {}},
      {{Mount("/dev/x", "/dev"), Mount("/dev/x/y", "/opt"), Node("/dev/x/y/a", "/dev/y/a")},
       PathClash{ClashKind::kNodeInMount, 1, 2}},
      // Sources that are known in part.
      {{Mount("/dev/x", "/opt"), Node("/dev/x/y", "/dev/")}, inside},
      {{Mount("/dev/x", "/dev/z"), Node("/dev/x/y", "/dev/")}, {}},
      {{Mount("/dev/x", "/"), Node("/dev/x/y", "/dev/y")}, {}},
      {{Mount("/dev/x", "/opt/"), Node("/dev/x", "/dev/y")}, same},
      {{Mount("/dev/x", "/dev"), Node("/dev/x/\x01slot\x01", "/dev/y")}, {}},
      {{Mount("/dev/x", "/opt"), Node("/dev/x/\x01slot\x01", "/dev/y")}, inside},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(FindPathClash(c.paths), c.clash) << &c - cases;
  }
}

/// The rule for two paths, without sorting and without sources that are known in part.
bool Clashes(const ContainerPath& a, const ContainerPath& b) {
  if (a.path == b.path) return a.source != b.source;
  const ContainerPath& top = a.path.size() < b.path.size() ? a : b;
  const ContainerPath& path = &top == &a ? b : a;
  if (!path.path.starts_with(std::string(top.path) + "/")) return false;
  if (top.kind == PathKind::kNode) return true;
  return path.kind == PathKind::kNode &&
         path.source != std::string(top.source) + std::string(path.path.substr(top.path.size()));
}

TEST(FindPathClash, FindsWhatComparingAllPairsFinds) {
  std::mt19937 random(1);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int clashes = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) {
      std::string text;
      for (int depth = 1 + pick(3); depth > 0; --depth) text += pick(2) == 0 ? "/a" : "/a-b";
      texts.push_back(std::move(text));
    }
    std::vector<ContainerPath> paths;
    for (int i = 0; i < 2 + pick(3); ++i) {
      // Without mounts in mounts, where the inner one decides.
      const bool is_mount = i == 0 && pick(2) == 0;
      paths.push_back({texts[static_cast<std::size_t>(2 * i)],
                       is_mount ? PathKind::kMount : PathKind::kNode,
                       texts[static_cast<std::size_t>(2 * i + 1)]});
    }
    bool expected = false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) expected = expected || Clashes(paths[i], paths[k]);
    }
    const auto clash = FindPathClash(paths);
    ASSERT_EQ(clash.has_value(), expected) << round;
    clashes += clash ? 1 : 0;
  }
  EXPECT_GT(clashes, 1000);
  EXPECT_LT(clashes, 19'000);
}

TEST(FindPathClash, NamesBothPathsAndTheirOwners) {
  const std::vector<ContainerPath> paths = {
      {"/dev/ttyUSB0", PathKind::kNode, "/dev/ttyUSB3", "the claim a"},
      {"/dev/ttyUSB0", PathKind::kNode, "/dev/ttyUSB4", "the claim b"},
      {"/dev/x", PathKind::kMount, "/opt"},
      {"/dev/x/y", PathKind::kNode, "/dev/y"},
  };
  EXPECT_THAT(TextOf({ClashKind::kSamePath, 0, 1}, paths),
              HasSubstr("the device node /dev/ttyUSB3 of the claim a and the device node "
                        "/dev/ttyUSB4 of the claim b would both be /dev/ttyUSB0"));
  EXPECT_THAT(TextOf({ClashKind::kNodeInMount, 2, 3}, paths),
              HasSubstr("the device node /dev/y would be /dev/x/y in the container, which is below "
                        "the mount of /opt at /dev/x"));
  EXPECT_THAT(TextOf({ClashKind::kBelowNode, 0, 3}, paths), HasSubstr("below a device node"));
}

}  // namespace
}  // namespace patchbay
