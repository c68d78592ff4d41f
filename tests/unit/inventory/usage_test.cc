#include "inventory/usage.h"

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

TEST(UsageOf, NobodyHoldsAnything) {
  const Usage usage = UsageOf(WithReplicas(1), {});
  EXPECT_EQ(usage.units, 0u);
  EXPECT_THAT(usage.holders, IsEmpty());
}

TEST(UsageOf, WithoutReplicasUnitsAreDevices) {
  const DeviceHolders units = {{"x", {kA}}, {"y::1", {kB}}, {"::", {kB}}};
  const Usage usage = UsageOf(WithReplicas(1), units);
  EXPECT_EQ(usage.units, 3u);
  EXPECT_EQ(usage.holders, units);
}

TEST(UsageOf, ADeviceIsHeldByAllWhoHoldAReplica) {
  const Usage usage =
      UsageOf(WithReplicas(3), {{"x::0", {kA}}, {"x::2", {kA, kB}}, {"y::1::1", {kB}}});
  EXPECT_EQ(usage.units, 3u);
  EXPECT_THAT(usage.holders,
              ElementsAre(Pair("x", ElementsAre(kA, kB)), Pair("y::1", ElementsAre(kB))));
}

TEST(UsageOf, WhatIsNoUnitIsHeldAllTheSame) {
  const Usage usage = UsageOf(
      WithReplicas(2),
      {{"x", {kA}}, {"x::0", {kB}}, {"x::2", {kA}}, {"x::01", {kA}}, {"x::", {kA}}, {"", {kA}}});
  EXPECT_EQ(usage.units, 6u);
  EXPECT_THAT(usage.holders,
              ElementsAre(Pair("", ElementsAre(kA)),  //
                          Pair("x", ElementsAre(kA, kB)), Pair("x::", ElementsAre(kA)),
                          Pair("x::01", ElementsAre(kA)), Pair("x::2", ElementsAre(kA))));
}

}  // namespace
}  // namespace patchbay
