#include "model/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay {
namespace {

Snapshot SnapshotOf(int replicas, std::vector<std::string> ids) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->replicas = replicas;
  std::sort(ids.begin(), ids.end(), [](const auto& a, const auto& b) { return IdLess(a, b); });
  Snapshot snapshot{spec, 1, {}, {}};
  for (const std::string& id : ids) {
    snapshot.devices.push_back(
        {std::make_shared<Device>(Device{id, {}, {}}), Health::kHealthy, ""});
  }
  return snapshot;
}

TEST(IdLess, OrdersNumbersNumerically) {
  const std::vector<std::string_view> sorted = {"",
                                                "001",
                                                "1",
                                                "02",
                                                "2",
                                                "10",
                                                "99999999999999999998",
                                                "99999999999999999999",
                                                "a",
                                                "a1",
                                                "a1b",
                                                "a2",
                                                "a10",
                                                "a10::2",
                                                "a10::10",
                                                "b",
                                                "tty",
                                                "tty9",
                                                "tty10",
                                                "tty10a"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(IdLess(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
    }
  }
}

// Any order of any texts: the start that two texts share is skipped.
TEST(IdLess, IsAStrictOrder) {
  std::vector<std::string> texts = {""};
  for (std::size_t from = 0, length = 0; length < 4; ++length) {
    for (const std::size_t end = texts.size(); from < end; ++from) {
      for (const char c : {'0', '1', 'a'}) texts.push_back(texts[from] + c);
    }
  }
  std::sort(texts.begin(), texts.end(), IdLess);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = 0; j < texts.size(); ++j) {
      ASSERT_EQ(IdLess(texts[i], texts[j]), i < j) << texts[i] << " " << texts[j];
    }
  }
}

TEST(AdvertisedId, HasASuffixOnlyWithReplicas) {
  ResourceSpec spec;
  EXPECT_EQ(AdvertisedId(spec, "x", 0), "x");
  EXPECT_EQ(LongestDeviceId(spec), 63u);
  spec.replicas = 2;
  EXPECT_EQ(AdvertisedId(spec, "x", 1), "x::1");
  EXPECT_EQ(LongestDeviceId(spec), 60u);
  spec.replicas = 10'000;
  EXPECT_EQ(AdvertisedId(spec, std::string(LongestDeviceId(spec), 'x'), 9999).size(), 63u);
}

TEST(FindAdvertised, FindsEveryDeviceAndReplica) {
  const Snapshot plain = SnapshotOf(1, {"tty10", "tty9", "a::0"});
  EXPECT_EQ(FindAdvertised(plain, "tty9").index, 1);
  EXPECT_EQ(FindAdvertised(plain, "tty10").listed->device->id, "tty10");
  EXPECT_EQ(FindAdvertised(plain, "a::0").replica, 0);

  const Snapshot shared = SnapshotOf(3, {"x", "y::1"});
  const FoundDevice found = FindAdvertised(shared, "x::2");
  ASSERT_NE(found.listed, nullptr);
  EXPECT_EQ(found.index, 0);
  EXPECT_EQ(found.replica, 2);
  EXPECT_EQ(FindAdvertised(shared, "y::1::0").listed->device->id, "y::1");
}

TEST(FindAdvertised, RejectsUnknownIds) {
  const Snapshot plain = SnapshotOf(1, {"x"});
  for (const std::string_view id : {"", "y", "x::0", "X"}) {
    EXPECT_EQ(FindAdvertised(plain, id).listed, nullptr) << id;
  }
  const Snapshot shared = SnapshotOf(3, {"x"});
  for (const std::string_view id : {"", "x", "x::", "x::3", "x::-1", "x::+1", "x::01", "x::1 ",
                                    "x::99999999999999999999", "y::0", "::0", "x:0", "x::0::0"}) {
    EXPECT_EQ(FindAdvertised(shared, id).listed, nullptr) << id;
  }
}

TEST(ParseAdvertised, InvertsAdvertisedId) {
  ResourceSpec spec;
  EXPECT_EQ(ParseAdvertised(spec, "x::7")->device_id, "x::7");
  spec.replicas = 12;
  for (const std::string_view device : {"x", "x::1", ":", "::"}) {
    for (const int replica : {0, 9, 11}) {
      const std::string id = AdvertisedId(spec, device, replica);
      const auto unit = ParseAdvertised(spec, id);
      ASSERT_TRUE(unit) << id;
      EXPECT_EQ(unit->device_id, device);
      EXPECT_EQ(unit->replica, replica);
    }
  }
  EXPECT_FALSE(ParseAdvertised(spec, "x"));
  EXPECT_FALSE(ParseAdvertised(spec, "::0"));
  EXPECT_FALSE(ParseAdvertised(spec, "x::12"));
}

TEST(RejectReason, NamesAreUnique) {
  std::vector<std::string_view> names;
  for (const RejectReason reason : kAllRejectReasons) names.push_back(Name(reason));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_FALSE(names.front().empty());
}

}  // namespace
}  // namespace patchbay
