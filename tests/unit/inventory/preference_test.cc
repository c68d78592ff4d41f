#include "inventory/preference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A resource with devices by ID on NUMA nodes; -1 is none.
Snapshot Listed(Preference preference, int replicas,
                const std::vector<std::pair<std::string, int>>& devices) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->replicas = replicas;
  spec->preferred_allocation = preference;
  Snapshot snapshot;
  snapshot.spec = spec;
  for (const auto& [id, numa] : devices) {
    Device device;
    device.id = id;
    if (numa >= 0) device.numa_node = numa;
    snapshot.devices.push_back({std::make_shared<const Device>(device), Health::kHealthy, ""});
  }
  return snapshot;
}

Snapshot Packed(const std::vector<std::pair<std::string, int>>& devices) {
  return Listed(Preference::kPacked, 1, devices);
}

const Snapshot kEight = Packed(
    {{"a0", 0}, {"a1", 0}, {"a2", 0}, {"b0", 1}, {"b1", 1}, {"c0", 2}, {"d0", -1}, {"d1", -1}});
const std::vector<std::string> kAll = {"d1", "c0", "b1", "a2", "a0", "d0", "b0", "a1"};

TEST(PreferPacked, TakesTheSmallestNumaNodeThatHasEnough) {
  EXPECT_THAT(Prefer(kEight, {kAll, {}, 1}), ElementsAre("c0"));
  EXPECT_THAT(Prefer(kEight, {kAll, {}, 2}), ElementsAre("b0", "b1"));
  EXPECT_THAT(Prefer(kEight, {kAll, {}, 3}), ElementsAre("a0", "a1", "a2"));
}

TEST(PreferPacked, TakesTheLargestWhereNoneHasEnough) {
  EXPECT_THAT(Prefer(kEight, {kAll, {}, 4}), ElementsAre("a0", "a1", "a2", "c0"));
  EXPECT_THAT(Prefer(kEight, {kAll, {}, 5}), ElementsAre("a0", "a1", "a2", "b0", "b1"));
}

TEST(PreferPacked, StaysWhereTheContainerAlreadyIs) {
  EXPECT_THAT(Prefer(kEight, {kAll, {"b1"}, 2}), ElementsAre("b1", "b0"));
  EXPECT_THAT(Prefer(kEight, {kAll, {"a0", "c0"}, 4}), ElementsAre("a0", "c0", "a1", "a2"));
}

TEST(PreferPacked, LeavesDevicesWithoutANumaNodeForTheEnd) {
  EXPECT_THAT(Prefer(kEight, {{"d0", "d1", "c0"}, {}, 1}), ElementsAre("c0"));
  EXPECT_THAT(Prefer(kEight, {{"d0", "d1", "c0"}, {}, 2}), ElementsAre("c0", "d0"));
}

TEST(PreferSpread, TakesDistinctDevicesFirst) {
  const Snapshot shared = Listed(Preference::kSpread, 3, {{"x", 0}, {"y", 0}});
  const std::vector<std::string> all = {"x::0", "x::1", "x::2", "y::0", "y::1", "y::2"};
  EXPECT_THAT(Prefer(shared, {all, {}, 2}), ElementsAre("x::0", "y::0"));
  EXPECT_THAT(Prefer(shared, {all, {}, 3}), ElementsAre("x::0", "y::0", "x::1"));
  EXPECT_THAT(Prefer(shared, {all, {"x::1"}, 2}), ElementsAre("x::1", "y::0"));
  EXPECT_THAT(Prefer(shared, {{"x::2", "y::0", "y::1"}, {}, 1}), ElementsAre("y::0"))
      << "the one that is used least";
}

TEST(Prefer, SaysNothingWithoutAPreference) {
  EXPECT_THAT(Prefer(Listed(Preference::kNone, 1, {{"a", 0}}), {{"a"}, {}, 1}), IsEmpty());
}

TEST(Prefer, BearsWithWhatCannotBe) {
  for (const Preference preference : {Preference::kPacked, Preference::kSpread}) {
    const Snapshot snapshot = Listed(preference, 1, {{"a", 0}, {"b", 1}});
    EXPECT_THAT(Prefer(snapshot, {{"a", "b"}, {}, 0}), IsEmpty());
    EXPECT_THAT(Prefer(snapshot, {{}, {}, 3}), IsEmpty());
    EXPECT_THAT(Prefer(snapshot, {{"a", "b"}, {}, 5}), SizeIs(2));
    EXPECT_THAT(Prefer(snapshot, {{"a", "b"}, {"b", "a"}, 1}), SizeIs(1));
    EXPECT_THAT(Prefer(snapshot, {{"a"}, {"b"}, 1}), ElementsAre("a")) << "b is not available";
    EXPECT_THAT(Prefer(snapshot, {{"a", "a", "stranger", ""}, {}, 4}), SizeIs(3));
  }
}

/// The fewest NUMA nodes that `size` of the devices can be on, by trying all of them.
std::size_t FewestNodes(const std::vector<int>& numa, const std::set<std::size_t>& must,
                        std::size_t size) {
  std::size_t fewest = numa.size();
  for (unsigned subset = 0; subset < 1u << numa.size(); ++subset) {
    std::set<int> nodes;
    std::size_t count = 0;
    bool all = true;
    for (std::size_t i = 0; i < numa.size(); ++i) {
      const bool in = (subset >> i & 1) != 0;
      all = all && (in || !must.contains(i));
      if (in) ++count, nodes.insert(numa[i]);
    }
    if (all && count == size) fewest = std::min(fewest, nodes.size());
  }
  return fewest;
}

TEST(PreferPacked, NoOtherChoiceNeedsFewerNumaNodes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<std::string, int>> devices;
    std::vector<int> numa;
    std::vector<std::string> ids;
    for (int i = 0; i < 8; ++i) {
      numa.push_back(static_cast<int>(random() % 4));
      ids.push_back("n" + std::to_string(i));
      devices.emplace_back(ids.back(), numa.back());
    }
    const std::size_t size = 1 + random() % 8;
    std::set<std::size_t> must;
    std::vector<std::string> must_ids;
    for (std::size_t i = 0; i < random() % size; ++i) must.insert(random() % 8);
    for (const std::size_t i : must) must_ids.push_back(ids[i]);
    const Snapshot snapshot = Packed(devices);

    const auto preferred = Prefer(snapshot, {ids, must_ids, size});
    ASSERT_EQ(preferred.size(), size);
    std::set<int> nodes;
    for (const std::string& id : preferred) nodes.insert(numa[std::stoul(id.substr(1))]);
    for (const std::string& id : must_ids) {
      EXPECT_NE(std::find(preferred.begin(), preferred.end(), id), preferred.end());
    }
    EXPECT_EQ(nodes.size(), FewestNodes(numa, must, size));
    std::shuffle(ids.begin(), ids.end(), random);
    EXPECT_EQ(Prefer(snapshot, {ids, must_ids, size}), preferred) << "whatever the order";
  }
}

}  // namespace
}  // namespace patchbay
