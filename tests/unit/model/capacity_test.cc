#include "model/capacity.h"

#include <gmock/gmock.h>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

TEST(Quantity, IsCountedInThousandths) {
  const struct {
    const char* text;
    std::int64_t value;
  } kCases[] = {{"0", 0},
                {"50", 50'000},
                {"1.5", 1'500},
                {"100m", 100},
                {"2Ki", 2'048'000},
                {"1e3", 1'000'000},
                {"1E-3", 1},
                {".5", 500},
                {"5.", 5'000},
                {"-3", -3'000},
                {"+3", 3'000},
                {"1n", 1},
                {"1.5Mi", 1'572'864'000},
                {"0.0001", 1},
                {"5000001n", 6},
                {"5000u", 5},
                {"1e-15", 1},
                {"2k", 2'000'000}};
  for (const auto& [text, value] : kCases) {
    EXPECT_TRUE(ParseQuantity(text) == value) << text;
  }
  EXPECT_TRUE(ParseQuantity("9223372036854775807").value() == kMaxQuantity);
}

TEST(Quantity, RejectsOtherTexts) {
  for (const char* text : {"",
                           "m",
                           ".",
                           "1x",
                           "1.2.3",
                           "1 ",
                           " 1",
                           "1e",
                           "1e999",
                           "1e-",
                           "1e+-3",
                           "1e-16",
                           "1K",
                           "1kk",
                           "16 Gi",
                           "16GiB",
                           "0x10",
                           "--1",
                           "1\n",
                           "10E",
                           "8Ei",
                           "99999999999999999Ei",
                           "-10E",
                           "1e19",
                           "9223372036854775807.001",
                           "99999999999999999999999",
                           "\xd9\xa1"}) {
    EXPECT_FALSE(ParseQuantity(text)) << Printable(text);
  }
  EXPECT_FALSE(ParseQuantity(std::string_view("1\0", 2)));
  EXPECT_FALSE(ParseQuantity(std::string(65'536, '1')));
}

TEST(Quantity, IsWrittenWithASuffix) {
  for (const char* text : {"0", "3", "1500m", "1m", "999", "1k", "1500", "4096", "10G", "1Mi",
                           "16Gi", "16368Mi", "1536Mi", "7Ei", "9E", "-3", "123456789012001m"}) {
    EXPECT_EQ(QuantityText(ParseQuantity(text).value()), text);
  }
  EXPECT_EQ(QuantityText(ParseQuantity("17179869184").value()), "16Gi");
  EXPECT_EQ(QuantityText(ParseQuantity("1024Ki").value()), "1Mi");
  EXPECT_EQ(QuantityText(ParseQuantity("1.5").value()), "1500m");
  for (const Quantity value : {kMaxQuantity, kMaxQuantity - 1, kMaxQuantity / 3, kUnit - 1}) {
    EXPECT_TRUE(ParseQuantity(QuantityText(value)) == value) << QuantityText(value);
  }
}

TEST(Quantity, CountsWithoutFractions) {
  EXPECT_EQ(CountOf(50 * kUnit), 50);
  for (const Quantity value : {Quantity{0}, Quantity{1'500}, Quantity{-1'000}}) {
    EXPECT_EQ(CountOf(value), std::nullopt);
  }
}

TEST(Capacity, HasANameThatPatchbayDoesNotUse) {
  EXPECT_EQ(ProblemWithCapacityName("memory", "patchbay.dev"), std::nullopt);
  EXPECT_EQ(ProblemWithCapacityName("example.com/slots", "patchbay.dev"), std::nullopt);
  EXPECT_EQ(ProblemWithCapacityName("id", "patchbay.dev"), std::nullopt);
  EXPECT_THAT(ProblemWithCapacityName("slots", "patchbay.dev").value(), HasSubstr("replicas"));
  EXPECT_NE(ProblemWithCapacityName("a-b", "patchbay.dev"), std::nullopt);
  EXPECT_NE(ProblemWithCapacityName("patchbay.dev/memory", "patchbay.dev"), std::nullopt);
}

std::optional<Quantity> Q(const char* text) {
  return *text == '\0' ? std::nullopt : std::optional(ParseQuantity(text).value());
}

CapacitySpec Shares(const char* by_default, const char* max, const char* step) {
  return {.name = "memory",
          .value = Template::Compile("{id}").value(),
          .by_default = Q(by_default),
          .max = Q(max),
          .step = Q(step)};
}

/// Returns the policy as "default [min max step]", or the error.
std::string PolicyText(const CapacitySpec& spec, const char* value, int replicas) {
  const auto capacity = CapacityOf(spec, value, replicas);
  if (!capacity) return capacity.error().message;
  if (!capacity->policy) return "none";
  const SharePolicy& policy = *capacity->policy;
  const auto text = [](const std::optional<Quantity>& q) { return q ? QuantityText(*q) : "-"; };
  return Format("{} [{} {} {}]", QuantityText(policy.by_default), text(policy.min),
                text(policy.max), text(policy.step));
}

TEST(Capacity, HasNoPolicyWithoutReplicas) {
  EXPECT_EQ(PolicyText(Shares("", "", ""), "16Gi", 1), "none");
  EXPECT_EQ(PolicyText(Shares("1Gi", "", "1Gi"), "512Mi", 1), "none");
}

TEST(Capacity, HasAnEqualShareForEachReplica) {
  EXPECT_EQ(PolicyText(Shares("", "", ""), "16Gi", 4), "4Gi [- - -]");
  EXPECT_EQ(PolicyText(Shares("", "", ""), "10", 3), "3 [- - -]");
  EXPECT_EQ(PolicyText(Shares("", "", ""), "1", 4), "250m [- - -]");
  EXPECT_EQ(PolicyText(Shares("", "", ""), "0", 4), "0 [- - -]");
  EXPECT_EQ(PolicyText(Shares("", "", "1Gi"), "16Gi", 3), "5Gi [1Gi - 1Gi]");
  EXPECT_EQ(PolicyText(Shares("", "", "1Gi"), "16Gi", 50), "1Gi [1Gi - 1Gi]");
  EXPECT_EQ(PolicyText(Shares("", "2Gi", ""), "16Gi", 4), "2Gi [0 2Gi -]");
  EXPECT_EQ(PolicyText(Shares("", "2Gi", "1Gi"), "16Gi", 4), "2Gi [1Gi 2Gi 1Gi]");
}

TEST(Capacity, HasTheSharesOfTheConfiguration) {
  EXPECT_EQ(PolicyText(Shares("1Gi", "", ""), "16Gi", 50), "1Gi [- - -]");
  EXPECT_EQ(PolicyText(Shares("2Gi", "8Gi", "2Gi"), "16Gi", 4), "2Gi [2Gi 8Gi 2Gi]");
  EXPECT_EQ(PolicyText(Shares("1G", "16G", "500M"), "10G", 4), "1G [500M - 500M]") << "max > value";
}

/// The API server refuses a step of which the device has one only.
TEST(Capacity, OfOneStepIsTakenAsAWhole) {
  EXPECT_EQ(PolicyText(Shares("", "", "1Gi"), "1536Mi", 4), "1Gi [1Gi 1Gi -]");
  EXPECT_EQ(PolicyText(Shares("", "4Gi", "1Gi"), "1Gi", 4), "1Gi [1Gi 1Gi -]");
  EXPECT_EQ(PolicyText(Shares("", "", "1Gi"), "2Gi", 4), "1Gi [1Gi - 1Gi]");
}

TEST(Capacity, IsNotLessThanAShare) {
  EXPECT_THAT(PolicyText(Shares("2Gi", "", ""), "1Gi", 4), HasSubstr("less than the share 2Gi"));
  EXPECT_THAT(PolicyText(Shares("", "", "1Gi"), "1Mi", 4), HasSubstr("less than the share 1Gi"));
}

TEST(Capacity, IsAQuantity) {
  for (const std::string& text : {std::string("-1"), std::string("x"), std::string("1\x1b[2J"),
                                  std::string(65'536, '1'), std::string("1e99")}) {
    const auto capacity = CapacityOf(Shares("", "", ""), text, 1);
    ASSERT_FALSE(capacity);
    EXPECT_TRUE(IsPrintable(capacity.error().message));
    EXPECT_LT(capacity.error().message.size(), 200U);
  }
}

TEST(Capacity, HasSharesThatDoNotContradictEachOther) {
  EXPECT_EQ(ProblemWithShares(Shares("", "", "")), std::nullopt);
  EXPECT_EQ(ProblemWithShares(Shares("0", "", "")), std::nullopt);
  EXPECT_EQ(ProblemWithShares(Shares("2Gi", "8Gi", "1Gi")), std::nullopt);
  EXPECT_THAT(ProblemWithShares(Shares("", "", "0")).value(), HasSubstr("\"step\""));
  EXPECT_THAT(ProblemWithShares(Shares("", "", "500m")).value(), HasSubstr("whole number"));
  EXPECT_THAT(ProblemWithShares(Shares("0", "", "1")).value(), HasSubstr("\"default\""));
  EXPECT_THAT(ProblemWithShares(Shares("1500Mi", "", "1Gi")).value(), HasSubstr("\"default\""));
  EXPECT_THAT(ProblemWithShares(Shares("", "1500Mi", "1Gi")).value(), HasSubstr("\"max\""));
  EXPECT_THAT(ProblemWithShares(Shares("2", "1", "")).value(), HasSubstr("above \"max\""));
}

TEST(Capacity, OfSlotsHasOneForEachClaim) {
  const DeviceCapacity slots = SlotCapacity(50);
  EXPECT_TRUE(slots.value == 50 * kUnit);
  EXPECT_EQ(slots.policy,
            (SharePolicy{.by_default = kUnit, .min = kUnit, .max = {}, .step = kUnit}));
}

}  // namespace
}  // namespace patchbay
