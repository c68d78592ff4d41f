#include "discovery/command_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/escape.h"
#include "support/sanitizer.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

CommandList Parse(std::string_view text) {
  auto list = ParseCommandOutput(text);
  EXPECT_TRUE(list) << list.error().message;
  return list ? std::move(*list) : CommandList();
}

/// Returns the entry of an output with one entry.
CommandEntry One(std::string_view entry) {
  CommandList list = Parse("[" + std::string(entry) + "]");
  for (const CommandProblem& problem : list.problems) ADD_FAILURE() << problem.message;
  EXPECT_THAT(list.entries, SizeIs(1));
  return list.entries.empty() ? CommandEntry() : std::move(list.entries.front());
}

/// Returns the problem of the second of three entries. The others must be kept.
CommandProblem ProblemOf(std::string_view entry) {
  const CommandList list = Parse(R"([{"id": "first"}, )" + std::string(entry) +
                                 R"(, {"id": "last", "paths": ["/dev/last"]}])");
  EXPECT_THAT(list.entries, SizeIs(2)) << entry;
  EXPECT_THAT(list.problems, SizeIs(1)) << entry;
  if (list.entries.size() != 2 || list.problems.size() != 1) return {};
  EXPECT_EQ(list.entries[0].id, "first");
  EXPECT_EQ(list.entries[1].id, "last");
  EXPECT_THAT(list.entries[1].paths, ElementsAre("/dev/last"));
  EXPECT_EQ(list.problems[0].entry, 2u);
  return list.problems[0];
}

std::string ErrorOf(std::string_view text) {
  const auto list = ParseCommandOutput(text);
  EXPECT_FALSE(list) << Printable(text);
  if (list) return "";
  EXPECT_EQ(list.error().kind, ErrorKind::kInvalid);
  return list.error().message;
}

/// Returns `item` repeated `count` times, with commas; `#` in it is replaced by the number.
std::string Repeat(std::string_view item, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    for (const char c : item) text += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return text;
}

TEST(CommandOutput, ReadsACompleteEntry) {
  const CommandEntry entry = One(R"({
    "id": "port 1/ä", "paths": ["/dev/ttyS1", "/dev/by-id/x"], "numa_node": 1,
    "vars": {"speed": 9600, "label": "a \"b\"", "up": true, "_x9": false, "empty": ""}
  })");
  EXPECT_EQ(entry.id, "port 1/ä");
  EXPECT_THAT(entry.paths, ElementsAre("/dev/ttyS1", "/dev/by-id/x"));
  EXPECT_EQ(entry.numa_node, 1);
  EXPECT_THAT(entry.vars,
              ElementsAre(Pair("_x9", "false"), Pair("empty", ""), Pair("label", "a \"b\""),
                          Pair("speed", "9600"), Pair("up", "true")));
}

TEST(CommandOutput, RequiresOnlyTheId) {
  for (const std::string_view text :
       {R"({"id": "a"})", R"({"id": "a", "paths": []})", R"({"id": "a", "vars": {}})",
        R"({"id": "a", "numa_node": null})", R"({"id": "a", "numa_node": -1})",
        R"({"numa_node": null, "vars": {}, "paths": [], "id": "\u0061"})"}) {
    const CommandEntry entry = One(text);
    EXPECT_EQ(entry.id, "a");
    EXPECT_THAT(entry.paths, IsEmpty());
    EXPECT_EQ(entry.numa_node, std::nullopt);
    EXPECT_THAT(entry.vars, IsEmpty());
  }
}

