#include "inventory/preferred_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "support/sanitizer.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A resource with devices by ID on NUMA nodes; -1 is none.
Snapshot Replicated(Preference preference, int replicas,
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
  return Replicated(Preference::kPacked, 1, devices);
}

const Snapshot kEight = Packed(
    {{"a0", 0}, {"a1", 0}, {"a2", 0}, {"b0", 1}, {"b1", 1}, {"c0", 2}, {"d0", -1}, {"d1", -1}});
const std::vector<std::string> kAll = {"d1", "c0", "b1", "a2", "a0", "d0", "b0", "a1"};

TEST(PreferPacked, ChoosesTheSmallestSufficientNumaNode) {
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {}, 1}), ElementsAre("c0"));
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {}, 2}), ElementsAre("b0", "b1"));
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {}, 3}), ElementsAre("a0", "a1", "a2"));
}

TEST(PreferPacked, ChoosesTheLargestNumaNodeIfNoneSuffices) {
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {}, 4}), ElementsAre("a0", "a1", "a2", "c0"));
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {}, 5}), ElementsAre("a0", "a1", "a2", "b0", "b1"));
}

TEST(PreferPacked, KeepsTheNumaNodesOfTheContainer) {
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {"b1"}, 2}), ElementsAre("b1", "b0"));
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {"a0", "c0"}, 4}),
              ElementsAre("a0", "c0", "a1", "a2"));
}

TEST(PreferPacked, ChoosesDevicesWithoutNumaNodeLast) {
  EXPECT_THAT(ChoosePreferred(kEight, {{"d0", "d1", "c0"}, {}, 1}), ElementsAre("c0"));
  EXPECT_THAT(ChoosePreferred(kEight, {{"d0", "d1", "c0"}, {}, 2}), ElementsAre("c0", "d0"));
  EXPECT_THAT(ChoosePreferred(kEight, {kAll, {"d1"}, 2}), ElementsAre("d1", "c0"))
      << "the NUMA node of d0 is unknown";
}

TEST(PreferPacked, FillsADeviceBeforeUsingAnother) {
  const Snapshot shared =
      Replicated(Preference::kPacked, 3, {{"w", 0}, {"x", 0}, {"y", 0}, {"z", 1}});
  const std::vector<std::string> free = {"w::0", "w::1", "w::2", "x::2", "y::0",
                                         "y::1", "z::0", "z::1", "z::2"};
  EXPECT_THAT(ChoosePreferred(shared, {{free.begin(), free.end() - 3}, {}, 1}),
              ElementsAre("x::2"));
  EXPECT_THAT(ChoosePreferred(shared, {{free.begin(), free.end() - 3}, {}, 2}),
              ElementsAre("y::0", "y::1"));
  EXPECT_THAT(ChoosePreferred(shared, {free, {}, 3}), ElementsAre("z::0", "z::1", "z::2"));
  EXPECT_THAT(ChoosePreferred(shared, {free, {}, 4}), ElementsAre("w::0", "w::1", "w::2", "x::2"))
      << "fewer NUMA nodes have precedence over fewer devices";
  EXPECT_THAT(ChoosePreferred(shared, {free, {"y::1"}, 2}), ElementsAre("y::1", "y::0"))
      << "the container already has that device";
}

TEST(PreferPacked, ChoosesTheFirstIdsWithoutReplicas) {
  std::vector<std::pair<std::string, int>> devices;
  std::vector<std::string> ids;
  for (int i = 0; i < 12; ++i) {
    ids.push_back("tty" + std::to_string(i));
    devices.emplace_back(ids.back(), -1);
  }
  EXPECT_THAT(ChoosePreferred(Packed(devices), {ids, {"tty3"}, 4}),
              ElementsAre("tty3", "tty0", "tty1", "tty2"));
  EXPECT_EQ(ChoosePreferred(Packed(devices), {ids, {}, 11}),
            std::vector<std::string>(ids.begin(), ids.end() - 1));
}

