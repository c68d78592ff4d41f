#include "api_server_sim/field_rules.h"

#include <gtest/gtest.h>

namespace patchbay::api_sim {
namespace {

TEST(FieldRules, ParsesQuantities) {
  const struct {
    const char* text;
    std::int64_t millis;
  } kCases[] = {{"0", 0},           {"50", 50'000},     {"1.5", 1'500}, {"100m", 100},
                {"2Ki", 2'048'000}, {"1e3", 1'000'000}, {"1E-3", 1},    {".5", 500},
                {"-3", -3'000},     {"0.0001", 1},      {"1n", 1},      {"+1k", 1'000'000}};
  for (const auto& [text, millis] : kCases) {
    const auto parsed = ParseQuantity(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_TRUE(*parsed == millis) << text;
  }
  for (const char* text : {"", "m", "1x", "1.2.3", "1 ", "1e", "1e999", "123456789012345678"}) {
    EXPECT_FALSE(ParseQuantity(text)) << text;
  }
  EXPECT_EQ(QuantityText(3'000), "3");
  EXPECT_EQ(QuantityText(1'500), "1500m");
  EXPECT_TRUE(ParseQuantity("99999999999999999Ei"));
}

TEST(FieldRules, AcceptsSemanticVersions) {
  for (const char* text : {"0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3+build.5", "1.2.3-a-b+c-d"}) {
    EXPECT_TRUE(IsSemver(text)) << text;
  }
  for (const char* text : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+",
                           "v1.2.3", "1.2.3-a..b"}) {
    EXPECT_FALSE(IsSemver(text)) << text;
  }
}

TEST(FieldRules, AcceptsTimes) {
  for (const char* text :
       {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123Z", "2026-01-31T12:00:00+01:00"}) {
    EXPECT_TRUE(IsTime(text)) << text;
  }
  for (const char* text : {"", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z",
                           "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00+1"}) {
    EXPECT_FALSE(IsTime(text)) << text;
  }
}

TEST(FieldRules, AcceptsNames) {
  EXPECT_TRUE(IsDnsSubdomain("a-1.example.com"));
  for (const char* text : {"", ".", "a.", "-a", "a-", "A", "a_b", "a..b"}) {
    EXPECT_FALSE(IsDnsSubdomain(text)) << text;
  }
  EXPECT_TRUE(IsLabelKey("example.com/Unhealthy_1.x"));
  for (const char* text : {"", "/a", "a/", "a/b/c", "A/b", "a b"}) {
    EXPECT_FALSE(IsLabelKey(text)) << text;
  }
  EXPECT_FALSE(IsLabelKey(std::string(64, 'a')));
  EXPECT_TRUE(IsUuid("8f14e45f-ceea-467f-a0e6-0123456789ab"));
  EXPECT_FALSE(IsUuid("8F14E45F-CEEA-467F-A0E6-0123456789AB"));
}

}  // namespace
}  // namespace patchbay::api_sim
