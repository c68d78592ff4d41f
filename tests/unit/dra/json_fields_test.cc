#include "dra/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace patchbay {
namespace {

using testing::HasSubstr;

std::string Nested(int levels) {
  std::string text = R"({"a":1})";
  for (int i = 1; i < levels; ++i) text = R"({"a":)" + text + "}";
  return text;
}

TEST(ParseJsonObject, BuildsTheTreeOfTheLibrary) {
  for (const char* text :
       {"{}", R"({"a":[1,-2,3.5,true,null,"x",[],{}],"b":{"c":[{"d":1},{"d":2}]},"":0})",
        R"({"a":18446744073709551615,"b":-9223372036854775808,"c":"ü\u0000"})"}) {
    const auto parsed = ParseJsonObject(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, nlohmann::json::parse(text));
  }
  EXPECT_EQ(ParseJsonObject(Nested(32)).value(), nlohmann::json::parse(Nested(32)));
}

TEST(ParseJsonObject, RejectsHostileTexts) {
  const struct {
    std::string text, error;
  } kCases[] = {
      {"", "is not valid JSON"},
      {"[]", "is not a JSON object"},
      {"1", "is not a JSON object"},
      {"{", "is not valid JSON at byte"},
      {"{} x", "is not valid JSON"},
      {"{}{}", "is not valid JSON"},
      {R"({"a":"\ud800"})", "is not valid JSON"},
      {"{\"a\":\"\xff\"}", "is not valid JSON"},
      {R"({"a":1e999})", "is not valid JSON"},
      {std::string("{}\0x", 4), "bytes that are not JSON"},
      {"\xEF\xBB\xBF{}", "bytes that are not JSON"},
      {R"({"a":1,"b":2,"a":3})", "has the key \"a\" twice"},
      {R"({"\u001b":1,"\u001b":2})", R"(has the key "\x1b" twice)"},
      {std::string(1'000'000, '['), "has too many values"},
  };
  for (const auto& [text, error] : kCases) {
    const auto parsed = ParseJsonObject(text);
    ASSERT_FALSE(parsed) << text.substr(0, 40);
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(parsed.error().message, HasSubstr(error));
  }
}

/// They may be the parameters of another driver.
TEST(ParseJsonObject, FailsForAnUnusualObjectOnlyIfItIsRead) {
  const struct {
    std::string value, error;
  } kCases[] = {
      {R"({"b":1,"b":2})", R"("a" has the key "b" twice)"},
      {R"({"b":[{"c":1},2],"b":{"b":1},"d":3})", R"("a" has the key "b" twice)"},
      {R"({"\u001b":1,"\u001b":2})", R"("a" has the key "\x1b" twice)"},
  };
  for (const auto& [value, error] : kCases) {
    const auto parsed = ParseJsonObject(R"({"a":)" + value + R"(,"z":{"y":[1]}})");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ((*parsed)["z"], nlohmann::json::parse(R"({"y":[1]})"));
    EXPECT_TRUE(HasMember(*parsed, "a"));
    EXPECT_EQ(ObjectMember(*parsed, "a").error().message, error);
    EXPECT_EQ(TextMember(*parsed, "a", 100).error().message, error);
    EXPECT_EQ(ObjectsMember(*parsed, "a", 9).error().message, error);
  }
}

TEST(ParseJsonObject, LeavesOutWhatIsNestedTooDeep) {
  const std::string deep = R"({"a":)" + Nested(31) + R"(,"b":)" + Nested(40) + R"(,"c":[7]})";
  const auto parsed = ParseJsonObject(deep);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ((*parsed)["a"], nlohmann::json::parse(Nested(31)));
  EXPECT_EQ((*parsed)["c"], nlohmann::json::parse("[7]"));
  const nlohmann::json* object = &(*parsed)["b"];
  for (int level = 3; level < 32; ++level) object = ObjectMember(*object, "a").value();
  EXPECT_EQ(ObjectMember(*object, "a").error().message, R"("a" is nested deeper than 32 levels)");
  // Values that are left out count as well.
  EXPECT_THAT(
      ParseJsonObject(R"({"b":)" + Nested(1'000) + "}", {.max_values = 500}).error().message,
      HasSubstr("has too many values"));
}

TEST(ParseJsonObject, HasBounds) {
  EXPECT_TRUE(ParseJsonObject(R"({"a":[1,2]})", {.max_values = 5}));
  EXPECT_THAT(ParseJsonObject(R"({"a":[1,2]})", {.max_values = 4}).error().message,
              HasSubstr("has too many values"));
  EXPECT_TRUE(ParseJsonObject(R"({"a":1})", {.max_bytes = 7}));
  EXPECT_THAT(ParseJsonObject(R"({"a":1})", {.max_bytes = 6}).error().message,
              HasSubstr("has 7 bytes, more than 6"));
}

TEST(JsonMember, HasADefaultIfItIsAbsentOrNull) {
  const auto object = nlohmann::json::parse(R"({"null":null})");
  for (const char* key : {"null", "absent"}) {
    EXPECT_EQ(TextMember(object, key, 9).value(), "");
    EXPECT_EQ(CountMember(object, key).value(), 0);
    EXPECT_EQ(BoolMember(object, key).value(), false);
    EXPECT_EQ(ObjectMember(object, key).value(), nullptr);
    EXPECT_EQ(ObjectsMember(object, key, 1).value(), nullptr);
    EXPECT_FALSE(HasMember(object, key));
  }
}

TEST(JsonMember, MustBeOfItsType) {
  const auto object = nlohmann::json::parse(
      R"({"text":"abc","count":7,"flag":true,"object":{},"objects":[{},{}],"mixed":[{},1],
          "negative":-1,"fraction":1.5,"large":9223372036854775808})");
  EXPECT_EQ(TextMember(object, "text", 3).value(), "abc");
  EXPECT_EQ(CountMember(object, "count").value(), 7);
  EXPECT_EQ(BoolMember(object, "flag").value(), true);
  EXPECT_EQ(ObjectMember(object, "object").value(), &object["object"]);
  EXPECT_EQ(ObjectsMember(object, "objects", 2).value(), &object["objects"]);

  EXPECT_EQ(TextMember(object, "text", 2).error().message,
            "\"text\" must be a string of at most 2 bytes");
  EXPECT_FALSE(TextMember(object, "count", 9));
  for (const char* key : {"text", "flag", "negative", "fraction", "large"}) {
    EXPECT_FALSE(CountMember(object, key)) << key;
  }
  EXPECT_EQ(BoolMember(object, "count").error().message, "\"count\" must be a boolean");
  EXPECT_FALSE(ObjectMember(object, "objects"));
  EXPECT_EQ(ObjectsMember(object, "objects", 1).error().message,
            "\"objects\" must be an array of at most 1 objects");
  EXPECT_FALSE(ObjectsMember(object, "mixed", 9));
  EXPECT_FALSE(ObjectsMember(object, "object", 9));
}

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