TEST(PreferSpread, ChoosesDistinctDevicesFirst) {
  const Snapshot shared = Replicated(Preference::kSpread, 3, {{"x", 0}, {"y", 0}});
  const std::vector<std::string> all = {"x::0", "x::1", "x::2", "y::0", "y::1", "y::2"};
  EXPECT_THAT(ChoosePreferred(shared, {all, {}, 2}), ElementsAre("x::0", "y::0"));
  EXPECT_THAT(ChoosePreferred(shared, {all, {}, 3}), ElementsAre("x::0", "y::0", "x::1"));
  EXPECT_THAT(ChoosePreferred(shared, {all, {"x::1"}, 2}), ElementsAre("x::1", "y::0"));
  EXPECT_THAT(ChoosePreferred(shared, {{"x::2", "y::0", "y::1"}, {}, 1}), ElementsAre("y::0"))
      << "the least used device";
}

TEST(Prefer, IsEmptyWithoutAPreference) {
  EXPECT_THAT(ChoosePreferred(Replicated(Preference::kNone, 1, {{"a", 0}}), {{"a"}, {}, 1}),
              IsEmpty());
}

TEST(PreferSpread, ChoosesDevicesLeastUsedByTheContainer) {
  const Snapshot shared = Replicated(Preference::kSpread, 4, {{"x", 0}, {"y", 0}, {"z", 0}});
  const std::vector<std::string> all = {"x::0", "x::1", "x::2", "x::3", "y::0",
                                        "y::1", "y::2", "y::3", "z::3"};
  EXPECT_THAT(ChoosePreferred(shared, {all, {"x::0", "x::3"}, 7}),
              ElementsAre("x::0", "x::3", "y::0", "z::3", "y::1", "x::1", "y::2"));
}

TEST(Prefer, HandlesImpossibleRequests) {
  for (const Preference preference : {Preference::kPacked, Preference::kSpread}) {
    const Snapshot snapshot = Replicated(preference, 1, {{"a", 0}, {"b", 1}});
    const auto preferred = [&](const PreferenceRequest& request) {
      auto ids = ChoosePreferred(snapshot, request);
      std::sort(ids.begin(), ids.end());
      return ids;
    };
    EXPECT_THAT(preferred({{"a", "b"}, {}, 0}), IsEmpty());
    EXPECT_THAT(preferred({{}, {}, 3}), IsEmpty());
    EXPECT_THAT(preferred({{}, {"a"}, 3}), IsEmpty()) << "a is not available";
    EXPECT_THAT(preferred({{"a"}, {"b"}, 1}), ElementsAre("a"));
    EXPECT_THAT(preferred({{"a", "b"}, {}, 2}), ElementsAre("a", "b"));
    EXPECT_THAT(preferred({{"a", "b"}, {}, std::size_t(-1)}), ElementsAre("a", "b"));
    EXPECT_THAT(preferred({{"a", "b"}, {"b", "a"}, 1}), ElementsAre("a"));
    EXPECT_THAT(preferred({{"a", "b"}, {"a", "b"}, 1}), ElementsAre("a")) << "in any order";
    EXPECT_THAT(preferred({{"a", "b"}, {"b", "b"}, 2}), ElementsAre("a", "b"));
    EXPECT_THAT(preferred({{"a", "b", "a"}, {}, 3}), ElementsAre("a", "b"));
  }
}

// The list of the kubelet can be outdated: a missing device would fail the admission.
TEST(Prefer, OmitsIdsThatCannotBeAllocated) {
  for (const Preference preference : {Preference::kPacked, Preference::kSpread}) {
    Snapshot snapshot = Replicated(preference, 2, {{"a", 0}, {"b", 0}, {"c", 1}});
    snapshot.devices[0].health = Health::kUnhealthy;
    const std::vector<std::string> available = {"a::0", "a::1", "b::0", "c",    "c::2",
                                                "c::1", "",     "::",   "d::0", "b::01"};
    EXPECT_THAT(ChoosePreferred(snapshot, {available, {}, 9}),
                UnorderedElementsAre("b::0", "c::1"));
    EXPECT_THAT(ChoosePreferred(snapshot, {available, {"a::1", "d::0"}, 3}),
                UnorderedElementsAre("a::1", "d::0", "b::0"))
        << "must_include has precedence";
  }
}

/// Returns the minimum number of groups for `size` units, by trying all choices.
std::size_t FewestGroups(const std::vector<int>& groups, const std::set<std::size_t>& must,
                         std::size_t size) {
  std::size_t fewest = groups.size();
  for (unsigned choice = 0; choice < 1u << groups.size(); ++choice) {
    std::set<int> used;
    std::size_t count = 0;
    bool all = true;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool in = (choice >> i & 1) != 0;
      all = all && (in || !must.contains(i));
      if (in) ++count, used.insert(groups[i]);
    }
    if (all && count == size) fewest = std::min(fewest, used.size());
  }
  return fewest;
}

