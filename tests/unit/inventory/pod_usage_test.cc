#include "inventory/pod_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const Holder kA{"default", "a", "c"}, kB{"default", "b", "c"};

ResourceSpec WithReplicas(int replicas) {
  ResourceSpec spec;
  spec.replicas = replicas;
  return spec;
}

TEST(PodUsageOf, IsEmptyWithoutHolders) {
  const PodUsage usage = PodUsageOf(WithReplicas(1), {});
  EXPECT_EQ(usage.units, 0u);
  EXPECT_THAT(usage.holders, IsEmpty());
}

TEST(PodUsageOf, WithoutReplicasUnitsAreDevices) {
  const DeviceHolders units = {{"x", {kA}}, {"y::1", {kB}}, {"::", {kB}}};
  const PodUsage usage = PodUsageOf(WithReplicas(1), units);
  EXPECT_EQ(usage.units, 3u);
  EXPECT_EQ(usage.holders, units);
}

TEST(PodUsageOf, CollectsTheHoldersOfAllReplicas) {
  const PodUsage usage =
      PodUsageOf(WithReplicas(3), {{"x::0", {kA}}, {"x::2", {kA, kB}}, {"y::1::1", {kB}}});
  EXPECT_EQ(usage.units, 3u);
  EXPECT_THAT(usage.holders,
              ElementsAre(Pair("x", ElementsAre(kA, kB)), Pair("y::1", ElementsAre(kB))));
}

TEST(PodUsageOf, CountsIdsThatAreNotUnits) {
  const PodUsage usage = PodUsageOf(
      WithReplicas(2),
      {{"x", {kA}}, {"x::0", {kB}}, {"x::2", {kA}}, {"x::01", {kA}}, {"x::", {kA}}, {"", {kA}}});
  EXPECT_EQ(usage.units, 6u);
  EXPECT_THAT(usage.holders,
              ElementsAre(Pair("", ElementsAre(kA)),  //
                          Pair("x", ElementsAre(kA, kB)), Pair("x::", ElementsAre(kA)),
                          Pair("x::01", ElementsAre(kA)), Pair("x::2", ElementsAre(kA))));
}

// A pod keeps the units it got with the previous number of replicas.
TEST(PodUsageOf, AssignsUnitsOfAnEarlierReplicaCount) {
  Snapshot known;
  for (const char* id : {"x", "y::1"}) {
    known.devices.push_back({std::make_shared<const Device>(Device{id, {}, {}, {}}), {}, {}});
  }
  const auto holders = [&](int replicas, const DeviceHolders& units) {
    return PodUsageOf(WithReplicas(replicas), units, &known).holders;
  };
  const auto x = ElementsAre(Pair("x", ElementsAre(kA)));
  EXPECT_THAT(holders(2, {{"x", {kA}}}), x);
  EXPECT_THAT(holders(1, {{"x::0", {kA}}}), x);
  EXPECT_THAT(holders(2, {{"x::3", {kA}}}), x);
  EXPECT_THAT(holders(1, {{"x::0", {kA}}, {"x", {kB}}}),
              ElementsAre(Pair("x", ElementsAre(kA, kB))));
  // A name that only looks like a replica.
  EXPECT_THAT(holders(1, {{"y::1", {kA}}}), ElementsAre(Pair("y::1", ElementsAre(kA))));
  EXPECT_THAT(holders(1, {{"z::1", {kA}}}), ElementsAre(Pair("z::1", ElementsAre(kA))));
}

}  // namespace
}  // namespace patchbay
