#include "base/color.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(Color, IsOnlyForTerminals) {
  EXPECT_TRUE(WantsColor(true, "xterm-256color", nullptr));
  EXPECT_TRUE(WantsColor(true, "linux", "")) << "an empty NO_COLOR counts as unset";
  EXPECT_FALSE(WantsColor(false, "xterm", nullptr));
  EXPECT_FALSE(WantsColor(true, "dumb", nullptr));
  EXPECT_FALSE(WantsColor(true, nullptr, nullptr));
  EXPECT_FALSE(WantsColor(true, "xterm", "1"));
}

TEST(Color, EndsAfterTheText) {
  EXPECT_EQ(Paint("x", Color::kGreen, true), "\x1b[32mx\x1b[m");
  EXPECT_EQ(Paint("x", Color::kGreen, false), "x");
  EXPECT_EQ(Paint("", Color::kRed, true), "");
}

}  // namespace
}  // namespace patchbay
