#include "dra/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>
#include <string>

#include "base/hash.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

/// Returns whether `text` is a pool name as the API server decides: subdomains joined by "/". It
/// does not limit the labels of a subdomain.
bool IsPoolName(const std::string& text) {
  const std::string label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
  static const std::regex kPool(label + "([./]" + label + ")*");
  return text.size() <= kMaxSubdomain && std::regex_match(text, kPool);
}

TEST(SliceDeviceName, KeepsIdsThatAreLabels) {
  for (const char* id : {"ttyusb0", "0", "a-b", "0000-3b-00-0"}) EXPECT_EQ(SliceDeviceName(id), id);
  EXPECT_EQ(SliceDeviceName(std::string(63, 'a')), std::string(63, 'a'));
}

TEST(SliceDeviceName, AppendsAHashIfAnythingIsLost) {
  const struct {
    std::string id, label;
  } kCases[] = {
      {"ttyUSB0", "ttyusb0"},
      {"usb-FTDI_A50285BI", "usb-ftdi-a50285bi"},
      {"dev:snd:a", "dev-snd-a"},
      {"-a-", "a"},
      {"a.b", "a-b"},
      {"a\nb", "a-b"},
      {"gr\xc3\xbcn", "gr--n"},
      {"a--b-", "a--b"},
  };
  for (const auto& [id, label] : kCases) {
    const std::string name = SliceDeviceName(id);
    EXPECT_THAT(name, AllOf(StartsWith(label + "-"), SizeIs(label.size() + 17))) << id;
    EXPECT_TRUE(IsDnsLabel(name)) << name;
  }
}

TEST(SliceDeviceName, IsTheHashAloneIfNothingElseIsLeft) {
  for (const char* id : {"", "-", "___", "\xff\xfe"}) {
    EXPECT_THAT(SliceDeviceName(id), MatchesRegex("[0-9a-f]{16}"));
  }
}

TEST(SliceDeviceName, NeverChanges) {
  EXPECT_EQ(SliceDeviceName("ttyUSB0"), "ttyusb0-8acffaeae38f2be1");
  EXPECT_EQ(SliceDeviceName(std::string(64, 'a')), std::string(46, 'a') + "-ffe054fe7ae0cb6d");
}

TEST(SliceDeviceName, DistinguishesIdsThatDifferInCase) {
  EXPECT_NE(SliceDeviceName("ttyUSB0"), SliceDeviceName("ttyusb0"));
  EXPECT_NE(SliceDeviceName("ttyUSB0"), SliceDeviceName("TTYUSB0"));
}

TEST(SliceDeviceName, OfAnotherDeviceCannotBeChosenAsAnId) {
  for (const char* id : {"ttyUSB0", "-"}) {
    const std::string name = SliceDeviceName(id);
    EXPECT_NE(SliceDeviceName(name), name);
  }
}

TEST(SliceDeviceName, DistinguishesIdsWithACraftedCollision) {
  const std::string mine = "uSB_ftDI_ft232R:USB.uaRt-A50285bi";
  const std::string crafted = "USB:FTdi-fT232R.USb_uart-A50285bi";
  ASSERT_EQ(ShortHash(mine), ShortHash(crafted));
  EXPECT_NE(SliceDeviceName(mine), SliceDeviceName(crafted));
}

TEST(SliceDeviceName, IsALabelForAnyBytes) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string id(random() % 100, 'x');
    for (char& c : id)
      c = random() % 2 == 0 ? "aZ0-._:/@"[random() % 9] : static_cast<char>(random());
    EXPECT_TRUE(IsDnsLabel(SliceDeviceName(id))) << testing::PrintToString(id);
    const std::string pool = PoolName("node-1", id);
    EXPECT_TRUE(IsPoolName(pool)) << testing::PrintToString(pool);
  }
}

TEST(PoolName, JoinsNodeAndResource) {
  EXPECT_EQ(PoolName("node1", "example.com/serial"), "node1/example.com/serial");
  EXPECT_EQ(PoolName("n1.lab.example.com", "a/b.c"), "n1.lab.example.com/a/b.c");
}

TEST(PoolName, MakesResourceNamesSubdomains) {
  const struct {
    std::string resource, normalized;
  } kCases[] = {{"example.com/Serial_X", "example.com/serial-x"},
                {"example.com/a..b", "example.com/a.b"},
                {"example.com/a-.-b", "example.com/a.b"},
                {"example.com/A", "example.com/a"}};
  for (const auto& [resource, normalized] : kCases) {
    const std::string name = PoolName("node1", resource);
    EXPECT_THAT(name,
                AllOf(StartsWith("node1/" + normalized + "-"), SizeIs(6 + normalized.size() + 17)));
    EXPECT_TRUE(IsPoolName(name)) << name;
  }
}

TEST(PoolName, ShortensLongNamesAndKeepsThemDistinct) {
  const std::string node = std::string(200, 'n') + ".example.com";
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const std::string name =
        PoolName(node, "example.com/" + std::string(60, 'r') + std::to_string(i));
    EXPECT_TRUE(IsPoolName(name)) << name;
    names.insert(name);
  }
  EXPECT_THAT(names, SizeIs(100));
  EXPECT_THAT(PoolName(std::string(253, 'n'), "example.com/a"), SizeIs(253));
}

TEST(PoolName, DoesNotEndAPartWithASeparatorWhereItIsCut) {
  for (std::size_t length = 220; length <= 253; ++length) {
    const std::string name = PoolName(std::string(length, 'n'), "example.com/a.b.c.d-e");
    EXPECT_TRUE(IsPoolName(name)) << name;
  }
}

}  // namespace
}  // namespace patchbay
