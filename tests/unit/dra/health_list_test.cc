#include "dra/health_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HealthMessage, KeepsShortText) {
  EXPECT_EQ(HealthMessage(""), "");
  EXPECT_EQ(HealthMessage("the probe failed: exit code 1"), "the probe failed: exit code 1");
  EXPECT_EQ(HealthMessage(std::string(kMaxHealthMessage, 'x')), std::string(1024, 'x'));
}

TEST(HealthMessage, IsPrintableUtf8) {
  EXPECT_EQ(HealthMessage("a\xff\n"), "a\\xff\\x0a");
  EXPECT_EQ(HealthMessage("größer"), "größer");
}

// Each text is as long as allowed or one byte longer, before or after it is escaped.
TEST(HealthMessage, ShortensWithoutSplittingACharacter) {
  for (const std::string unit : {"x", "ö", "€", "🙂", "\xff", "\n"}) {
    for (int bytes = 1000; bytes < 1030; ++bytes) {
      std::string text(static_cast<std::size_t>(bytes) % unit.size(), 'x');
      while (text.size() < static_cast<std::size_t>(bytes)) text += unit;
      const std::string message = HealthMessage(text);
      EXPECT_LE(message.size(), kMaxHealthMessage) << unit << bytes;
      EXPECT_GT(message.size(), kMaxHealthMessage - 28) << unit << bytes;
      EXPECT_TRUE(IsPrintable(message)) << unit << bytes;
      EXPECT_EQ(message.ends_with("…"), message != Printable(text)) << unit << bytes;
    }
  }
}

HealthList Devices(const std::vector<std::pair<std::string, std::optional<Health>>>& devices,
                   const std::string& message = "") {
  HealthList list;
  for (const auto& [name, health] : devices) list.devices.push_back({"p", name, health, message});
  return list;
}
std::vector<std::string> NamesOf(const HealthFit& fit) {
  std::vector<std::string> names;
  for (const PublishedHealth& device : fit.list.devices) names.push_back(device.device);
  return names;
}

TEST(FitHealth, KeepsAListThatFits) {
  const HealthList list = Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}, "why");
  const HealthFit fit = FitHealth(list);
  EXPECT_EQ(fit.list, list);
  EXPECT_EQ(fit.without_message, 0U);
  EXPECT_EQ(fit.left_out, 0U);
}

TEST(FitHealth, MakesMessagesValid) {
  const HealthFit fit = FitHealth(Devices({{"a", Health::kUnhealthy}}, "\xff"));
  EXPECT_EQ(fit.list.devices.at(0).message, "\\xff");
}

TEST(FitHealth, LeavesOutNamesThatWouldEndTheStream) {
  const HealthFit fit = FitHealth(Devices({{"\xff", Health::kHealthy}, {"b", Health::kHealthy}}));
  EXPECT_THAT(NamesOf(fit), ElementsAre("b"));
  EXPECT_EQ(fit.left_out, 1U);
}

TEST(FitHealth, RemovesMessagesFirst) {
  HealthList list = Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}});
  list.devices[1].message = std::string(1000, 'x');
  const HealthFit fit = FitHealth(list, 200);
  EXPECT_THAT(NamesOf(fit), ElementsAre("a", "b"));
  EXPECT_EQ(fit.list.devices[1].message, "");
  EXPECT_EQ(fit.without_message, 1U);
  EXPECT_EQ(fit.left_out, 0U);
}

TEST(FitHealth, ThenLeavesOutHealthyDevices) {
  const HealthFit fit = FitHealth(Devices({{"a", Health::kHealthy},
                                           {"b", Health::kUnhealthy},
                                           {"c", Health::kHealthy},
                                           {"d", std::nullopt}}),
                                  150);
  EXPECT_THAT(NamesOf(fit), ElementsAre("b", "d", "a"));
  EXPECT_EQ(fit.left_out, 1U);
  EXPECT_THAT(NamesOf(FitHealth(Devices({{"a", Health::kHealthy}}), 1)), IsEmpty());
}

}  // namespace
}  // namespace patchbay
