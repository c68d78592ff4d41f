#include "dra/wanted_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/escape.h"
#include "dra/device_name.h"
#include "unit/dra/pools.h"

namespace patchbay {
namespace {

using test::Listed;
using test::SnapshotOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

/// Everything that a pool is computed from besides the snapshot.
struct Surroundings {
  DeviceIds missing = {};
  DeviceIds allocated = {};
  std::vector<AttributeSpec> attributes = {};
  std::vector<CapacitySpec> capacity = {};
  OnUnhealthy on_unhealthy = OnUnhealthy::kNoSchedule;
  ServerFeatures features = {};
};

WantedPool PoolOf(const std::shared_ptr<const Snapshot>& snapshot,
                  const Surroundings& around = {}) {
  ResourceSpec spec = *snapshot->spec;
  spec.attributes = around.attributes;
  spec.capacity = around.capacity;
  spec.on_unhealthy = around.on_unhealthy;
  Snapshot changed = *snapshot;
  changed.spec = std::make_shared<const ResourceSpec>(std::move(spec));
  for (ListedDevice& listed : changed.devices) {
    listed.is_missing = around.missing.contains(listed.device->id);
  }
  const NamedDevices devices(std::make_shared<const Snapshot>(std::move(changed)));
  return ComputePool({.devices = devices,
                      .node_name = "node-1",
                      .allocated = around.allocated,
                      .features = around.features});
}

auto Named(const std::string& name) { return Field("name", &SliceDevice::name, name); }

auto Tainted(const std::string& name, std::string_view key, TaintEffect effect) {
  return AllOf(Named(name),
               Field(&SliceDevice::taints, ElementsAre(DeviceTaint{std::string(key), "", effect})));
}

const std::shared_ptr<const Snapshot> kOneIsIll =
    SnapshotOf({Listed("a"), Listed("b", Health::kUnhealthy, "probe failed"), Listed("c")});

TEST(ComputePool, ListsDevicesInTheOrderOfTheSnapshot) {
  const WantedPool pool = PoolOf(SnapshotOf({Listed("t9"), Listed("t10"), Listed("T11")}));
  EXPECT_EQ(pool.name, "node-1/example.com/serial");
  EXPECT_THAT(pool.devices, ElementsAre(Named("t9"), Named("t10"),
                                        Field(&SliceDevice::name, testing::StartsWith("t11-"))));
  EXPECT_THAT(pool.problems, IsEmpty());
  EXPECT_EQ(pool.not_served, "");
  for (const SliceDevice& device : pool.devices) {
    EXPECT_THAT(device.capacity, IsEmpty());
    EXPECT_FALSE(device.allow_multiple_allocations);
    EXPECT_THAT(device.taints, IsEmpty());
  }
  EXPECT_EQ(pool.devices[2].attributes.at("id"), AttributeValue("T11"));
}

TEST(ComputePool, PublishesReplicasAsSlots) {
  const WantedPool pool = PoolOf(SnapshotOf({Listed("fuse")}, 50));
  ASSERT_THAT(pool.devices, SizeIs(1));
  EXPECT_THAT(pool.devices[0].capacity, ElementsAre(Pair("slots", SlotCapacity(50))));
  EXPECT_TRUE(pool.devices[0].allow_multiple_allocations);
}

TEST(ComputePool, KeepsOneOfThirtyTwoAttributesForTheSlots) {
  Surroundings around;
  around.attributes.reserve(40);
  for (int i = 0; i < 40; ++i) {
    around.attributes.push_back({"a" + std::to_string(i), AttributeType::kInt,
                                 Template::Compile(std::to_string(i)).value()});
  }
  EXPECT_THAT(PoolOf(SnapshotOf({Listed("a")}, 2), around).devices[0].attributes, SizeIs(31));
  const WantedPool exclusive = PoolOf(SnapshotOf({Listed("a")}), around);
  EXPECT_THAT(exclusive.devices[0].attributes, SizeIs(32));
  ASSERT_THAT(exclusive.problems, SizeIs(10));
  EXPECT_EQ(exclusive.problems[0].device_id, "a");
  EXPECT_EQ(exclusive.problems[0].attribute, "a30");
}

/// Returns an entry of [resource.capacity].
CapacitySpec Capacity(const std::string& name, const std::string& value) {
  return {.name = name, .value = Template::Compile(value).value()};
}

TEST(ComputePool, PublishesThePlainCapacityOfAnExclusiveDevice) {
  const Surroundings around{.capacity = {Capacity("memory", "16Gi")},
                            .features = {.taints = false, .shared_devices = false}};
  const WantedPool pool = PoolOf(SnapshotOf({Listed("a")}), around);
  EXPECT_EQ(pool.not_served, "");
  EXPECT_THAT(pool.devices[0].capacity,
              ElementsAre(Pair("memory", DeviceCapacity{*ParseQuantity("16Gi"), std::nullopt})));
}

TEST(ComputePool, SharesTheCapacityOfADeviceAmongItsReplicas) {
  const WantedPool pool =
      PoolOf(SnapshotOf({Listed("a")}, 4), {.capacity = {Capacity("memory", "16Gi")}});
  const DeviceCapacity memory{*ParseQuantity("16Gi"),
                              SharePolicy{.by_default = *ParseQuantity("4Gi")}};
  EXPECT_THAT(pool.devices[0].capacity,
              ElementsAre(Pair("memory", memory), Pair("slots", SlotCapacity(4))));
}

TEST(ComputePool, LeavesOutACapacityThatIsNoQuantity) {
  for (const std::string& value :
       {std::string("{usb_serial}"), std::string("{id}"), std::string("-1"), std::string("1e99"),
        std::string("9e18Ei"), std::string(4096, '9'), std::string("1\x01"), std::string("16 GiB"),
        std::string("\xff")}) {
    const WantedPool pool =
        PoolOf(SnapshotOf({Listed("a")}),
               {.capacity = {Capacity("memory", value), Capacity("lanes", "4")}});
    ASSERT_THAT(pool.devices, SizeIs(1));
    EXPECT_THAT(pool.devices[0].capacity, ElementsAre(Pair("lanes", testing::_))) << value;
    ASSERT_THAT(pool.problems, SizeIs(1));
    EXPECT_EQ(pool.problems[0].attribute, "memory");
    EXPECT_TRUE(IsPrintable(pool.problems[0].reason));
    EXPECT_LT(pool.problems[0].reason.size(), 300U) << value;
  }
}

TEST(ComputePool, CapacitiesCountAmongTheThirtyTwoAttributes) {
  Surroundings around{.capacity = {Capacity("memory", "1"), Capacity("lanes", "1")}};
  for (int i = 0; i < 40; ++i) {
    around.attributes.push_back(
        {"a" + std::to_string(i), AttributeType::kString, Template::Compile("x").value()});
  }
  const SliceDevice device = PoolOf(SnapshotOf({Listed("a")}, 2), around).devices[0];
  EXPECT_EQ(device.attributes.size() + device.capacity.size(), 32U);
  EXPECT_THAT(device.capacity, SizeIs(3));
}

TEST(ComputePool, TaintsUnhealthyDevices) {
  EXPECT_THAT(
      PoolOf(kOneIsIll).devices,
      ElementsAre(Named("a"), Tainted("b", kUnhealthyTaint, TaintEffect::kNoSchedule), Named("c")));
  const WantedPool evicting = PoolOf(kOneIsIll, {.on_unhealthy = OnUnhealthy::kEvict});
  EXPECT_THAT(evicting.devices[1], Tainted("b", kUnhealthyTaint, TaintEffect::kNoExecute));
  EXPECT_THAT(evicting.devices[0].taints, IsEmpty());
}

TEST(ComputePool, KeepsAMissingDeviceWhileItIsAllocated) {
  EXPECT_THAT(PoolOf(kOneIsIll, {.missing = {"b"}}).devices, ElementsAre(Named("a"), Named("c")));
  EXPECT_THAT(
      PoolOf(kOneIsIll, {.missing = {"b"}, .allocated = {"b"}}).devices,
      ElementsAre(Named("a"), Tainted("b", kGoneTaint, TaintEffect::kNoExecute), Named("c")));
}

TEST(ComputePool, KeepsAMissingSharedDeviceWithItsSlots) {
  const auto shared = SnapshotOf({Listed("a", Health::kUnhealthy, "removed")}, 2);
  const Surroundings around{.missing = {"a"}, .allocated = {"a"}};
  const WantedPool pool = PoolOf(shared, around);
  EXPECT_THAT(pool.devices, ElementsAre(Tainted("a", kGoneTaint, TaintEffect::kNoExecute)));
  EXPECT_TRUE(pool.devices[0].allow_multiple_allocations);
  EXPECT_EQ(pool.devices[0].capacity.at("slots"), SlotCapacity(2));
}

/// It may still exist, so its pods stay. Nothing but its ID is known.
TEST(ComputePool, EvictsNoPodsOfADeviceThatCouldNotBeLookedUp) {
  ListedDevice listed = Listed("a", Health::kUnhealthy, "not all places could be read");
  listed.never_found = true;
  const WantedPool pool =
      PoolOf(SnapshotOf({listed}),
             {.allocated = {"a"},
              .attributes = {{.name = "port", .value = Template::Compile("{usb_port}").value()}},
              .capacity = {{.name = "ports", .value = Template::Compile("{usb_port}").value()}},
              .on_unhealthy = OnUnhealthy::kEvict});
  EXPECT_THAT(pool.devices, ElementsAre(Tainted("a", kUnhealthyTaint, TaintEffect::kNoSchedule)));
  EXPECT_EQ(pool.devices[0].attributes.at("id"), AttributeValue("a"));
  EXPECT_THAT(pool.problems, IsEmpty());
}

TEST(ComputePool, LeavesOutUnhealthyDevicesWhereTaintsAreDropped) {
  const ServerFeatures without{.taints = false, .shared_devices = true};
  EXPECT_THAT(PoolOf(kOneIsIll, {.features = without}).devices,
              ElementsAre(Named("a"), Named("c")));
  // While it is allocated, no other claim can get it.
  const WantedPool pool = PoolOf(kOneIsIll, {.allocated = {"b"}, .features = without});
  EXPECT_THAT(pool.devices, ElementsAre(Named("a"), Named("b"), Named("c")));
  EXPECT_THAT(pool.devices[1].taints, IsEmpty());
  const WantedPool missing =
      PoolOf(kOneIsIll, {.missing = {"b"}, .allocated = {"b"}, .features = without});
  EXPECT_THAT(missing.devices, ElementsAre(Named("a"), Named("b"), Named("c")));
}

TEST(ComputePool, LeavesOutUnhealthySharedDevicesWhereTaintsAreDropped) {
  const ServerFeatures without{.taints = false, .shared_devices = true};
  const auto shared = SnapshotOf({Listed("a", Health::kUnhealthy, "probe failed")}, 2);
  // It has free slots for other claims.
  EXPECT_THAT(PoolOf(shared, {.allocated = {"a"}, .features = without}).devices, IsEmpty());
  EXPECT_THAT(PoolOf(shared, {.allocated = {"a"}}).devices, SizeIs(1));
}

TEST(ComputePool, DoesNotServeSharedDevicesWhereTheyWouldBeExclusive) {
  const ServerFeatures without{.taints = true, .shared_devices = false};
  const WantedPool pool = PoolOf(SnapshotOf({Listed("a")}, 2), {.features = without});
  EXPECT_THAT(pool.devices, IsEmpty());
  EXPECT_EQ(pool.name, "node-1/example.com/serial");
  EXPECT_THAT(pool.not_served,
              AllOf(HasSubstr("DRAConsumableCapacity"), HasSubstr("set replicas = 1")));
  EXPECT_EQ(PoolOf(SnapshotOf({Listed("a")}), {.features = without}).not_served, "");
}

TEST(ComputePool, DoesNotServeAResourceThatNoClassCanSelect) {
  const std::string domain = "example.com/";
  const auto named = [&](std::size_t length) {
    return PoolOf(SnapshotOf({Listed("a")}, 1, domain + std::string(length - domain.size(), 'r')));
  };
  EXPECT_THAT(named(64).devices, SizeIs(1));
  EXPECT_THAT(named(65).devices, IsEmpty());
  EXPECT_THAT(named(65).not_served, HasSubstr("choose a shorter name"));
}

TEST(NamedDevices, AreFoundByTheirNames) {
  const auto snapshot = SnapshotOf({Listed("A"), Listed("b")});
  const NamedDevices devices(snapshot);
  EXPECT_EQ(devices.Find(SliceDeviceName("A")), &snapshot->devices[0]);
  EXPECT_EQ(devices.Find("b"), &snapshot->devices[1]);
  EXPECT_EQ(devices.Find("c"), nullptr);
}

TEST(FeaturesOf, FindsDroppedFields) {
  const ResourceSlice sent = FeatureSample();
  EXPECT_EQ(FeaturesOf(sent, sent), (ServerFeatures{true, true}));
  ResourceSlice stored = sent;
  stored.devices[0].taints.clear();
  EXPECT_EQ(FeaturesOf(sent, stored), (ServerFeatures{false, true}));
  stored.devices[0].allow_multiple_allocations = false;
  EXPECT_EQ(FeaturesOf(sent, stored), (ServerFeatures{false, false}));
  stored = sent;
  stored.devices[0].capacity["slots"].policy.reset();
  EXPECT_EQ(FeaturesOf(sent, stored), (ServerFeatures{true, false}));
}

TEST(FeaturesOf, CountsWhatNoDeviceNeedsAsPresent) {
  ResourceSlice sent{.pool = "p", .devices = {{.name = "a"}, {.name = "b"}}};
  EXPECT_EQ(FeaturesOf(sent, sent), ServerFeatures());
  sent.devices[1].taints = {{.key = std::string(kGoneTaint)}};
  ResourceSlice stored{.pool = "p", .devices = {{.name = "a"}}};  // changed by someone else
  EXPECT_EQ(FeaturesOf(sent, stored), ServerFeatures());
}

TEST(FeaturesOf, IgnoresTheTimeOfATaint) {
  const ResourceSlice sent = FeatureSample();
  ResourceSlice stored = sent;
  stored.devices[0].taints[0].time_added = "2026-11-22T10:00:00Z";
  EXPECT_EQ(stored, sent);
}

}  // namespace
}  // namespace patchbay
