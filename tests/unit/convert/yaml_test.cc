#include "convert/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/source_file.h"
#include "convert_support.h"

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Read {
  std::vector<YamlValue> documents;
  Diagnostics diagnostics;
};

Read ReadText(const std::string& text) {
  Read read;
  Findings findings(read.diagnostics);
  YamlBudget budget;
  read.documents = ReadYaml(
      text,
      [](int line, int column) {
        return SourceLocation{"in.yaml", line, column};
      },
      budget, findings);
  return read;
}

TEST(YamlTest, ValuesHaveTheirLocation) {
  const Read read = ReadText("a:\n  - b\n  - {c: 'd'}\n---\n~\n");
  ASSERT_EQ(read.documents.size(), 2U);
  const YamlValue list = read.documents[0].Find("A");
  ASSERT_TRUE(list.IsList());
  EXPECT_EQ(list.items()[0].place(), (SourceLocation{"in.yaml", 2, 5}));
  EXPECT_FALSE(list.items()[0].is_quoted());
  const YamlValue quoted = list.items()[1].Find("c");
  EXPECT_EQ(quoted.place(), (SourceLocation{"in.yaml", 3, 9}));
  EXPECT_TRUE(quoted.is_quoted());
  EXPECT_TRUE(read.documents[1].IsNull());
}

TEST(YamlTest, LooksUpAbsentValues) {
  const YamlValue absent = ReadText("a: b\n").documents[0].Find("c").Find("d");
  EXPECT_FALSE(absent);
  EXPECT_TRUE(absent.IsNull() && absent.IsEmpty());
  EXPECT_TRUE(absent.text().empty() && absent.items().empty() && absent.entries().empty());
  EXPECT_FALSE(absent.IsSameAs(YamlValue()));
  EXPECT_EQ(absent.place(), SourceLocation());
}

TEST(YamlTest, AssignmentKeepsTheDocument) {
  const Read read = ReadText("a: b\nc: d\n");
  YamlValue value = read.documents[0].Find("a");
  value = read.documents[0].Find("c");
  EXPECT_EQ(value.text(), "d");
  EXPECT_EQ(read.documents[0].Find("a").text(), "b");
}

TEST(YamlTest, FollowsAliases) {
  const Read read = ReadText("a: &x {b: [1, 2]}\nc: *x\n");
  ASSERT_FALSE(read.diagnostics.HasErrors());
  EXPECT_EQ(read.documents[0].Find("c").Find("b").items().size(), 2U);
}

TEST(YamlTest, AcceptsAnAliasAsAKeyBeforeItsColon) {
  const Read read = ReadText("a: &x-1 b\nlist:\n- *x-1: c\n  *x-1 : d\n*x-1: {e: f}\n");
  EXPECT_THAT(read.diagnostics.RenderText(), HasSubstr("duplicate key \"b\""));
  const Read twice = ReadText("a: &x b\n*x: {e: &y f}\nz: {*y : 1}\n");
  ASSERT_FALSE(twice.diagnostics.HasErrors()) << twice.diagnostics.RenderText();
  const YamlValue value = twice.documents[0].Find("b");
  EXPECT_EQ(value.place().line, 2);
  EXPECT_EQ(value.Find("e").text(), "f");
  EXPECT_EQ(ReadText("*x: 1\n").diagnostics.Sorted().front().place.line, 1);
}

TEST(YamlTest, MergesKeys) {
  const Read read =
      ReadText("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 0}\nd: {'<<': 5}\n");
  ASSERT_FALSE(read.diagnostics.HasErrors());
  EXPECT_EQ(ToJson(read.documents[0].Find("c")), R"({"x": 0, "y": 2, "z": 4})");
  EXPECT_EQ(ToJson(read.documents[0].Find("d")), R"({"<<": 5})");
}

TEST(YamlTest, WritesJson) {
  const Read read = ReadText("a: [1, -1, 010, 'true', true, ~, \"x\\n\"]\nb: {}\n");
  EXPECT_EQ(ToJson(read.documents[0]),
            R"({"a": [1, -1, "010", "true", true, null, "x\n"], "b": {}})");
}

std::string Bomb() {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int n = 1; n < 10; ++n) bomb += ", " + last;
    bomb += "]\n";
  }
  return bomb;
}

