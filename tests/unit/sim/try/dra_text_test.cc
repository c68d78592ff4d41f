#include "sim/try/dra_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay {
namespace {

using testing::ElementsAre;

ResourceSlice SliceWith(std::vector<SliceDevice> devices) {
  return {.pool = "node-1/example.com/serial",
          .generation = 3,
          .slice_count = 2,
          .devices = std::move(devices)};
}

TEST(DraText, ThePoolOfAResourceIsARow) {
  const std::vector<ResourceSlice> slices = {SliceWith({{.name = "a"}, {.name = "b"}}),
                                             SliceWith({{.name = "c"}})};
  EXPECT_THAT(PoolRow("example.com/serial", slices),
              ElementsAre("example.com/serial", "yes", "node-1/example.com/serial", "3", "2", "3"));
  EXPECT_THAT(PoolRow("example.com/serial", {}), ElementsAre("example.com/serial", "no"));
  EXPECT_EQ(PoolRow("example.com/serial", slices).size(), PoolHeading().size());
}

TEST(DraText, DevicesHaveAttributesSlotsAndTaints) {
  const std::vector<ResourceSlice> slices = {SliceWith(
      {{.name = "ttyusb0-8acffaeae38f2be1",
        .attributes = {{"firmware", SemanticVersion{"1.2.0"}},
                       {"gsm", true},
                       {"id", std::string("ttyUSB0")},
                       {"model", std::string("Modem 3")},
                       {"note", std::string()},
                       {"port", std::int64_t{-4}},
                       {"resource", std::string("example.com/serial")}},
        .capacity = {{"memory", {.value = 4096 * kUnit}}, {"slots", SlotCapacity(5)}},
        .taints = {{.key = std::string(kGoneTaint), .effect = TaintEffect::kNoExecute}}}})};
  EXPECT_EQ(
      DevicesText(slices),
      "  ttyusb0-8acffaeae38f2be1  firmware=1.2.0 gsm=true id=ttyUSB0 model=\"Modem 3\" note=\"\" "
      "port=-4 memory=4096 slots=5 taint=patchbay.dev/gone:NoExecute\n");
  EXPECT_EQ(DevicesText({}), "");
}

TEST(DraText, DevicesAboveTheLimitAreCounted) {
  const std::vector<SliceDevice> five(5, SliceDevice{.name = "d"});
  const std::vector<ResourceSlice> ten = {SliceWith(five), SliceWith(five)};
  const std::string text = DevicesText(ten);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);
  EXPECT_TRUE(text.ends_with("  and 2 more\n")) << text;
  const std::vector<SliceDevice> three(3, SliceDevice{.name = "d"});
  const std::vector<ResourceSlice> eight = {SliceWith(five), SliceWith(three)};
  EXPECT_EQ(DevicesText(eight).find("more"), std::string::npos);
}

TEST(DraText, EscapesTextOfAttributes) {
  const std::vector<ResourceSlice> slices = {
      SliceWith({{.name = "d", .attributes = {{"x", std::string("\x1b[2J\n")}}}})};
  const std::string text = DevicesText(slices);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DraText, AContainerGetsTheEditsOfItsDevicesOnly) {
  const CdiSpec file = {
      .kind = "patchbay.dev/claim",
      .devices = {{.name = "one",
                   .edits = {.env = {{"PORT", "/dev/serial0"}},
                             .device_nodes = {{"/dev/serial0", "/dev/ttyUSB0", "rw"},
                                              {"/dev/same", "", "r"}},
                             .mounts = {{"/srv/data", "/data", {"rbind", "rw"}},
                                        {"/opt/x", "/opt/x", {"rbind", "ro"}}},
                             .additional_gids = {20}}},
                  {.name = "two", .edits = {.env = {{"OTHER", "1"}}}}}};
  const std::vector<std::string> names = {"patchbay.dev/claim=one", "example.com/card=7"};
  EXPECT_EQ(RenderCdiDevices(file, names),
            "  device      /dev/serial0 rw  from /dev/ttyUSB0\n"
            "  device      /dev/same r\n"
            "  mount       /data rw  from /srv/data\n"
            "  mount       /opt/x ro\n"
            "  env         PORT=/dev/serial0\n"
            "  cdi         example.com/card=7\n"
            "  group       20\n");
}

}  // namespace
}  // namespace patchbay
