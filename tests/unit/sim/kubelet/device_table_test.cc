#include "sim/kubelet/device_table.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(DeviceTable, CountsOnlyExactHealthyAsHealthy) {
  DeviceTable table;
  table.Update({{"a", "Healthy", {}},
                {"b", "healthy", {}},
                {"c", "", {}},
                {"d", "Unknown", {}},
                {"e", "Unhealthy", {}}});
  EXPECT_EQ(table.capacity(), 5u);
  EXPECT_EQ(table.allocatable(), 1u);
}

TEST(DeviceTable, UpdateReplacesAllDevices) {
  DeviceTable table;
  table.Update({{"a", "Healthy", {}}, {"b", "Unhealthy", {}}});
  table.Update({{"c", "Healthy", {1}}});
  EXPECT_EQ(table.capacity(), 1u);
  EXPECT_EQ(table.devices().at("c").numa_nodes, std::vector<std::int64_t>{1});
  table.Update({});
  EXPECT_EQ(table.capacity(), 0u);
}

TEST(DeviceTable, CountsAnIdWithBothHealthsTwice) {
  DeviceTable table;
  table.Update(
      {{"a", "Healthy", {0}}, {"a", "Unhealthy", {1}}, {"b", "Healthy", {}}, {"b", "Healthy", {}}});
  EXPECT_EQ(table.capacity(), 3u);
  EXPECT_EQ(table.allocatable(), 2u);
  EXPECT_EQ(table.devices().size(), 2u);
  EXPECT_EQ(table.devices().at("a").health, "Unhealthy");
}

TEST(DeviceTable, KeepsTheCapacityWhenThePluginStops) {
  DeviceTable table;
  table.Update({{"a", "Healthy", {}}, {"b", "Unhealthy", {}}});
  table.MarkUnhealthy();
  EXPECT_EQ(table.capacity(), 2u);
  EXPECT_EQ(table.allocatable(), 0u);
}

}  // namespace
}  // namespace patchbay
