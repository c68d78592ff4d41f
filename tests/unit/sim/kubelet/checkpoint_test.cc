#include "sim/kubelet/checkpoint.h"

#include <gtest/gtest.h>

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

TEST(Checkpoint, HasTheJsonFormatOfTheKubelet) {
  EXPECT_EQ(EncodeCheckpoint(Sample()),
            R"({"Data":{"PodDeviceEntries":[{"AllocResp":"CgoKA0tFWRIDdiIK","ContainerName":"c",)"
            R"("DeviceIDs":{"-1":["x"]},"PodUID":"pod","ResourceName":"a/b"}],)"
            R"("RegisteredDevices":{"a/b":["x","y"],"a/empty":[]}}})");
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
