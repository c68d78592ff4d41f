#include "kube/json_lines.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonLines, JoinsPartsOfLines) {
  JsonLines lines(100);
  EXPECT_THAT(*lines.Feed("{\"a\""), IsEmpty());
  EXPECT_THAT(*lines.Feed(":1}\n{}\n{\"b"), ElementsAre("{\"a\":1}", "{}"));
  EXPECT_THAT(*lines.Feed("\":2}\n"), ElementsAre("{\"b\":2}"));
}

TEST(JsonLines, SkipsEmptyLinesAndCarriageReturns) {
  JsonLines lines(100);
  EXPECT_THAT(*lines.Feed("\n\r\n1\r\n\n2\n"), ElementsAre("1", "2"));
}

TEST(JsonLines, LimitsALine) {
  JsonLines exact(4);
  EXPECT_THAT(*exact.Feed("1234\n1234\n"), ElementsAre("1234", "1234"));
  JsonLines at_once(4);
  EXPECT_EQ(at_once.Feed("12345").error().kind, ErrorKind::kInvalid);
  JsonLines in_parts(4);
  EXPECT_TRUE(in_parts.Feed("12"));
  EXPECT_TRUE(in_parts.Feed("34"));
  EXPECT_FALSE(in_parts.Feed("5"));
}

}  // namespace
}  // namespace patchbay
