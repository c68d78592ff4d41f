#include "discovery/path_set.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::shared_ptr<const Device> DeviceAt(std::string path) {
  Device device;
  device.nodes.push_back({path, path, FileType::kCharacter, 1, 1});
  return std::make_shared<const Device>(std::move(device));
}

TEST(PathSet, AddsEachPathOnce) {
  PathSet paths;
  EXPECT_TRUE(paths.Add("/dev/a/x"));
  EXPECT_TRUE(paths.Add("/dev/b/x"));
  EXPECT_TRUE(paths.Add("/x"));
  EXPECT_FALSE(paths.Add("/dev/a/x"));
  EXPECT_TRUE(paths.HasPathsIn("/dev/a/"));
  EXPECT_FALSE(paths.HasPathsIn("/dev/"));
}

TEST(PathSet, KnowsPathsThatWereAddedForLater) {
  const PathSet::Devices in_a = {DeviceAt("/dev/a/x"), DeviceAt("/dev/a/y")};
  const PathSet::Devices in_b = {DeviceAt("/dev/b/x")};
  PathSet paths;
  paths.Add("/dev/a/z");
  paths.AddLater("/dev/a/", in_a);
  paths.AddLater("/dev/b/", in_b);
  EXPECT_TRUE(paths.HasPathsIn("/dev/b/"));
  EXPECT_FALSE(paths.Add("/dev/a/y"));
  EXPECT_FALSE(paths.Add("/dev/a/z"));
  EXPECT_TRUE(paths.Add("/dev/a/new"));
}

}  // namespace
}  // namespace patchbay
