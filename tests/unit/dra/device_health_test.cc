#include "dra/device_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/escape.h"
#include "unit/dra/pools.h"

namespace patchbay {
namespace {

using test::Listed;
using test::SnapshotOf;
using testing::ElementsAre;
using testing::SizeIs;

TEST(HealthOfPool, ListsAllDevicesWithTheirReasons) {
  const NamedDevices devices(SnapshotOf({Listed("a"), Listed("b", Health::kUnhealthy, "no link")}));
  const PoolHealth health = HealthOfPool(devices, "node-1");
  EXPECT_EQ(health.pool, "node-1/example.com/serial");
  EXPECT_THAT(health.devices, ElementsAre(PublishedHealth{"a", Health::kHealthy, ""},
                                          PublishedHealth{"b", Health::kUnhealthy, "no link"}));
}

TEST(HealthOfPool, HasPrintableMessagesOfAtMost1024Bytes) {
  const NamedDevices devices(SnapshotOf({Listed("a", Health::kUnhealthy, std::string(5000, '\xff')),
                                         Listed("b", Health::kUnhealthy, "a\x1b[31m")}));
  const auto health = HealthOfPool(devices, "node-1").devices;
  ASSERT_THAT(health, SizeIs(2));
  for (const PublishedHealth& device : health) {
    EXPECT_TRUE(IsPrintable(device.message));
    EXPECT_LE(device.message.size(), 1024U);
  }
  EXPECT_EQ(health[1].message, R"(a\x1b[31m)");
}

TEST(HealthOfPool, HasADeviceWhoseIdIsTheNameOfAnother) {
  const auto snapshot = SnapshotOf({Listed("A"), Listed("b")});
  const std::string name = HealthOfPool(NamedDevices(snapshot), "node-1").devices.at(0).device;
  const NamedDevices devices(SnapshotOf({Listed("A"), Listed(name)}));
  EXPECT_THAT(HealthOfPool(devices, "node-1").devices, SizeIs(2));
}

}  // namespace
}  // namespace patchbay