TEST(CommandOutput, ReadsTheHealthOfADevice) {
  EXPECT_EQ(One(R"({"id": "a", "healthy": false, "reason": "no link"})").unhealthy, "no link");
  EXPECT_EQ(One(R"({"reason": "no link", "healthy": false, "id": "a"})").unhealthy, "no link");
  EXPECT_THAT(One(R"({"id": "a", "healthy": false})").unhealthy, HasSubstr("its command"));
  EXPECT_THAT(One(R"({"id": "a", "healthy": false, "reason": null})").unhealthy,
              HasSubstr("its command"));
  EXPECT_EQ(One(R"({"id": "a", "healthy": true, "reason": "up"})").unhealthy, "");
  EXPECT_THAT(ProblemOf(R"({"id": "a", "healthy": "no"})").message,
              HasSubstr(R"("healthy" that is a string; print true or false)"));
  EXPECT_THAT(ProblemOf(R"({"id": "a", "healthy": false, "reason": 3})").message,
              HasSubstr(R"("reason" that is a number; print a string)"));
  EXPECT_THAT(ProblemOf("{\"id\": \"a\", \"healthy\": false, \"reason\": \"\\u0007\"}").message,
              HasSubstr(R"("reason" that contains a control character)"));
}

TEST(CommandOutput, AcceptsAnEmptyList) {
  for (const std::string_view text : {"[]", " [ ]\n", "\r\n[\n\t]\r\n", "\xEF\xBB\xBF[]"}) {
    const CommandList list = Parse(text);
    EXPECT_THAT(list.entries, IsEmpty());
    EXPECT_THAT(list.problems, IsEmpty());
  }
}

TEST(CommandOutput, KeepsTheOrderAndEqualIds) {
  const CommandList list = Parse(R"([{"id": "b"}, {"id": "a"}, {"id": "b"}])");
  ASSERT_THAT(list.entries, SizeIs(3));
  EXPECT_EQ(list.entries[0].id, "b");
  EXPECT_EQ(list.entries[1].id, "a");
  EXPECT_EQ(list.entries[2].id, "b");
}

TEST(CommandOutput, EntriesDoNotShareState) {
  const CommandList list = Parse(
      R"([{"id": "a", "paths": ["/dev/a"], "numa_node": 3, "vars": {"x": 1}}, {"id": "b"}, {}])");
  ASSERT_THAT(list.entries, SizeIs(2));
  EXPECT_THAT(list.entries[1].paths, IsEmpty());
  EXPECT_EQ(list.entries[1].numa_node, std::nullopt);
  EXPECT_THAT(list.entries[1].vars, IsEmpty());
  ASSERT_THAT(list.problems, SizeIs(1));
  EXPECT_EQ(list.problems[0].id, "");
}

TEST(CommandOutput, WritesNumbersInTheirShortestForm) {
  struct Case {
    std::string_view number;
    std::string_view text;
  };
  const Case cases[] = {
      {"0", "0"},
      {"-17", "-17"},
      {"9.5", "9.5"},
      {"0.10", "0.1"},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"},
  };
  for (const Case& c : cases) {
    const CommandEntry entry = One(R"({"id": "a", "vars": {"x": )" + std::string(c.number) + "}}");
    EXPECT_THAT(entry.vars, ElementsAre(Pair("x", c.text)));
  }
}

