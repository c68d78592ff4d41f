#include "daemon/host_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_loop.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using nlohmann::json;

class HostDevicesTest : public testing::Test {
 protected:
  HostDevicesTest() {
    const std::string usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
    sysfs_.Device(usb, {.subsystem = "usb",
                        .devtype = "usb_device",
                        .number = "189:1",
                        .node = "/dev/bus/usb/001/002",
                        .attributes = {{"idVendor", "1a86"}, {"idProduct", "7523"}}});
    sysfs_.Device(usb + "/1-1:1.0/ttyUSB0/tty/ttyUSB0", {.subsystem = "tty", .number = "188:0"});
  }

  json Get() { return json::parse(devices_.Json()); }
  /// Requests the devices again and again until the first one is served so; "" is by none.
  bool AwaitServedBy(const std::string& resource) {
    return loop_.RunUntil([&] {
      const json suggestions = Get()["suggestions"];
      return suggestions.size() == 1 && suggestions[0]["served_by"] == resource;
    });
  }

  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
  test::FakeLoop loop_;
  ThreadPool pool_{loop_};
  ServedNodes served_;
  HostDevices devices_{loop_, pool_, HostRoot(tree_.path()), [this] { return served_; }};
};

TEST_F(HostDevicesTest, ReadsTheHostWhenAsked) {
  EXPECT_FALSE(loop_.RunPosted()) << "there was no request";
  EXPECT_EQ(Get(), json::parse(R"({"read_at": null, "used_disks": 0, "left_out": {}, "notes": [],
                            "suggestions": []})"));
  ASSERT_TRUE(AwaitServedBy(""));
  const json read = Get();
  EXPECT_TRUE(read["read_at"].is_string());
  EXPECT_EQ(read["suggestions"][0]["kind"], "serial");
  EXPECT_EQ(read["suggestions"][0]["devices"], json::array({"/dev/ttyUSB0"}));
}

TEST_F(HostDevicesTest, ReadsAgainWhenTheResultIsOld) {
  ASSERT_TRUE(AwaitServedBy(""));
  served_.emplace(KeyOf({"", "", FileType::kCharacter, 188, 0}), "example.com/serial");
  EXPECT_EQ(Get()["suggestions"][0]["served_by"], "");
  EXPECT_FALSE(loop_.RunPosted()) << "the result is new";
  loop_.Advance(HostDevices::kMaxAge);
  EXPECT_TRUE(AwaitServedBy("example.com/serial"));
}

}  // namespace
}  // namespace patchbay
