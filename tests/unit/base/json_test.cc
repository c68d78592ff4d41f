#include "base/json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

std::string Nested(int levels) {
  std::string text = R"({"a":1})";
  for (int i = 1; i < levels; ++i) text = R"({"a":)" + text + "}";
  return text;
}

std::string ErrorOf(const std::string& text, const JsonLimits& limits = {}) {
  const auto parsed = ParseJson(text, limits);
  EXPECT_FALSE(parsed) << text.substr(0, 40);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
  return parsed.error().message;
}

TEST(ParseJson, BuildsTheTreeOfTheLibrary) {
  for (const char* text :
       {"{}", "[]", "1", "null", R"({"a":[1,-2,3.5,true,null,"x",[],{}],"b":{"c":[{"d":1}]},"":0})",
        R"({"a":18446744073709551615,"b":-9223372036854775808,"c":"ü\u0000"})"}) {
    const auto parsed = ParseJson(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, nlohmann::json::parse(text));
  }
}

TEST(ParseJson, RejectsHostileTexts) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "ends at line 1, column 1, before the JSON does"},
      {"{", "ends at line 1, column 2, before the JSON does"},
      {"[1,\n2", "ends at line 2, column 2, before the JSON does"},
      {"{} x", "is not valid JSON at line 1, column 4"},
      {"{}{}", "is not valid JSON at line 1, column 3"},
      {"[\n\n 01]", "is not valid JSON at line 3, column 3"},
      {"// x", "is not valid JSON at line 1, column 1"},
      {R"({"a":"\ud800"})", "is not valid JSON at line 1, column 13"},
      {"{\"a\":\n\"\xff\"}", "is not valid UTF-8 at line 2, column 2"},
      {R"({"a":1e999})", "has a number that is too large"},
      {std::string("{}\n\0x", 5), "has a NUL byte at line 2, column 1"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(ErrorOf(text), error) << text;
}

TEST(ParseJson, NeverShowsTheText) {
  for (const std::string text :
       {R"({"a":"secret)", R"({"secret" 1})", R"(["secret\x"])", "secret"}) {
    EXPECT_THAT(ErrorOf(text), testing::Not(HasSubstr("secret")));
  }
}

TEST(ParseJson, EnforcesItsLimits) {
  EXPECT_TRUE(ParseJson(R"({"a":[1,2]})", {.values = 5}));
  EXPECT_EQ(ErrorOf(R"({"a":[1,2]})", {.values = 4}), "has more than 4 values");
  EXPECT_TRUE(ParseJson(R"({"a":1})", {.bytes = 7}));
  EXPECT_EQ(ErrorOf(R"({"a":1})", {.bytes = 6}), "has 7 bytes, more than 6");
  EXPECT_TRUE(ParseJson(Nested(32)));
  EXPECT_EQ(ErrorOf(Nested(33)), "is nested deeper than 32 levels");
  EXPECT_TRUE(ParseJson("[[]]", {.depth = 2}));
  EXPECT_EQ(ErrorOf("[[[]]]", {.depth = 2}), "is nested deeper than 2 levels");
  // The parser stops at the limit: the rest is not read.
  EXPECT_EQ(ErrorOf(std::string(1'000'000, '[')), "is nested deeper than 32 levels");
  EXPECT_TRUE(ParseJson("\"" + std::string(1'000, '[') + "\""));
}

/// Looking at all objects again for each of them would take minutes.
TEST(ParseJson, ReadsAListOfManyObjects) {
  std::string text = "[{}";
  for (int i = 1; i < 499'000; ++i) text += ",{}";
  const auto parsed = ParseJson(text + "]");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->size(), 499'000u);
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
  EXPECT_EQ(TextMember(nlohmann::json::array({"null"}), "null", 9).value(), "");
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

}  // namespace
}  // namespace patchbay
