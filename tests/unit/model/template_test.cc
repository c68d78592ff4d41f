#include "model/template.h"

#include <gtest/gtest.h>

#include "model/spec.h"

namespace patchbay {
namespace {

Template Compiled(std::string_view text) {
  auto compiled = Template::Compile(text);
  EXPECT_TRUE(compiled) << text << ": " << (compiled ? "" : compiled.error().message);
  return compiled ? *compiled : Template();
}

class DeviceTemplate : public testing::Test {
 protected:
  const DeviceNode node_{"/dev/serial/by-id/x", "/dev/ttyUSB7", FileType::kCharacter, 188, 255};
  const Device device_{"x", {node_}, {{"card", "12"}}};
  const Variables variables_{"a.com/x", "node-1", &device_, &device_.nodes[0], "x::3", 5, 7, 3};
};

TEST_F(DeviceTemplate, RendersEveryVariable) {
  struct Case {
    std::string_view text, result;
  };
  const Case cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"{{}}{{", "{}{"},
      {"{card}-{card}", "12-12"},
      {"{id} {resource} {node_name}", "x::3 a.com/x node-1"},
      {"{index} {slot} {replica}", "5 7 3"},
      {"{path} {name} {real_path}", "/dev/serial/by-id/x x /dev/ttyUSB7"},
      {"{major}:{minor}", "188:255"},
      {"{slot:03}|{minor:x}|{minor:#06x}|{slot:>3}", "007|ff|0x00ff|  7"},
      {"{card:>4}|{card:.1}|{card:*^6}", "  12|1|**12**"},
      {"{{{card}}}", "{12}"},
  };
  for (const Case& c : cases) {
    const auto rendered = Compiled(c.text).Render(variables_);
    ASSERT_TRUE(rendered) << c.text;
    EXPECT_EQ(*rendered, c.result);
  }
}

TEST_F(DeviceTemplate, FailsForMissingVariables) {
  const auto rendered = Compiled("{port}").Render(variables_);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(rendered.error().message.find("port"), std::string::npos);
  Variables without_node = variables_;
  without_node.node = nullptr;
  EXPECT_FALSE(Compiled("{path}").Render(without_node));
  EXPECT_TRUE(Compiled("{card}{slot}").Render(without_node));
}

TEST_F(DeviceTemplate, FailsWhenTheResultIsTooLong) {
  const std::string longest(Template::kMaxResult - 2, 'x');
  EXPECT_TRUE(Compiled(longest + "{card}").Render(variables_));
  const auto longer = Compiled(longest + "x{card}").Render(variables_);
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("4096"), std::string::npos) << longer.error().message;
  EXPECT_FALSE(Compiled(longest + "{card}x").Render(variables_));
}

TEST(Template, LocatesSyntaxErrors) {
  struct Case {
    std::string_view text;
    std::size_t offset;
    std::string_view part_of_message;
  };
  const Case cases[] = {
      {"a{", 1, "not closed"},      {"a{b", 1, "not closed"},
      {"a}", 1, "is unmatched"},    {"{a}}", 3, "is unmatched"},
      {"{}", 1, "missing"},         {"{:02}", 1, "missing"},
      {"x{0}", 2, "positions"},     {"{a b}", 1, "not the name"},
      {"{a.b}", 1, "not the name"}, {"{a:{b}}", 1, "cannot contain a variable"},
  };
  for (const Case& c : cases) {
    const auto compiled = Template::Compile(c.text);
    ASSERT_FALSE(compiled) << c.text;
    EXPECT_EQ(compiled.error().offset, c.offset) << c.text;
    EXPECT_NE(compiled.error().message.find(c.part_of_message), std::string::npos)
        << compiled.error().message;
  }
}

TEST(Template, ListsItsFields) {
  const Template compiled = Compiled("a{b:>2}{{{c}");
  ASSERT_EQ(compiled.fields().size(), 2u);
  EXPECT_EQ(compiled.fields()[0].name, "b");
  EXPECT_EQ(compiled.fields()[0].spec, ">2");
  EXPECT_EQ(compiled.fields()[1].offset, 10u);
  EXPECT_EQ(compiled, Compiled("a{b:>2}{{{c}"));
}

}  // namespace
}  // namespace patchbay
