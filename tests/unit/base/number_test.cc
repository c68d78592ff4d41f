#include "base/number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace patchbay {
namespace {

TEST(ParseNumber, ReadsWholeTextsThatFit) {
  EXPECT_EQ(ParseNumber<int>("0"), 0);
  EXPECT_EQ(ParseNumber<int>("-12"), -12);
  EXPECT_EQ(ParseNumber<int>("007"), 7);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<std::uint16_t>("fFfF", 16), 65535);
  EXPECT_EQ(ParseNumber<std::int64_t>("-9223372036854775808"),
            std::numeric_limits<std::int64_t>::min());
}

TEST(ParseNumber, RejectsOtherTexts) {
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "1\n", "-", "a", "99999999999"}) {
    EXPECT_FALSE(ParseNumber<int>(text)) << text;
  }
  EXPECT_FALSE(ParseNumber<std::uint16_t>("65536"));
  EXPECT_FALSE(ParseNumber<std::uint16_t>("-1"));
  EXPECT_FALSE(ParseNumber<int>("g", 16));
}

}  // namespace
}  // namespace patchbay
