#include "net/container_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

TEST(ContainerState, HasPidAndIdOfTheOutermostObject) {
  const std::string text = R"({
    "ociVersion": "1.0.2", "annotations": {"pid": "7", "id": "{\"pid\": 8, \\", "list": [{"pid": 9}]},
    "id" : "f00-1_a.b", "status": "creating", "pid" : 4711, "bundle": "/run/x"
  })";
  const auto state = ParseContainerState(text);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->pid, 4711);
  EXPECT_EQ(state->id, "f00-1_a.b");
}

TEST(ContainerState, HasNoIdWithOtherCharacters) {
  for (const std::string id : {R"(a b)", R"(a\n)", R"(../x/y)", "\xc3\xa4"}) {
    const std::string text = R"({"pid":1,"id":")" + id + R"("})";
    const auto state = ParseContainerState(text);
    ASSERT_TRUE(state) << text;
    EXPECT_EQ(state->id, "") << text;
  }
}

TEST(ContainerState, IsRefusedWithoutOneValidPid) {
  for (const char* text : {"",
                           " ",
                           "{}",
                           "[]",
                           "1",
                           R"("pid")",
                           R"({"id":"a"})",
                           R"({"pid":0})",
                           R"({"pid":-1})",
                           R"({"pid":"1"})",
                           R"({"pid":1.5})",
                           R"({"pid":1e3})",
                           R"({"pid":4194305})",
                           R"({"pid":18446744073709551617})",
                           R"({"pid":1,"pid":2})",
                           R"({"pid":[1]})",
                           R"({"pid":"/proc/1/ns/net"})",
                           R"({"a":{"pid":1}})",
                           R"([{"pid":1}])",
                           R"({"pid":true})"}) {
    EXPECT_FALSE(ParseContainerState(text)) << text;
  }
}

TEST(ContainerState, IsRefusedIfItIsTruncatedOrHasMoreBehindIt) {
  const std::string text = R"({"id":"a","list":[1,{"b":"\"}"}],"pid":5,"bundle":"/x"})";
  ASSERT_TRUE(ParseContainerState(text));
  EXPECT_TRUE(ParseContainerState(text + "\n"));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseContainerState(std::string_view(text).substr(0, size))) << size;
  }
  for (const char* more : {"x", "{}", "}", R"("a")", "1"}) {
    EXPECT_FALSE(ParseContainerState(text + more)) << more;
  }
}

}  // namespace
}  // namespace patchbay
