#include "dra/health_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "unit/dra/pools.h"

namespace patchbay {
namespace {

using test::Listed;
using test::SnapshotOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(HealthMessage, KeepsShortText) {
  EXPECT_EQ(HealthMessage(""), "");
  EXPECT_EQ(HealthMessage("the probe failed: exit code 1"), "the probe failed: exit code 1");
  EXPECT_EQ(HealthMessage(std::string(kMaxHealthMessage, 'x')), std::string(1024, 'x'));
}

TEST(HealthMessage, IsPrintableUtf8) {
  EXPECT_EQ(HealthMessage("a\xff\n"), "a\\xff\\x0a");
  EXPECT_EQ(HealthMessage("größer"), "größer");
}

// Each text is as long as allowed or one byte longer, before or after it is escaped.
TEST(HealthMessage, ShortensWithoutSplittingACharacter) {
  for (const std::string unit : {"x", "ö", "€", "🙂", "\xff", "\n"}) {
    for (int bytes = 1000; bytes < 1030; ++bytes) {
      std::string text(static_cast<std::size_t>(bytes) % unit.size(), 'x');
      while (text.size() < static_cast<std::size_t>(bytes)) text += unit;
      const std::string message = HealthMessage(text);
      EXPECT_LE(message.size(), kMaxHealthMessage) << unit << bytes;
      EXPECT_GT(message.size(), kMaxHealthMessage - 28) << unit << bytes;
      EXPECT_TRUE(IsPrintable(message)) << unit << bytes;
      EXPECT_EQ(message.ends_with("…"), message != Printable(text)) << unit << bytes;
    }
  }
}

TEST(HealthOfPool, ListsAllDevicesWithTheirReasons) {
  const NamedDevices devices(SnapshotOf({Listed("a"), Listed("b", Health::kUnhealthy, "no link")}));
  const PoolHealth health = HealthOfPool(devices, "node-1");
  EXPECT_EQ(health.pool, "node-1/example.com/serial");
  EXPECT_THAT(health.devices, ElementsAre(DeviceHealth{"a", Health::kHealthy, ""},
                                          DeviceHealth{"b", Health::kUnhealthy, "no link"}));
}

TEST(HealthOfPool, HasPrintableMessagesOfAtMost1024Bytes) {
  const NamedDevices devices(SnapshotOf({Listed("a", Health::kUnhealthy, std::string(5000, '\xff')),
                                         Listed("b", Health::kUnhealthy, "a\x1b[31m")}));
  const auto health = HealthOfPool(devices, "node-1").devices;
  ASSERT_THAT(health, SizeIs(2));
  for (const DeviceHealth& device : health) {
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

HealthList Devices(const std::vector<std::pair<std::string, Health>>& devices,
                   const std::string& message = "") {
  PoolHealth pool{"p", {}};
  for (const auto& [name, health] : devices) pool.devices.push_back({name, health, message});
  return {std::move(pool)};
}
/// Returns the names of the devices that fit.
std::vector<std::string> Fitted(HealthList list, std::size_t max_bytes) {
  const auto count = [&list] {
    std::size_t devices = 0;
    for (const PoolHealth& pool : list) devices += pool.devices.size();
    return devices;
  };
  const std::size_t all = count();
  const std::size_t left_out = FitHealth(list, max_bytes);
  EXPECT_EQ(left_out, all - count());
  std::vector<std::string> names;
  for (const PoolHealth& pool : list) {
    for (const DeviceHealth& device : pool.devices) names.push_back(device.device);
  }
  return names;
}

TEST(FitHealth, KeepsAListThatFits) {
  const HealthList list = Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}, "why");
  HealthList fitted = list;
  EXPECT_EQ(FitHealth(fitted), 0U);
  EXPECT_EQ(fitted, list);
}

TEST(FitHealth, LimitsAllPoolsTogether) {
  const PoolHealth one = Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}).front();
  EXPECT_THAT(Fitted({one, one}, 150), ElementsAre("b", "a", "b"));
  EXPECT_THAT(Fitted({one, one}, 110), ElementsAre("b", "b"));
}

TEST(FitHealth, RemovesMessagesFirst) {
  HealthList list =
      Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}, std::string(1000, 'x'));
  EXPECT_EQ(FitHealth(list, 200), 0U);
  EXPECT_EQ(list, Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}));
}

TEST(FitHealth, ThenLeavesOutHealthyDevices) {
  EXPECT_THAT(Fitted(Devices({{"a", Health::kHealthy},
                              {"b", Health::kUnhealthy},
                              {"c", Health::kHealthy},
                              {"d", Health::kUnhealthy}}),
                     150),
              ElementsAre("b", "c", "d"));
  EXPECT_THAT(Fitted(Devices({{"a", Health::kHealthy}}), 1), IsEmpty());
}

}  // namespace
}  // namespace patchbay
