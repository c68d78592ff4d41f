#include "base/json_text.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::ElementsAre;

TEST(JsonText, AcceptsExactlyOneValue) {
  EXPECT_TRUE(IsJson(R"( {"a": [1, -2.5e3, true, null, "x\"]"]} )"));
  EXPECT_TRUE(IsJson("1"));
  for (const std::string text : {"", " ", "{", "{}{}", "{\"a\":}", "[1,]", "nul", "\"\xff\"",
                                 "\xEF\xBB\xBF{}", "// comment\n1"}) {
    EXPECT_FALSE(IsJson(text)) << text;
  }
}

TEST(JsonText, RejectsTextAfterNul) {
  using namespace std::string_literals;
  EXPECT_FALSE(IsJson("{}\0x"s));
  EXPECT_FALSE(IsJson("\"a\0b\""s));
}

TEST(JsonText, LimitsNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(IsJson(nested(kMaxJsonNesting)));
  EXPECT_FALSE(IsJson(nested(kMaxJsonNesting + 1)));
  EXPECT_FALSE(IsJson(nested(1'000'000)));
  EXPECT_TRUE(IsJson("\"" + std::string(1000, '[') + "\""));
}

TEST(JsonText, SlicesMembers) {
  const std::string text = R"( { "a" : {"b": "}\"{"} , "c":[1,{"d":2}],"e": -1.5e3 ,"f":null} )";
  const auto members = MembersOfJson(text);
  ASSERT_TRUE(members);
  EXPECT_EQ(FindMember(*members, "a"), R"({"b": "}\"{"})");
  EXPECT_EQ(FindMember(*members, "c"), R"([1,{"d":2}])");
  EXPECT_EQ(FindMember(*members, "e"), "-1.5e3");
  EXPECT_EQ(FindMember(*members, "f"), "null");
  EXPECT_EQ(FindMember(*members, "b"), "");
  EXPECT_EQ(members->size(), 4u);
  EXPECT_TRUE(MembersOfJson(" { } ")->empty());
}

TEST(JsonText, RejectsDuplicateKeys) {
  EXPECT_FALSE(MembersOfJson(R"({"a": 1, "b": 2, "a": 3})"));
  EXPECT_TRUE(MembersOfJson(R"({"a": {"a": 1}})"));
}

TEST(JsonText, KeysWithEscapesMatchNoName) {
  const auto members = MembersOfJson(R"({"\u0061": 1})");
  ASSERT_TRUE(members);
  EXPECT_EQ(FindMember(*members, "a"), "");
}

TEST(JsonText, SlicesElements) {
  EXPECT_THAT(*ElementsOfJson(R"([ 1 , "a,]" ,{"b":[2]}, [] ])"),
              ElementsAre("1", "\"a,]\"", R"({"b":[2]})", "[]"));
  EXPECT_TRUE(ElementsOfJson("[]")->empty());
}

TEST(JsonText, ReturnsNothingForOtherTypes) {
  EXPECT_FALSE(MembersOfJson("[]"));
  EXPECT_FALSE(MembersOfJson("\"{}\""));
  EXPECT_FALSE(ElementsOfJson("{}"));
  EXPECT_FALSE(ElementsOfJson("1"));
  EXPECT_FALSE(TextOfJson("1", 10));
  EXPECT_FALSE(TextOfJson("", 10));
}

TEST(JsonText, DecodesStringsUpToTheirLimit) {
  EXPECT_EQ(TextOfJson(R"("a\n\u00e9")", 20), "a\n\xc3\xa9");
  EXPECT_EQ(TextOfJson("\"abc\"", 3), "abc");
  EXPECT_FALSE(TextOfJson("\"abcd\"", 3));
}

}  // namespace
}  // namespace patchbay
