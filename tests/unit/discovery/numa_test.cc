#include "discovery/numa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

constexpr char kFunction[] = "/sys/devices/pci0000:00/0000:00:02.0";

class NumaTest : public testing::Test {
 protected:
  /// Returns the NUMA node of a device whose attribute contains `text`.
  std::optional<int> With(const std::string& text) {
    tree_.File(std::string(kFunction) + "/numa_node", text);
    return NumaNode(host_, kFunction);
  }

  test::TempTree tree_;
  test::FakeSysfs fake_{tree_};
  HostRoot host_{tree_.path()};
};

TEST_F(NumaTest, AcceptsOnlyValidNodeNumbers) {
  fake_.Device(kFunction, {.subsystem = "pci"});
  EXPECT_EQ(With("0\n"), 0);
  EXPECT_EQ(With("1\n"), 1);
  EXPECT_EQ(With("63\n"), 63);
  EXPECT_EQ(With("7"), 7);
  for (const char* text : {"-1\n", "64\n", "99999999999999999999\n", "", "\n", "x", "1x\n", " 1\n",
                           "1\n\n", "+1\n", "0x1\n"}) {
    EXPECT_EQ(With(text), std::nullopt) << text;
  }
}

TEST_F(NumaTest, ReadsTheNearestAncestorWithANumaNode) {
  const std::string root_port = "/sys/devices/pci0000:00/0000:00:01.0";
  const std::string disk = root_port + "/0000:01:00.0/nvme/nvme0/nvme0n1";
  fake_.Device(root_port, {.subsystem = "pci", .attributes = {{"numa_node", "1"}}});
  fake_.Device(root_port + "/0000:01:00.0", {.subsystem = "pci"});
  fake_.Device(disk, {.subsystem = "block", .number = "259:0"});
  EXPECT_EQ(NumaNode(host_, disk), 1);
  tree_.File(root_port + "/0000:01:00.0/numa_node", "2\n");
  EXPECT_EQ(NumaNode(host_, disk), 2);
  tree_.File(root_port + "/0000:01:00.0/numa_node", "-1\n");
  EXPECT_EQ(NumaNode(host_, disk), std::nullopt) << "the nearest value is final";
}

TEST_F(NumaTest, DoesNotReadAboveTheDevices) {
  tree_.File("/sys/devices/numa_node", "1\n");
  tree_.File("/sys/devices/virtual/mem/numa_node", "1\n");
  fake_.Device("/sys/devices/platform/serial8250", {});
  fake_.Device("/sys/devices/virtual/mem/null", {.subsystem = "mem", .number = "1:3"});
  EXPECT_EQ(NumaNode(host_, "/sys/devices/platform/serial8250"), std::nullopt);
  EXPECT_EQ(NumaNode(host_, "/sys/devices/virtual/mem/null"), std::nullopt);
  EXPECT_EQ(NumaNode(host_, "/sys/devices"), std::nullopt);
  EXPECT_EQ(NumaNode(host_, ""), std::nullopt);
  const Sysfs sysfs(host_);
  EXPECT_EQ(NumaNodes(sysfs).Of(FileType::kCharacter, 1, 3), std::nullopt);
}

TEST_F(NumaTest, FindsTheNumaNodeOfDeviceNodes) {
  const std::string function = kFunction;
  fake_.Device(function, {.subsystem = "pci", .attributes = {{"numa_node", "1"}}});
  fake_.Device(function + "/drm/card0", {.subsystem = "drm", .number = "226:0"});
  fake_.Device(function + "/drm/renderD128", {.subsystem = "drm", .number = "226:128"});
  fake_.Device(function + "/block/sda", {.subsystem = "block", .number = "8:0"});
  const Sysfs sysfs(host_);
  NumaNodes nodes(sysfs);
  EXPECT_EQ(nodes.Of(FileType::kCharacter, 226, 0), 1);
  EXPECT_EQ(nodes.Of(FileType::kBlock, 8, 0), 1);
  EXPECT_EQ(nodes.Of(FileType::kCharacter, 8, 0), std::nullopt) << "no such device";
  EXPECT_EQ(nodes.Of(FileType::kRegular, 226, 0), std::nullopt);

  // Each directory is read once.
  tree_.File(function + "/numa_node", "2\n");
  EXPECT_EQ(nodes.Of(FileType::kCharacter, 226, 128), 1);
  EXPECT_EQ(NumaNodes(sysfs).Of(FileType::kCharacter, 226, 128), 2);
}

}  // namespace
}  // namespace patchbay
