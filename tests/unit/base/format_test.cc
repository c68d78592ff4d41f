#include "base/format.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(FormatBySpec, FormatsNumbersAndText) {
  EXPECT_EQ(*FormatBySpec("", std::int64_t{7}), "7");
  EXPECT_EQ(*FormatBySpec("02", std::int64_t{7}), "07");
  EXPECT_EQ(*FormatBySpec("x", std::int64_t{255}), "ff");
  EXPECT_EQ(*FormatBySpec(">4", "ab"), "  ab");
  EXPECT_EQ(*FormatBySpec(".1", "ab"), "a");
}

TEST(FormatBySpec, RejectsSpecsThatDoNotFitTheType) {
  const std::pair<std::string_view, FormatValue> cases[] = {
      {"d", "text"},           {"s", std::int64_t{1}}, {"%", "x"},    {"}{", "x"},
      {"{}", std::int64_t{1}}, {"8?", "\x13g"},        {"?", "text"},
  };
  for (const auto& [spec, value] : cases) {
    const auto formatted = FormatBySpec(spec, value);
    ASSERT_FALSE(formatted) << spec;
    EXPECT_EQ(formatted.error().kind, ErrorKind::kInvalid);
    EXPECT_FALSE(formatted.error().message.empty());
  }
}

TEST(FormatBySpec, RejectsHugeWidths) {
  for (const std::string_view spec : {"400000000", ".400000000", ">99999"}) {
    EXPECT_FALSE(FormatBySpec(spec, "x")) << spec;
  }
  EXPECT_EQ(FormatBySpec("9999", std::int64_t{1})->size(), 9999u);
}

}  // namespace
}  // namespace patchbay
