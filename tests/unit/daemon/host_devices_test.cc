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
  HostDevicesTest() { Serial("ttyUSB0", "188:0"); }

  void Serial(const std::string& name, const std::string& number) {
    sysfs_.Device("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/" + name + "/tty/" + name,
                  {.subsystem = "tty", .number = number});
  }

  json Get() { return json::parse(devices_.Json()); }
  /// Runs the loop until what Json began to read is there.
  json Read() {
    Get();
    EXPECT_TRUE(loop_.RunUntil([&] { return loop_.timers() == 1; }));
    return Get();
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
  EXPECT_EQ(Get(),
            json::parse(R"({"read_at": null, "used_disks": 0, "notes": [], "suggestions": []})"));
  const json read = Read();
  ASSERT_EQ(read["suggestions"].size(), 1u);
  EXPECT_EQ(read["suggestions"][0]["kind"], "serial");
  EXPECT_EQ(read["suggestions"][0]["devices"], json::array({"/dev/ttyUSB0"}));
  EXPECT_EQ(read["suggestions"][0]["served_by"], "");
}

TEST_F(HostDevicesTest, ReadsAgainWhenTheResultIsOld) {
  Read();
  served_.emplace(KeyOf({"", "", FileType::kCharacter, 188, 0}), "example.com/serial");
  EXPECT_EQ(Get()["suggestions"][0]["served_by"], "");
  EXPECT_FALSE(loop_.RunPosted()) << "the result is new";
  loop_.Advance(HostDevices::kMaxAge);
  EXPECT_FALSE(loop_.RunPosted()) << "there was no request";
  EXPECT_EQ(Read()["suggestions"][0]["served_by"], "example.com/serial");
}

}  // namespace
}  // namespace patchbay
