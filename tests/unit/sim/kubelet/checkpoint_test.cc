#include "sim/kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

Checkpoint Sample() {
  Checkpoint checkpoint;
  checkpoint.registered = {{"a/b", {"x", "y"}}, {"a/empty", {}}};
  ContainerDevices& devices = checkpoint.pods[{"pod", "c", "a/b"}];
  devices.ids = {"x"};
  (*devices.response.mutable_envs())["KEY"] = "v\"\n";
  return checkpoint;
}

TEST(Checkpoint, RoundTrips) {
  const auto decoded = DecodeCheckpoint(EncodeCheckpoint(Sample()));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->registered, Sample().registered);
  const ContainerDevices& devices = decoded->pods.at({"pod", "c", "a/b"});
  EXPECT_EQ(devices.ids, std::vector<std::string>{"x"});
  EXPECT_EQ(devices.response.envs().at("KEY"), "v\"\n");
}

TEST(Checkpoint, LeavesNoTemporaryFiles) {
  const test::TempTree tree;
  ASSERT_TRUE(WriteCheckpoint(tree.path(), Sample()));
  ASSERT_TRUE(WriteCheckpoint(tree.path(), Sample()));
  EXPECT_EQ(ReadCheckpoint(tree.path()).registered, Sample().registered);
  const std::filesystem::directory_iterator entries(tree.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(Checkpoint, HasTheJsonFormatOfTheKubelet) {
  EXPECT_EQ(EncodeCheckpoint(Sample()),
            R"({"Data":{"PodDeviceEntries":[{"AllocResp":"CgoKA0tFWRIDdiIK","ContainerName":"c",)"
            R"("DeviceIDs":{"-1":["x"]},"PodUID":"pod","ResourceName":"a/b"}],)"
            R"("RegisteredDevices":{"a/b":["x","y"],"a/empty":[]}}})");
}

TEST(Checkpoint, RejectsOrOmitsUnexpectedTypes) {
  EXPECT_FALSE(DecodeCheckpoint("[]"));
  EXPECT_FALSE(DecodeCheckpoint(R"({"Data": 1})"));
  EXPECT_FALSE(DecodeCheckpoint(R"({"Data": {"PodDeviceEntries": [{"AllocResp": "???"}]}})"));
  const auto decoded = DecodeCheckpoint(R"({"Data": {"RegisteredDevices": {"a/b": 1}}})");
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->registered.at("a/b"), std::vector<std::string>{});
}

TEST(Checkpoint, IsEmptyWhenAbsentOrCorrupt) {
  test::TempTree tree;
  EXPECT_TRUE(ReadCheckpoint(tree.path()).registered.empty());
  tree.File(kCheckpointName, "{\"Data\": 1");
  EXPECT_TRUE(ReadCheckpoint(tree.path()).registered.empty());
  EXPECT_FALSE(WriteCheckpoint(tree.path("gone"), Sample()));
}

}  // namespace
}  // namespace patchbay
