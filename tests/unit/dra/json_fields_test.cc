#include "dra/json_fields.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(ParseQuantity, ReadsWholeNumbersOnly) {
  EXPECT_EQ(ParseQuantity("0"), 0);
  EXPECT_EQ(ParseQuantity("50"), 50);
  EXPECT_EQ(ParseQuantity("1k"), 1000);
  EXPECT_EQ(ParseQuantity("12M"), 12'000'000);
  EXPECT_EQ(ParseQuantity("9E"), 9'000'000'000'000'000'000);
  for (const char* text : {"", "-1", "k", "1K", "1Ki", "500m", "1.5", "1e3", "10E", "1 ", " 1",
                           "+1", "9223372036854775808", "1kk"}) {
    EXPECT_EQ(ParseQuantity(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace patchbay
