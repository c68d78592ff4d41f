#include "discovery/device_id.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::IsLegalId;

TEST(DeviceId, KeepsValidNames) {
  for (const std::string_view text :
       {"ttyUSB0", "0", "usb-FTDI_FT232R_A9XYZ-if00-port0", "pci-0000:00:14.0-usb-0:1:1.0",
        "a@b+c.d", "-", "...", ".a", "A::1"}) {
    EXPECT_EQ(DeviceId(text, 63), text);
  }
}

TEST(DeviceId, IsNeverADotDirectory) {
  for (const std::string_view dots : {".", ".."}) {
    const std::string id = DeviceId(dots, 63);
    EXPECT_THAT(id, testing::StartsWith(std::string(dots) + "-"));
    EXPECT_TRUE(IsLegalId(id)) << id;
  }
  EXPECT_NE(DeviceId(".", 63), DeviceId("..", 63));
}

TEST(DeviceId, ReplacesSlashesWithColons) {
  EXPECT_EQ(DeviceId("snd/pcmC0D0p", 63), "snd:pcmC0D0p");
  EXPECT_EQ(DeviceId("bus/usb/001/002", 63), "bus:usb:001:002");
  EXPECT_THAT(DeviceId("by-path/pci-0000:00", 63), testing::StartsWith("by-path:pci-0000:00-"));
}

TEST(DeviceId, IsStableAcrossReleases) {
  struct Case {
    std::string_view text;
    std::size_t longest;
    std::string_view id;
  };
  const Case cases[] = {
      {"a b", 63, "a_b-e2bca18b"},     {"", 63, "-4fd0bfc1"},
      {"a/b:c", 63, "a:b:c-dc42c71a"}, {"0123456789abcdefg", 16, "0123456-709b27e1"},
      {"\xff\n", 16, "__-bc6c66eb"},
  };
  for (const Case& c : cases) EXPECT_EQ(DeviceId(c.text, c.longest), c.id) << c.text;
}

TEST(DeviceId, IsValidForEveryLength) {
  for (const std::size_t longest : {16u, 17u, 58u, 60u, 63u}) {
    for (std::size_t size = 0; size <= 300; ++size) {
      for (const char c : {'a', '/', ' ', '\xff', ':'}) {
        const std::string text(size, c);
        const std::string id = DeviceId(text, longest);
        EXPECT_TRUE(IsLegalId(id)) << id;
        EXPECT_LE(id.size(), longest) << id;
        EXPECT_EQ(id == text, c != ' ' && c != '\xff' && c != '/' && size > 0 && size <= longest);
      }
    }
  }
}

TEST(DeviceId, DiffersForHostileNames) {
  const std::string long_name(255, 'x');
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\t",
                                          "a b",
                                          "a\nb",
                                          "a_b",
                                          "\xff",
                                          "\xfe",
                                          "é",
                                          "ё",
                                          "\\",
                                          "'",
                                          "\"",
                                          "$(reboot)",
                                          "a;b",
                                          "a|b",
                                          "a%b",
                                          "a%20b",
                                          "*",
                                          long_name,
                                          long_name + "x",
                                          long_name + "y",
                                          "a/b c",
                                          "a/b:c",
                                          "a:b c",
                                          "../../x",
                                          "{}",
                                          long_name + "/",
                                          std::string("a\0b", 3),
                                          std::string("a\0c", 3)};
  std::map<std::string, std::string> seen;
  for (const std::string& text : texts) {
    const std::string id = DeviceId(text, 63);
    EXPECT_TRUE(IsLegalId(id)) << id;
    const auto [other, fresh] = seen.emplace(id, text);
    EXPECT_TRUE(fresh) << id << " stands for two texts: " << other->second << " and " << text;
  }
}

TEST(DeviceId, DiffersForRandomBytes) {
  std::mt19937 random(20240229);
  std::map<std::string, std::string> seen;
  for (int i = 0; i < 5000; ++i) {
    std::string text(1 + random() % 80, '\0');
    for (char& c : text) c = static_cast<char>(random() % 256);
    if (text.find('/') != std::string::npos) continue;
    const std::string id = DeviceId(text, 60);
    ASSERT_TRUE(IsLegalId(id)) << id;
    ASSERT_LE(id.size(), 60u);
    const auto [other, fresh] = seen.emplace(id, text);
    ASSERT_TRUE(fresh || other->second == text) << id;
  }
}

}  // namespace
}  // namespace patchbay
