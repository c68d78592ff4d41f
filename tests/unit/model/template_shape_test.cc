#include "model/template_shape.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(TemplateShape, KeepsTheLiteralTextAndItsOffsets) {
  const auto compiled = Template::Compile("/a{{b}}{name:>4}/{slot}");
  ASSERT_TRUE(compiled);
  const TemplateShape shape = ShapeOf(*compiled);
  EXPECT_EQ(shape.text, "/a{b}\x01/\x01");
  EXPECT_EQ(shape.offsets, (std::vector<std::size_t>{0, 1, 2, 4, 5, 7, 16, 17}));
  ASSERT_EQ(shape.fields.size(), 2u);
  EXPECT_EQ(shape.fields[0].name, "name");
  EXPECT_EQ(shape.fields[0].origin, Origin::kMatched);
  EXPECT_EQ(shape.fields[0].begin, 5u);
  EXPECT_EQ(shape.fields[0].end, 6u);
  EXPECT_EQ(shape.fields[1].name, "slot");
  EXPECT_EQ(shape.fields[1].origin, Origin::kConfiguration);
  EXPECT_EQ(LiteralShape("a\x01").text, "a\x02");
}

TEST(TemplateShape, ContainsTheRenderedValues) {
  const auto compiled = Template::Compile("{{{a}{b:>3}{a:.0}");
  ASSERT_TRUE(compiled);
  const Device device{.id = "x", .nodes = {}, .values = {{"a", "va\x01"}, {"b", "1"}}};
  const Variables variables = VariablesOf(device);
  const auto shape = RenderShape(*compiled, variables);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->text, "{va\x02  1") << "a value cannot look like a field";
  EXPECT_TRUE(shape->offsets.empty());
  ASSERT_EQ(shape->fields.size(), 3u);
  EXPECT_EQ(shape->fields[0].begin, 1u);
  EXPECT_EQ(shape->fields[0].end, 4u);
  EXPECT_EQ(shape->fields[0].origin, Origin::kDevice);
  EXPECT_EQ(shape->fields[1].end, 7u);
  EXPECT_EQ(shape->fields[2].begin, 7u);
  EXPECT_EQ(shape->fields[2].end, 7u);
  EXPECT_FALSE(RenderShape(*Template::Compile("{none}"), variables));
}

}  // namespace
}  // namespace patchbay
