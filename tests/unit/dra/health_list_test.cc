#include "dra/health_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
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
  PoolHealth pool{"p", {}};
  for (const auto& [name, health] : devices) pool.devices.push_back({name, health, message});
  return {{std::make_shared<const PoolHealth>(std::move(pool))}};
}
std::vector<std::string> NamesOf(const HealthFit& fit) {
  std::vector<std::string> names;
  for (const auto& pool : fit.list.pools) {
    for (const PublishedHealth& device : pool->devices) names.push_back(device.device);
  }
  return names;
}

TEST(HealthList, ComparesContents) {
  const auto list = [](const std::string& name) { return Devices({{name, Health::kHealthy}}); };
  EXPECT_EQ(list("a"), list("a"));
  EXPECT_NE(list("a"), list("b"));
  EXPECT_NE(list("a"), HealthList());
}

TEST(FitHealth, KeepsThePoolsOfAListThatFits) {
  const HealthList list = Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}, "why");
  const HealthFit fit = FitHealth(list);
  EXPECT_EQ(fit.list.pools, list.pools);
  EXPECT_EQ(fit.without_message, 0U);
  EXPECT_EQ(fit.left_out, 0U);
}

TEST(FitHealth, LimitsAllPoolsTogether) {
  const auto one = [] { return Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}); };
  const HealthList list{{one().pools.front(), one().pools.front()}};
  EXPECT_THAT(NamesOf(FitHealth(list, 150)), ElementsAre("a", "b", "b"));
  EXPECT_THAT(NamesOf(FitHealth(list, 110)), ElementsAre("b", "b"));
}

TEST(FitHealth, MakesMessagesValid) {
  const HealthFit fit = FitHealth(Devices({{"a", Health::kUnhealthy}}, "\xff"));
  EXPECT_EQ(fit.list.pools.at(0)->devices.at(0).message, "\\xff");
}

TEST(FitHealth, LeavesOutNamesThatWouldEndTheStream) {
  const HealthFit fit = FitHealth(Devices({{"\xff", Health::kHealthy}, {"b", Health::kHealthy}}));
  EXPECT_THAT(NamesOf(fit), ElementsAre("b"));
  EXPECT_EQ(fit.left_out, 1U);
}

TEST(FitHealth, RemovesMessagesFirst) {
  const HealthList list =
      Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}, std::string(1000, 'x'));
  const HealthFit fit = FitHealth(list, 200);
  EXPECT_THAT(NamesOf(fit), ElementsAre("a", "b"));
  EXPECT_EQ(fit.list, Devices({{"a", Health::kHealthy}, {"b", Health::kUnhealthy}}));
  EXPECT_EQ(fit.without_message, 2U);
  EXPECT_EQ(fit.left_out, 0U);
}

TEST(FitHealth, ThenLeavesOutHealthyDevices) {
  const HealthFit fit = FitHealth(Devices({{"a", Health::kHealthy},
                                           {"b", Health::kUnhealthy},
                                           {"c", Health::kHealthy},
                                           {"d", std::nullopt}}),
                                  150);
  EXPECT_THAT(NamesOf(fit), ElementsAre("a", "b", "d"));
  EXPECT_EQ(fit.left_out, 1U);
  EXPECT_THAT(NamesOf(FitHealth(Devices({{"a", Health::kHealthy}}), 1)), IsEmpty());
}

}  // namespace
}  // namespace patchbay