/// Returns eight units of up to four groups, with IDs from `id_of(unit, group)`.
class PreferAmongEight : public testing::Test {
 protected:
  using IdOf = std::function<std::string(int unit, int group)>;
  using MakeSnapshot = std::function<Snapshot(const std::vector<int>& groups)>;

  void Check(const IdOf& id_of, const MakeSnapshot& snapshot_of, bool fewest) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      std::vector<int> groups;
      std::vector<std::string> ids, must_ids;
      for (int i = 0; i < 8; ++i) {
        groups.push_back(static_cast<int>(random() % 4));
        ids.push_back(id_of(i, groups.back()));
      }
      const std::size_t size = 1 + random() % 8;
      std::set<std::size_t> must;
      while (must.size() < random() % size) must.insert(random() % 8);
      for (const std::size_t i : must) must_ids.push_back(ids[i]);
      const Snapshot snapshot = snapshot_of(groups);

      const auto preferred = ChoosePreferred(snapshot, {ids, must_ids, size});
      ASSERT_THAT(preferred, SizeIs(size));
      std::set<int> used;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto times = std::count(preferred.begin(), preferred.end(), ids[i]);
        ASSERT_GE(times, must.contains(i) ? 1 : 0);
        ASSERT_LE(times, 1);
        if (times > 0) used.insert(groups[i]);
      }
      const std::set<int> all(groups.begin(), groups.end());
      std::set<int> of_must;
      for (const std::size_t i : must) of_must.insert(groups[i]);
      EXPECT_EQ(used.size(), fewest ? FewestGroups(groups, must, size)
                                    : std::min(all.size(), of_must.size() + size - must.size()));
      std::shuffle(ids.begin(), ids.end(), random);
      std::shuffle(must_ids.begin(), must_ids.end(), random);
      EXPECT_EQ(ChoosePreferred(snapshot, {ids, must_ids, size}), preferred) << "in any order";
    }
  }

  static std::string UnitOnItsOwn(int unit, int) { return "n" + std::to_string(unit); }
  static std::string Replica(int unit, int group) {
    return "d" + std::to_string(group) + "::" + std::to_string(unit);
  }
  static Snapshot OnNumaNodes(const std::vector<int>& groups) {
    std::vector<std::pair<std::string, int>> devices;
    for (const int group : groups)
      devices.emplace_back("n" + std::to_string(devices.size()), group);
    return Packed(devices);
  }
};

TEST_F(PreferAmongEight, PackedUsesTheFewestNumaNodes) { Check(UnitOnItsOwn, OnNumaNodes, true); }

TEST_F(PreferAmongEight, PackedUsesTheFewestDevicesOfANumaNode) {
  const auto shared = [](const std::vector<int>&) {
    return Replicated(Preference::kPacked, 8, {{"d0", 1}, {"d1", 1}, {"d2", 1}, {"d3", 1}});
  };
  Check(Replica, shared, true);
}

TEST_F(PreferAmongEight, SpreadUsesTheMostDevices) {
  const auto shared = [](const std::vector<int>&) {
    return Replicated(Preference::kSpread, 8, {{"d0", 0}, {"d1", -1}, {"d2", 1}, {"d3", 1}});
  };
  Check(Replica, shared, false);
}

// A quadratic comparison would take minutes.
TEST(Prefer, IsFastWithManyUnits) {
  std::vector<std::pair<std::string, int>> devices;
  std::vector<std::string> ids;
  const int count = test::Cases(100'000);
  for (int i = 0; i < count; ++i) {
    devices.emplace_back("device-" + std::to_string(i), 0);
    for (const char* replica : {"::0", "::1"}) ids.push_back(devices.back().first + replica);
  }
  const std::vector<std::string> must(ids.begin(), ids.begin() + 1000);
  for (const Preference preference : {Preference::kPacked, Preference::kSpread}) {
    const auto preferred =
        ChoosePreferred(Replicated(preference, 2, devices), {ids, must, devices.size()});
    EXPECT_EQ(std::set(preferred.begin(), preferred.end()).size(), devices.size());
  }
}

}  // namespace
}  // namespace patchbay
