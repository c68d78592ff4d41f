#include "base/diagnostics.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

Diagnostic At(std::string file, int line, int column, std::string_view code = "some-code",
              Severity severity = Severity::kError) {
  return {severity, code, {std::move(file), line, column}, "it is wrong", ""};
}

TEST(Diagnostics, RenderInCompilerFormat) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a.toml", "first\n\tkey = 1\r\n");
  diagnostics.Add({Severity::kWarning, "odd-key", {"a.toml", 2, 2}, "odd \x1b[31m", "use another"});
  EXPECT_EQ(diagnostics.RenderText(),
            "a.toml:2:2: warning[odd-key]: odd \\x1b[31m\n"
            "    \tkey = 1\n"
            "    \t^\n"
            "    hint: use another\n");
  EXPECT_EQ(diagnostics.RenderText(true),
            "\x1b[1ma.toml:2:2:\x1b[m \x1b[1;33mwarning[odd-key]:\x1b[m odd \\x1b[31m\n"
            "    \tkey = 1\n"
            "    \t\x1b[32m^\x1b[m\n"
            "    \x1b[36mhint:\x1b[m use another\n");
}

TEST(Diagnostics, AlignCaretsByCharacterNotByte) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a", "éé x");
  diagnostics.Add(At("a", 1, 6));
  EXPECT_EQ(diagnostics.RenderText(), "a:1:6: error[some-code]: it is wrong\n    éé x\n       ^\n");
}

TEST(Diagnostics, QuoteNoLineForWholeOrUnknownFiles) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a", "text");
  diagnostics.Add(At("a", 0, 0));
  diagnostics.Add(At("a", 9, 1));
  diagnostics.Add(At("b", 1, 1));
  EXPECT_EQ(diagnostics.RenderText(),
            "a: error[some-code]: it is wrong\n"
            "a:9:1: error[some-code]: it is wrong\n"
            "b:1:1: error[some-code]: it is wrong\n");
}

TEST(Diagnostics, TruncateLongQuotedLines) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a", std::string(5000, 'x') + "!" + std::string(100000, 'y'));
  diagnostics.Add(At("a", 1, 5001));
  const std::string text = diagnostics.RenderText();
  EXPECT_LT(text.size(), 1000u);
  const auto line = text.find("\n    ") + 5;
  const auto caret = text.find('^');
  EXPECT_EQ(text[line + (caret - text.rfind('\n', caret) - 5)], '!');
}

TEST(Diagnostics, EscapeInvalidUtf8InQuotedLines) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a", "x\xff");
  diagnostics.Add(At("a", 1, 2));
  EXPECT_NE(diagnostics.RenderText().find("    x\\xff\n"), std::string::npos);
}

TEST(Diagnostics, EscapeTerminalSequencesFromInput) {
  Diagnostics diagnostics;
  diagnostics.AddSource("a\x1b[2J.toml", "# \x1b[2J\tx\n");
  diagnostics.Add({Severity::kError, "code", {"a\x1b[2J.toml", 1, 8}, "wrong", ""});
  EXPECT_EQ(diagnostics.RenderText(),
            "a\\x1b[2J.toml:1:8: error[code]: wrong\n"
            "    # \\x1b[2J\tx\n"
            "             \t^\n");
}

TEST(Diagnostics, SortByFileOrderThenLineThenColumn) {
  Diagnostics diagnostics;
  diagnostics.AddSource("b", "");
  diagnostics.AddSource("a", "");
  for (const Diagnostic& d : {At("a", 1, 1), At("b", 2, 1), At("b", 1, 7), At("b", 1, 2)}) {
    diagnostics.Add(d);
  }
  std::string order;
  for (const Diagnostic& d : diagnostics.Sorted()) {
    order += d.place.file + std::to_string(d.place.line) + std::to_string(d.place.column) + " ";
  }
  EXPECT_EQ(order, "b12 b17 b21 a11 ");
}

TEST(Diagnostics, WarningsDoNotCountAsErrors) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  diagnostics.Add(At("a", 1, 1, "c", Severity::kWarning));
  EXPECT_FALSE(diagnostics.HasErrors());
  diagnostics.Add(At("a", 1, 1));
  EXPECT_TRUE(diagnostics.HasErrors());
}

TEST(Nearest, FindsTheClosestWordForTypos) {
  constexpr std::string_view kWords[] = {"name", "replicas", "container_path", "host_path"};
  struct Case {
    std::string_view word, nearest;
  };
  const Case cases[] = {
      {"nam", "name"},
      {"nmae", "name"},
      {"NAME", "name"},
      {"container_pth", "container_path"},
      {"replica", "replicas"},
      {"hostpath", "host_path"},
      {"x", ""},
      {"topology", ""},
      {"", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(Nearest(c.word, kWords), c.nearest) << c.word;
}

}  // namespace
}  // namespace patchbay