TEST(YamlTest, RejectsHostileText) {
  std::string long_text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 10'000; ++i) long_text += ", *a";
  std::string many_documents;
  for (int i = 0; i < 2'000; ++i) many_documents += "---\na\n";
  std::string block;
  for (int i = 0; i < 1'000; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  const std::string texts[] = {"a: [",
                               "a: b: c",
                               "{a",
                               "a: *x",
                               "&a [*a]",
                               "a: &a {b: *a}",
                               "a: 1\na: 2\n",
                               "<<: {a: b}\n",
                               "[a]: b\n",
                               "%YAML 9.9\n---\na\n",
                               "!!",
                               "\t- a",
                               std::string("a\0b", 3),
                               "\xff\xfe\x61\x00",
                               "\x7f\x45\x4c\x46\x80\x90",
                               "a: \"\\ud800\"",
                               Bomb(),
                               long_text + "]\n",
                               many_documents,
                               block,
                               std::string(100'000, '['),
                               std::string(100'000, '{'),
                               std::string(50'000, '-') + " a",
                               std::string(10'000, '?') + " a",
                               [] {
                                 std::string nested;
                                 for (int i = 0; i < 50'000; ++i) nested += "- ";
                                 return nested;
                               }()};
  for (const std::string& text : texts) {
    const std::string shown = text.substr(0, 60);
    for (const auto from :
         {ForeignProgram::kGenericDevicePlugin, ForeignProgram::kSmarterDeviceManager}) {
      const auto outcome = test::Converted(from, text);
      EXPECT_EQ(outcome.toml, "") << shown;
      EXPECT_THAT(outcome.findings, HasSubstr(" error ")) << shown;
    }
  }
  for (std::size_t i : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 8U, 12U, 13U, 16U, 17U, 18U, 19U, 20U}) {
    EXPECT_TRUE(ReadText(texts[i]).diagnostics.HasErrors()) << texts[i].substr(0, 60);
  }
}

TEST(YamlTest, LimitsTheDepthOfAliases) {
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
    // The document is a map, which is one level.
    const Read read = ReadText(chain);
    EXPECT_EQ(read.diagnostics.HasErrors(), i + 2 > 64) << i;
    if (i == 99) {
      EXPECT_THAT(read.diagnostics.RenderText(), HasSubstr("nested too deeply"));
    }
  }
}

/// yaml-cpp 0.7 begins a new document at such a line.
TEST(YamlTest, RejectsTextBehindADocument) {
  for (const std::string text :
       {"- a: b\nc: d\n", "- a\nb: c\n", "a: b\n- c\n", "[a]\nb: c\n", "{a: b}\nc\n"}) {
    const Read read = ReadText(text);
    EXPECT_TRUE(read.diagnostics.HasErrors()) << text;
    EXPECT_TRUE(read.documents.empty()) << text;
  }
  for (const std::string text : {"- a\n---\nb: c\n", "--- a\n--- b\n",
                                 "%YAML 1.2\n---\na: b\n...\n---\nc\n", "---\n---\n"}) {
    const Read read = ReadText(text);
    EXPECT_EQ(read.diagnostics.RenderText(), "") << text;
    EXPECT_EQ(read.documents.size(), 2U) << text;
  }
}

TEST(YamlTest, HintOfSyntaxErrorsDependsOnTheText) {
  const auto hint = [](const std::string& text) {
    const Read read = ReadText(text);
    return read.diagnostics.empty() ? "" : read.diagnostics.Sorted().front().hint;
  };
  EXPECT_THAT(hint("a:\n{{- if .Values.b }}\n  c: d\n"), HasSubstr("`helm template`"));
  for (const std::string text :
       {"\t- a", "a:\n\tb: c\n", "a:\n  b: c\n\td: e\n", "- a\n \t- b: c\n"}) {
    EXPECT_THAT(hint(text), StartsWith("YAML does not allow tabs")) << text;
  }
  for (const std::string text : {"a: [", "{name: x1, groups: [{paths: }", "- {a\n", "a: b: c"}) {
    EXPECT_THAT(hint(text), StartsWith("check for a missing bracket")) << text;
  }
}

TEST(YamlTest, RejectsFilesThatAreTooLarge) {
  const auto outcome =
      test::Converted(ForeignProgram::kGenericDevicePlugin, std::string(kLargestSource + 1, '['));
  EXPECT_EQ(outcome.findings, "0:0 error the file is larger than 1048576 bytes\n");
}

TEST(YamlTest, RejectsOutputThatWouldBeTooLarge) {
  // The output is larger than the input, because it has a comment for each directory.
  std::string devices = "domain: a.com\ndevices:\n";
  for (int i = 0; i < 6'000; ++i) {
    devices += "- {name: x" + std::to_string(i) + ", groups: [{paths: [{path: /dev/snd}]}]}\n";
  }
  ASSERT_LT(devices.size(), kLargestSource);
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, devices);
  EXPECT_THAT(outcome.findings, StartsWith("0:0 error the converted file would have "));
  EXPECT_THAT(outcome.findings, HasSubstr(" bytes; the limit is 1048576"));
  EXPECT_EQ(outcome.toml, "");
}

/// The location of each text is searched for in the file. The time must not grow with the product
/// of the number of texts and the number of lines.
TEST(YamlTest, LocatesErrorsInConfigMapsWithManyTexts) {
  std::string text = "kind: ConfigMap\ndata:\n";
  for (int i = 0; i < 45'000; ++i) text += "  k" + std::to_string(i) + ": |\n    a: b\n";
  text += "  last: |\n    devices:\n    - name: [x]\n";
  ASSERT_LT(text.size(), kLargestSource);
  EXPECT_THAT(test::Converted(ForeignProgram::kGenericDevicePlugin, text).findings,
              HasSubstr("90005:13 error `name` must be a string"));
}

TEST(YamlTest, LimitsTheNumberOfFindings) {
  std::string text = "devices:\n";
  for (int i = 0; i < 1'000; ++i) text += "- 1\n";
  const auto outcome = test::Converted(ForeignProgram::kGenericDevicePlugin, text);
  EXPECT_THAT(outcome.findings, HasSubstr("error more than 200 findings"));
  EXPECT_LT(std::count(outcome.findings.begin(), outcome.findings.end(), '\n'), 210);
}

TEST(YamlTest, MapsLocationsInBlocksToTheFile) {
  const std::string source =
      "block: |\n"
      "  one\n"
      "  two\n"
      "folded: >\n"
      "  one\n"
      "  two\n"
      "quoted: 'one'\n";
  const Read read = ReadText(source);
  const TextLines lines = LinesOf(source);
  const auto at = [&](const char* key, int line, int column) {
    const YamlValue text = read.documents[0].Find(key);
    const SourceLocation place = PlacesIn(text.text(), text.place(), lines)(line, column);
    return std::pair(place.line, place.column);
  };
  EXPECT_EQ(at("block", 2, 2), std::pair(3, 4));
  EXPECT_EQ(at("folded", 1, 5), std::pair(4, 9));
  EXPECT_EQ(at("quoted", 1, 1), std::pair(7, 10));
  EXPECT_EQ(at("quoted", 9, 1), std::pair(7, 9));
}

}  // namespace
}  // namespace patchbay
