#include "sim/kubelet/registry.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kName = "a/b";
const Registry::Time kNow{};

Registry Make(KubeletProfile profile, bool dedupe = false) {
  return Registry(profile, dedupe, minutes(5));
}

void Connect(Registry& registry, const std::string& path, ClientId client) {
  ASSERT_TRUE(registry.Begin(kName, path, client));
  ASSERT_TRUE(registry.Check(kName, path));
  registry.Connected(kName, path, client, {});
}

std::size_t Allocatable(const Registry& registry) {
  const DeviceTable* const table = registry.Table(kName);
  return table == nullptr ? 0 : table->allocatable();
}

class EveryProfile : public testing::TestWithParam<KubeletProfile> {};
INSTANTIATE_TEST_SUITE_P(All, EveryProfile,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti));

TEST_P(EveryProfile, ResourceIsKnownAfterItsFirstList) {
  Registry registry = Make(GetParam());
  Connect(registry, "/1", 1);
  EXPECT_FALSE(registry.Known(kName));
  registry.Listed(kName, {});
  EXPECT_TRUE(registry.Known(kName));
}

TEST_P(EveryProfile, ForgetsDevicesAfterTheGracePeriod) {
  Registry registry = Make(GetParam());
  Connect(registry, "/1", 1);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  EXPECT_EQ(registry.NextExpiry(), std::nullopt);
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), 1u);
  registry.Expire(kNow + minutes(5) - seconds(1));
  ASSERT_NE(registry.Table(kName), nullptr);
  EXPECT_EQ(registry.Table(kName)->capacity(), 1u);
  EXPECT_EQ(Allocatable(registry), 0u);
  EXPECT_EQ(registry.NextExpiry(), kNow + minutes(5));
  registry.Expire(kNow + minutes(5));
  EXPECT_EQ(registry.Table(kName), nullptr);
  EXPECT_EQ(registry.Primary(kName), nullptr);
  EXPECT_TRUE(registry.Known(kName));
  EXPECT_EQ(registry.NextExpiry(), std::nullopt);
}

TEST_P(EveryProfile, ForgetsDevicesListedAfterTheGracePeriod) {
  Registry registry = Make(GetParam());
  Connect(registry, "/1", 1);
  registry.StreamEnded(kName, "/1", 1, kNow);
  registry.Expire(kNow + minutes(5));
  registry.Listed(kName, {{"x", "Healthy", {}}});
  ASSERT_NE(registry.Table(kName), nullptr);
  registry.Expire(kNow + minutes(5));
  EXPECT_EQ(registry.Table(kName), nullptr);
}

TEST_P(EveryProfile, ForgetsEachResourceAtItsOwnExpiry) {
  Registry registry = Make(GetParam());
  registry.Restore("a/first", kNow);
  registry.Restore("a/second", kNow + minutes(1));
  registry.Restore(kName, kNow);
  Connect(registry, "/1", 1);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  EXPECT_EQ(registry.NextExpiry(), kNow + minutes(5));
  registry.Expire(kNow + minutes(5));
  EXPECT_EQ(registry.Table("a/first"), nullptr);
  EXPECT_NE(registry.Table("a/second"), nullptr);
  EXPECT_NE(registry.Table(kName), nullptr) << "it is connected again";
  EXPECT_EQ(registry.NextExpiry(), kNow + minutes(6));
  registry.Expire(kNow + minutes(6));
  EXPECT_EQ(registry.Table("a/second"), nullptr);
  EXPECT_EQ(registry.NextExpiry(), std::nullopt);
}

TEST_P(EveryProfile, RestoresCheckpointedResourcesAsStopped) {
  Registry registry = Make(GetParam());
  registry.Restore(kName, kNow);
  EXPECT_TRUE(registry.Known(kName));
  EXPECT_EQ(registry.Table(kName)->capacity(), 0u);
  EXPECT_TRUE(registry.Primary(kName)->stopped);
  Connect(registry, "/1", 1);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  registry.Expire(kNow + minutes(6));
  EXPECT_EQ(Allocatable(registry), 1u);
}

TEST_P(EveryProfile, StreamEndedWithoutAListHasZeroCapacity) {
  Registry registry = Make(GetParam());
  Connect(registry, "/1", 1);
  registry.StreamEnded(kName, "/1", 1, kNow);
  EXPECT_TRUE(registry.Known(kName));
  EXPECT_EQ(registry.Table(kName)->capacity(), 0u);
}

TEST(RegistryAsync, EndOfTheOldStreamKeepsTheNewEndpoint) {
  Registry registry = Make(KubeletProfile::kAsync);
  Connect(registry, "/1", 1);
  Connect(registry, "/2", 2);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), 1u);
  EXPECT_EQ(Allocatable(registry), 1u);
  EXPECT_FALSE(registry.Primary(kName)->stopped);
}

TEST(RegistrySync, EndOfTheOldStreamEndsTheNewPlugin) {
  Registry registry = Make(KubeletProfile::kSync);
  Connect(registry, "/1", 1);
  Connect(registry, "/2", 2);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), 2u);
  EXPECT_EQ(Allocatable(registry), 0u);
  EXPECT_EQ(registry.StreamEnded(kName, "/2", 2, kNow), std::nullopt);
}

TEST(RegistrySync, DoesNotNoticeThePluginEndAfterAFailedDuplicate) {
  Registry registry = Make(KubeletProfile::kSync);
  Connect(registry, "/1", 1);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  ASSERT_TRUE(registry.Begin(kName, "/2", 2));
  registry.Failed(kName, "/2");
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), std::nullopt);
  EXPECT_EQ(Allocatable(registry), 1u);
  EXPECT_FALSE(registry.Primary(kName)->stopped);
}

TEST(RegistryMulti, KeepsTheResourceUntilItsLastSocketEnds) {
  Registry registry = Make(KubeletProfile::kMulti);
  Connect(registry, "/1", 1);
  Connect(registry, "/2", 2);
  registry.Listed(kName, {{"x", "Healthy", {}}});
  EXPECT_EQ(registry.Primary(kName)->path, "/2");
  EXPECT_EQ(registry.StreamEnded(kName, "/2", 2, kNow), 2u);
  EXPECT_EQ(registry.Primary(kName)->path, "/1");
  EXPECT_EQ(Allocatable(registry), 1u);
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), 1u);
  EXPECT_EQ(Allocatable(registry), 0u);
}

TEST(RegistryMulti, RejectsAConnectedSocketAndThenIgnoresItsEnd) {
  Registry registry = Make(KubeletProfile::kMulti);
  Connect(registry, "/1", 1);
  ASSERT_TRUE(registry.Begin(kName, "/1", 2));
  const Status refused = registry.Check(kName, "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "device plugin already connected: /1");
  registry.Failed(kName, "/1");
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), std::nullopt);
  EXPECT_FALSE(registry.Check(kName, "/1"));
}

TEST(RegistryMulti, CanIgnoreAConnectedSocketSilently) {
  Registry registry = Make(KubeletProfile::kMulti, true);
  Connect(registry, "/1", 1);
  EXPECT_FALSE(registry.Begin(kName, "/1", 2));
  EXPECT_EQ(registry.StreamEnded(kName, "/1", 1, kNow), 1u);
  EXPECT_TRUE(registry.Begin(kName, "/1", 3));
}

}  // namespace
}  // namespace patchbay
