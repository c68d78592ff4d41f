#include "base/escape.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::string_literals::operator""s;

TEST(Escape, IsUtf8RejectsInvalidSequences) {
  for (const std::string_view good :
       {"", "abc", "é", "€", "😀", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  const std::string_view bad[] = {
      "\xff",              // not a byte of UTF-8
      "\x80",              // a continuation byte without a leading byte
      "\xC3",              // a leading byte without a continuation byte
      "\xC3(",             //
      "\xC0\x80",          // overlong
      "\xE0\x9F\xBF",      // overlong
      "\xF0\x8F\xBF\xBF",  // overlong
      "\xED\xA0\x80",      // a surrogate
      "\xF4\x90\x80\x80",  // above U+10FFFF
      "\xF5\x80\x80\x80",
      "a\xE2\x82",
  };
  for (const std::string_view text : bad) EXPECT_FALSE(IsUtf8(text));
}

TEST(Escape, IsPrintableRejectsControlAndBidiCharacters) {
  for (const char* text : {"", "plain", "Grüße", "a b"}) EXPECT_TRUE(IsPrintable(text)) << text;
  for (const char* text :
       {"a\nb", "\x1b[2J", "\x7f", "\xff", "caf\xc3", "a\u009b", "\u2028", "a\u202eb", "\u2069"}) {
    EXPECT_FALSE(IsPrintable(text)) << Printable(text);
  }
  EXPECT_FALSE(IsPrintable(std::string_view("a\0b", 3)));
}

TEST(Escape, EscapesInvisibleCharacters) {
  for (const std::string text :
       {"\u200f", "\u200e", "\u061c", "\u200b", "\u200d", "\ufeff", "\u2060", "\u2064", "\u00ad",
        "\u180e", "\u034f", "\u115f", "\u3164", "\uffa0", "\ufff9", "\ufe0f", "\U000E0001",
        "\U000E007F", "\U000E0100"}) {
    EXPECT_FALSE(IsPrintable(text)) << Printable(text);
    EXPECT_EQ(Printable(text).find(text), std::string::npos) << Printable(text);
    EXPECT_EQ(QuoteJson("a" + text + "b").find(text), std::string::npos) << Printable(text);
  }
  // Printable characters next to the ranges above.
  for (const char* text : {"\u00ae", "\u061b", "\u200a", "\u2010", "\u2070", "\u3165", "\ufefc",
                           "\uff9f", "\ufffd", "\U0001D17B", "é", "日本"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
  }
}

TEST(Escape, QuotesForAShell) {
  EXPECT_EQ(QuoteShell("/etc/a-b_c.toml"), "/etc/a-b_c.toml");
  EXPECT_EQ(QuoteShell(""), "''");
  EXPECT_EQ(QuoteShell("my file"), "'my file'");
  EXPECT_EQ(QuoteShell("it's"), "'it'\\''s'");
  for (const char* text :
       {"*", "~", "$x", "`x`", "a;b", "a\nb", "#", "a|b", "\xff", "{a,b}", "!x"}) {
    EXPECT_EQ(QuoteShell(text), std::string("'") + text + "'");
  }
}

TEST(Escape, QuotesForJson) {
  EXPECT_EQ(QuoteJson("a \"b\" \\ /"), R"("a \"b\" \\ /")");
  EXPECT_EQ(QuoteJson("a\nb\t\x7f\0"s), R"("a\nb\u0009\u007f\u0000")");
  EXPECT_EQ(QuoteJson("é😀"), "\"é😀\"");
  EXPECT_EQ(QuoteJson("\u0080\u009f\u00a0\u2027\u2028\u202e\u202f\u205f\u2066\u2069\u2070"),
            "\"\\u0080\\u009f\u00a0\u2027\\u2028\\u202e\u202f\u205f\\u2066\\u2069\u2070\"");
  EXPECT_EQ(QuoteJson("a\U000E0041\U000E0FFF\U000E1000"),
            "\"a\\udb40\\udc41\\udb43\\udfff\U000E1000\"");
  EXPECT_EQ(QuoteJson("\xC3x\xff"), "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
}

TEST(Escape, EscapesJsonDocumentsButNotTheirNewlines) {
  EXPECT_EQ(EscapeJsonDocument("{\n  \"ä\": \"a\u009b\u202e\u007f\U000E0041\uffff\"\n}"),
            "{\n  \"ä\": \"a\\u009b\\u202e\\u007f\\udb40\\udc41\\uffff\"\n}");
}

TEST(Escape, MakesTextPrintable) {
  EXPECT_EQ(Printable("plain é"), "plain é");
  EXPECT_EQ(Printable("\x1b[0m\n\0\xff"s), "\\x1b[0m\\x0a\\x00\\xff");
  EXPECT_EQ(Printable("a\u009b\u2028\u202e\u2066 \u00a0"),
            "a\\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6 \u00a0");
}

TEST(Escape, TruncatesAtCharacterBoundaries) {
  EXPECT_EQ(Truncate("short", 5), "short");
  EXPECT_EQ(Truncate("longer", 5), "longe…");
  EXPECT_EQ(Truncate("aé", 2), "a…");
  EXPECT_EQ(Truncate("\n\n", 1), "\\x0a…");
  EXPECT_EQ(Truncate("\x80\x80\x80", 2), "…");
}

}  // namespace
}  // namespace patchbay