TEST(CommandOutput, InvalidEntryDoesNotAffectOthers) {
  struct Case {
    std::string_view entry;
    std::string_view message;  ///< after "entry 2 "
  };
  const Case cases[] = {
      {R"("a")", R"(is a string, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {"7", R"(is a number, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {"7.5", R"(is a number, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {"null", R"(is null, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {"true", R"(is a boolean, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {R"([{"id": "a", "id": {}}])",
       R"(is an array, not an object; print {"id": "…", "paths": ["/dev/…"]})"},
      {"{}", R"(has no "id"; print {"id": "…", "paths": ["/dev/…"]})"},
      {R"({"paths": ["/dev/a"]})", R"(has no "id"; print {"id": "…", "paths": ["/dev/…"]})"},
      {R"({"id": 7})", R"(has an "id" that is a number; print a string)"},
      {R"({"id": null})", R"(has an "id" that is null; print a string)"},
      {R"({"id": ["a"]})", R"(has an "id" that is an array; print a string)"},
      {R"({"id": ""})", R"(has an "id" that is empty; print a name that is unique to this device)"},
      {R"({"id": "a\nb"})", R"(has an "id" that contains a control character; remove it)"},
      {R"({"id": "a\u0000b"})", R"(has an "id" that contains a control character; remove it)"},
      {R"({"id": "a", "path": ["/dev/a"]})",
       R"(has the unknown key "path"; did you mean "paths"?)"},
      {R"({"id": "a", "color": {"x": [[1]]}})",
       R"(has the unknown key "color"; put additional values in "vars")"},
      {R"({"id": "a", "\u001b[2J": 1})",
       R"(has the unknown key "\x1b[2J"; put additional values in "vars")"},
      {R"({"id": "a", "paths": "/dev/a"})",
       R"(has "paths" that are a string; print an array, as in ["/dev/…"])"},
      {R"({"id": "a", "paths": null})",
       R"(has "paths" that are null; print an array, as in ["/dev/…"])"},
      {R"({"id": "a", "paths": {"x": 1}})",
       R"(has "paths" that are an object; print an array, as in ["/dev/…"])"},
      {R"({"id": "a", "paths": ["/dev/a", 7]})",
       R"(has a number among its "paths"; print strings)"},
      {R"({"id": "a", "paths": [["/dev/a"]]})", R"(has an array among its "paths"; print strings)"},
      {R"({"id": "a", "paths": ["dev/a"]})",
       R"(has the path "dev/a", which is not absolute; print an absolute path, as in /dev/ttyS0)"},
      {R"({"id": "a", "paths": [""]})",
       R"(has the path "", which is not absolute; print an absolute path, as in /dev/ttyS0)"},
      {R"({"id": "a", "paths": ["/dev/../etc/shadow"]})",
       R"(has the path "/dev/../etc/shadow", which has "//", "." or ".." in it, or ends with "/"; remove it)"},
      {R"({"id": "a", "paths": ["/dev/a/"]})",
       R"(has the path "/dev/a/", which has "//", "." or ".." in it, or ends with "/"; remove it)"},
      {R"({"id": "a", "paths": ["/dev/\u0000"]})",
       R"(has the path "/dev/\x00", which contains a control character; remove it)"},
      {R"({"id": "a", "paths": ["/dev/a", "/dev/b", "/dev/a"]})",
       R"(has the path "/dev/a" twice; print it once)"},
      {R"({"id": "a", "numa_node": "0"})",
       R"(has a "numa_node" that is a string; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "numa_node": 0.5})",
       R"(has a "numa_node" that is 0.5; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "numa_node": 64})",
       R"(has a "numa_node" that is 64; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "numa_node": -2})",
       R"(has a "numa_node" that is -2; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "numa_node": 4294967296})",
       R"(has a "numa_node" that is 4294967296; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "numa_node": [0]})",
       R"(has a "numa_node" that is an array; print a number from 0 to 63, or null)"},
      {R"({"id": "a", "vars": ["x"]})",
       R"(has "vars" that are an array; print an object, as in {"name": "…"})"},
      {R"({"id": "a", "vars": {"": 1}})",
       R"(has a variable ""; a name is at most 64 letters, digits and "_", and does not begin with a digit)"},
      {R"({"id": "a", "vars": {"9x": 1}})",
       R"(has a variable "9x"; a name is at most 64 letters, digits and "_", and does not begin with a digit)"},
      {R"({"id": "a", "vars": {"a-b": 1}})",
       R"(has a variable "a-b"; a name is at most 64 letters, digits and "_", and does not begin with a digit)"},
      {R"({"id": "a", "vars": {"ä": 1}})",
       R"(has a variable "ä"; a name is at most 64 letters, digits and "_", and does not begin with a digit)"},
      {R"({"id": "a", "vars": {"path": "/dev/a"}})",
       R"(has a variable "path", which is a built-in variable; print another name)"},
      {R"({"id": "a", "vars": {"x": null}})",
       R"(has a variable "x" that is null; print a string, a number, true or false)"},
      {R"({"id": "a", "vars": {"x": {"y": {"id": 1}}}})",
       R"(has a variable "x" that is an object; print a string, a number, true or false)"},
      {R"({"id": "a", "vars": {"x": [1, {}]}})",
       R"(has a variable "x" that is an array; print a string, a number, true or false)"},
      {R"({"id": "a", "vars": {"x": "a\u007f"}})",
       R"(has a variable "x" that contains a control character; remove it)"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ProblemOf(c.entry).message, "entry 2 " + std::string(c.message)) << c.entry;
  }
}

TEST(CommandOutput, ProblemsContainTheIdOfTheEntry) {
  EXPECT_EQ(ProblemOf(R"({"id": "card0", "paths": 1})").id, "card0");
  EXPECT_EQ(ProblemOf(R"({"paths": 1, "id": "card0"})").id, "card0");
}

TEST(CommandOutput, ReportsOnlyTheFirstProblemOfAnEntry) {
  EXPECT_EQ(ProblemOf(R"({"id": 1, "paths": 2, "nonsense": 3})").message,
            R"(entry 2 has an "id" that is a number; print a string)");
}

TEST(CommandOutput, EnforcesEveryLimit) {
  const std::string longest(4096, 'x');
  const std::string path = "/" + std::string(4095, 'x');
  const std::string name(64, 'x');
  EXPECT_EQ(One(R"({"id": ")" + longest + R"("})").id, longest);
  EXPECT_THAT(One(R"({"id": "a", "paths": [")" + path + R"("]})").paths, ElementsAre(path));
  EXPECT_THAT(One(R"({"id": "a", "vars": {")" + name + R"(": ")" + longest + R"("}})").vars,
              ElementsAre(Pair(name, longest)));
  EXPECT_THAT(One(R"({"id": "a", "paths": [)" + Repeat(R"("/dev/#")", 64) + "]}").paths,
              SizeIs(64));
  EXPECT_THAT(One(R"({"id": "a", "vars": {)" + Repeat(R"("x#": #)", 64) + "}}").vars, SizeIs(64));

  const std::string shown(60, 'x');
  EXPECT_EQ(ProblemOf(R"({"id": ")" + longest + R"(x"})").message,
            R"(entry 2 has an "id" that is longer than 4096 bytes; print less)");
  EXPECT_EQ(ProblemOf(R"({"id": "a", "paths": [")" + path + R"(x"]})").message,
            "entry 2 has the path \"/" + shown.substr(1) +
                "…\", which is longer than 4096 bytes; print less");
  EXPECT_EQ(ProblemOf(R"({"id": "a", "vars": {"y": ")" + longest + R"(x"}})").message,
            R"(entry 2 has a variable "y" that is longer than 4096 bytes; print less)");
  EXPECT_THAT(ProblemOf(R"({"id": "a", "vars": {")" + name + R"(x": 1}})").message,
              HasSubstr("has a variable \"" + shown + "…\"; a name is at most 64"));
  EXPECT_EQ(ProblemOf(R"({"id": "a", "paths": [)" + Repeat(R"("/dev/#")", 65) + "]}").message,
            "entry 2 has more than 64 paths; print several entries");
  EXPECT_EQ(ProblemOf(R"({"id": "a", "vars": {)" + Repeat(R"("x#": #)", 65) + "}}").message,
            "entry 2 has more than 64 variables; print fewer");
}

TEST(CommandOutput, AcceptsTenThousandEntriesButNotMore) {
  EXPECT_THAT(Parse("[" + Repeat(R"({"id": "#"})", 10'000) + "]").entries, SizeIs(10'000));
  EXPECT_THAT(Parse("[" + Repeat("#", 10'000) + "]").problems, SizeIs(10'000));
  EXPECT_EQ(ErrorOf("[" + Repeat(R"({"id": "#"})", 10'001) + "]"),
            "the output has more than 10000 entries; print fewer");
  EXPECT_EQ(ErrorOf("[" + Repeat("#", 10'001) + "]"),
            "the output has more than 10000 entries; print fewer");
}

constexpr std::string_view kPrintAnArray =
    R"(; print one array, as in [{"id": "…", "paths": ["/dev/…"]}], and everything else to stderr)";

TEST(CommandOutput, LocatesInvalidJson) {
  const std::pair<std::string, std::string> cases[] = {
      {"loading ports\n[]", "is not valid JSON at line 1, column 1"},
      {"[]\nthat was all\n", "is not valid JSON at line 2, column 2"},
      {"[{\"id\": \"a\"},\n]", "is not valid JSON at line 2, column 1"},
      {"[NaN]", "is not valid JSON at line 1, column 2"},
      {"[] []", "is not valid JSON at line 1, column 4"},
      {"{\"id\": \"a\"}\n{\"id\": \"b\"}\n", "is not valid JSON at line 2, column 1"},
      {"[\n{\"id\": \"a\"},\n", "ends at line 3, column 1, before the JSON does"},
      {"[{\"id\": \"a", "ends at line 1, column 11, before the JSON does"},
      {"[\n\"\xff\"]", "is not valid UTF-8 at line 2, column 2"},
      {std::string("[\n{}\n]\n\0[]", 10), "has a NUL byte at line 4, column 1"},
      {R"([{"id": "a", "vars": {"x": 1e999}}])", "has a number that is too large"},
      {std::string(2'000'000, '['), "is nested deeper than 16 levels"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ErrorOf(text), "the output " + message + std::string(kPrintAnArray));
  }
  EXPECT_EQ(ProblemOf(std::string(15, '[') + std::string(15, ']')).message.substr(0, 22),
            "entry 2 is an array, n");
}

TEST(CommandOutput, RejectsJsonThatIsNotAnArray) {
  constexpr std::string_view kPrint = R"(, not an array; print [{"id": "…", "paths": ["/dev/…"]}])";
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  const Case cases[] = {
      {R"({"id": "a"})", "an object"},
      {R"("/dev/a")", "a string"},
      {"null", "null"},
      {"17", "a number"},
      {"false", "a boolean"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ErrorOf(c.text), "the output is " + std::string(c.message) + std::string(kPrint));
  }
}

TEST(CommandOutput, RejectsEmptyAndLongOutput) {
  for (const std::string_view nothing : {"", " ", "\n\n", "\t\r\n"}) {
    EXPECT_EQ(ErrorOf(nothing), "the command printed nothing; print [] when there is no device");
  }
  EXPECT_EQ(ErrorOf("[" + std::string(kMaxCommandOutput, ' ') + "]"),
            "the output has more than 4194304 bytes; print less");
}

TEST(CommandOutput, MessagesAreShortAndPrintable) {
  for (const std::string_view part : {"x", "\x1b", "ä", "\""}) {
    std::string junk;
    const auto size = static_cast<std::size_t>(test::Cases(1'000'000));
    while (junk.size() < size) junk += part;
    for (const std::string& text :
         {junk, "[\"" + junk, "[{\"" + QuoteJson(junk).substr(1) + ": 1}]",
          "[{\"id\": \"a\", \"paths\": [" + QuoteJson(junk) + "]}]",
          "[{\"id\": \"a\", \"vars\": {" + QuoteJson(junk) + ": 1}}]"}) {
      const auto list = ParseCommandOutput(text);
      std::string message;
      if (!list) {
        message = list.error().message;
      } else if (!list->problems.empty()) {
        message = list->problems[0].message;
      }
      EXPECT_LT(message.size(), 1024u);
      EXPECT_EQ(Printable(message), message);
    }
  }
}

/// Any part of a valid output, and any with one byte changed, is parsed or rejected with a message.
TEST(CommandOutput, HandlesCorruptOutput) {
  const std::string good =
      R"([{"id": "p1", "paths": ["/dev/ttyS1"], "numa_node": 0, "vars": {"s": 9.5, "u": true}},)"
      R"( {"id": "p\u00e4", "vars": {"label": "a\\b"}}])";
  ASSERT_THAT(Parse(good).entries, SizeIs(2));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(ErrorOf(std::string_view(good).substr(0, size)), "");
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto list = ParseCommandOutput(text);
    if (list) {
      EXPECT_EQ(list->entries.size() + list->problems.size(), 2u) << text;
    } else {
      EXPECT_NE(list.error().message, "");
    }
  }
}

}  // namespace
}  // namespace patchbay
