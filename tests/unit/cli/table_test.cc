#include "cli/table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string TextOfTable(const Rows& rows) { return RenderTable(rows, false); }

TEST(Table, IsEmptyWithoutRows) { EXPECT_EQ(TextOfTable({}), ""); }

TEST(Table, ColorsResultsByTheirHeading) {
  EXPECT_EQ(RenderTable(
                {{"DEVICE", "HEALTH", "PATH"}, {"Healthy", "Healthy", "/dev/a"}, {"(none)"}}, true),
            "\x1b[1mDEVICE\x1b[m   \x1b[1mHEALTH\x1b[m   \x1b[1mPATH\x1b[m\n"
            "Healthy  \x1b[32mHealthy\x1b[m  /dev/a\n"
            "\x1b[1;33m(none)\x1b[m\n");
}

TEST(Table, MakesColumnsAsWideAsTheirWidestCell) {
  EXPECT_EQ(TextOfTable({{"A", "BB", "C"}, {"1234", "5", "6"}, {"7", "890", "1"}}),
            "A     BB   C\n"
            "1234  5    6\n"
            "7     890  1\n");
}

TEST(Table, WritesNoTrailingBlanks) {
  EXPECT_EQ(TextOfTable({{"A", "B"}, {"long", "wide cell"}, {"x", ""}, {"y"}}),
            "A     B\n"
            "long  wide cell\n"
            "x\n"
            "y\n");
}

TEST(Table, AcceptsRowsOfDifferentLengths) {
  EXPECT_EQ(TextOfTable({{"A"}, {"b", "c", "d"}, {}}),
            "A\n"
            "b  c  d\n"
            "\n");
}

TEST(Table, KeepsEmptyCells) {
  EXPECT_EQ(TextOfTable({{"A", "B", "C"}, {"", "", "x"}}),
            "A  B  C\n"
            "      x\n");
}

TEST(Table, CountsCharactersNotBytes) {
  EXPECT_EQ(TextOfTable({{"Gerät", "x"}, {"abcde", "y"}}),
            "Gerät  x\n"
            "abcde  y\n");
}

TEST(Table, EscapesControlCharacters) {
  const std::string table = TextOfTable({{"NAME"}, {"a\nb\x1b[2J\r\t\x7f"}, {"\xff\xfe"}});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  for (const char c : table) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace patchbay
