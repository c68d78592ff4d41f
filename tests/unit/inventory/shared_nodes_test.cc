#include "inventory/shared_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns a snapshot of devices with these nodes; "!" marks an unhealthy one.
std::shared_ptr<const Snapshot> SnapshotOf(const std::vector<std::vector<std::string>>& devices) {
  auto snapshot = std::make_shared<Snapshot>();
  for (const auto& paths : devices) {
    Device device;
    Health health = Health::kHealthy;
    for (std::string path : paths) {
      if (path.starts_with("!")) {
        health = Health::kUnhealthy;
        path.erase(0, 1);
      }
      // In this test every path is a separate device: its last character is its number.
      const auto number = static_cast<unsigned>(path.back());
      device.nodes.push_back({"/as-matched" + path, path, FileType::kCharacter, 1, number});
    }
    snapshot->devices.push_back({std::make_shared<const Device>(device), health, ""});
  }
  return snapshot;
}

std::vector<std::string> Pairs(const SharedNodes& shared) {
  std::vector<std::string> pairs;
  for (const auto& pair : shared.pairs) {
    pairs.push_back(std::to_string(pair.first) + "-" + std::to_string(pair.second) + " " +
                    pair.path);
  }
  return pairs;
}

TEST(SharedNodes, AreFoundByResolvedPath) {
  const std::shared_ptr<const Snapshot> all[] = {
      SnapshotOf({{"/dev/a"}, {"/dev/b"}, {"/dev/c", "/dev/d"}}),
      SnapshotOf({{"/dev/x"}, {"/dev/b"}}), SnapshotOf({{"/dev/d", "/dev/c"}, {"/dev/b"}})};
  const SharedNodes shared = FindSharedNodes(all);
  EXPECT_THAT(shared.devices, ElementsAre(2u, 1u, 2u));
  EXPECT_THAT(Pairs(shared), ElementsAre("0-1 /dev/b", "0-2 /dev/b"));
}

TEST(SharedNodes, AreFoundByDeviceNumber) {
  const std::shared_ptr<const Snapshot> all[] = {SnapshotOf({{"/dev/a1"}}),
                                                 SnapshotOf({{"/dev/b1"}})};
  EXPECT_THAT(Pairs(FindSharedNodes(all)), ElementsAre("0-1 /dev/a1"));
}

TEST(SharedNodes, IgnoreNodesSharedWithinOneResource) {
  const std::shared_ptr<const Snapshot> all[] = {SnapshotOf({{"/dev/a"}, {"/dev/a"}}), nullptr,
                                                 SnapshotOf({{"/dev/b"}, {}})};
  const SharedNodes shared = FindSharedNodes(all);
  EXPECT_THAT(shared.devices, ElementsAre(0u, 0u, 0u));
  EXPECT_THAT(shared.pairs, IsEmpty());
}

TEST(SharedNodes, IgnoreUnhealthyDevices) {
  const std::shared_ptr<const Snapshot> all[] = {SnapshotOf({{"!/dev/a"}}),
                                                 SnapshotOf({{"/dev/a"}})};
  EXPECT_THAT(FindSharedNodes(all).pairs, IsEmpty());
}

}  // namespace
}  // namespace patchbay
