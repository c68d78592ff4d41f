#include "inventory/snapshot_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace patchbay {
namespace {

using nlohmann::ordered_json;

Snapshot OneDevice() {
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = "example.com/card";
  spec->matches.emplace_back().source = PathSource{};
  spec->matches.emplace_back().source = UsbPattern{};  // more variables, some of them twice
  auto device = std::make_shared<Device>();
  device->id = "c9";
  device->numa_node = 1;
  device->nodes.push_back({.path = "/dev/c9", .real_path = "/dev/cards/9", .major = 3, .minor = 9});
  device->nodes.push_back({.path = "/dev/c9-control", .real_path = "/dev/cards/9c"});
  device->values = {{"usb_serial", "A\xff"}};
  Snapshot snapshot;
  snapshot.spec = spec;
  snapshot.devices.push_back({device, Health::kUnhealthy, "too hot"});
  snapshot.rejected.push_back({"/dev/\n", RejectReason::kBadName, "a line end"});
  return snapshot;
}

TEST(SnapshotJson, ContainsEveryFieldOfADevice) {
  const Snapshot snapshot = OneDevice();
  EXPECT_EQ(
      JsonText(SnapshotJson(snapshot).Device(0)),
      R"({"id":"c9","health":"Unhealthy","reason":"too hot",)"
      R"("paths":["/dev/c9","/dev/c9-control"],"numa_node":1,"variables":{"id":"c9",)"
      R"("resource":"example.com/card","index":0,"path":"/dev/c9","real_path":"/dev/cards/9",)"
      R"("name":"c9","major":3,"minor":9,"numa_node":1,"usb_serial":"A)"
      "\uFFFD\"}}");
}

TEST(SnapshotJson, ContainsTheReasonOfARejection) {
  const Snapshot snapshot = OneDevice();
  EXPECT_EQ(JsonText(SnapshotJson(snapshot).Rejected()),
            R"([{"path":"/dev/\\x0a","reason":"bad_name: a line end"}])");
}

TEST(SnapshotJson, IndentsOnRequest) { EXPECT_EQ(JsonText({{"a", 1}}, 2), "{\n  \"a\": 1\n}"); }

}  // namespace
}  // namespace patchbay
