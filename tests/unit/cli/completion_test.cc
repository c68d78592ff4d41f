#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_support.h"

namespace patchbay {
namespace {

using test::RunCli;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Kind = Completion::Kind;

const std::vector<CommandInfo> kCommands = {
    {"", "", {{"-h", "--help", "", "print this help"}, {"", "--version", "", "print the version"}}},
    {"check",
     "check a file",
     {{"-o", "--output", "table|json|yaml", "format"},
      {"-c", "--config", "PATH", ""},
      {"", "--host-root", "DIR", ""},
      {"", "--strict", "", ""}},
     {{.name = "file", .value = "FILE", .repeats = true}}},
    {"allocate",
     "show a response",
     {{"-c", "--config", "PATH", ""}, {"", "--count", "N", ""}},
     {{.name = "resource", .value = "RESOURCE"}, {.name = "id", .value = "ID", .repeats = true}}},
    {"completion", "print a script", {}, {{.name = "shell", .value = "bash|zsh"}}},
};

/// Completes the last word. The resources of a configuration have its name in their own.
Completion Of(std::vector<std::string> words) {
  return Complete(std::move(words), kCommands, [](const std::string& config) {
    return std::vector<std::string>{"a.com/" + config + "-1", "b.com/" + config + "-2"};
  });
}

/// Returns the words without their descriptions.
std::vector<std::string> Words(std::vector<std::string> words) {
  std::vector<std::string> found;
  for (auto& [word, description] : Of(std::move(words)).words) found.push_back(word);
  return found;
}

TEST(Complete, CompletesCommandsAndOptions) {
  EXPECT_THAT(Of({""}).words,
              ElementsAre(Pair("check", "check a file"), Pair("allocate", "show a response"),
                          Pair("completion", "print a script")));
  EXPECT_THAT(Words({"c"}), ElementsAre("check", "completion"));
  EXPECT_THAT(Of({"--v"}).words, ElementsAre(Pair("--version", "print the version")));
  EXPECT_THAT(Words({"check", "-"}),
              ElementsAre("--output", "--config", "--host-root", "--strict"));
  EXPECT_THAT(Words({"check", "--h"}), ElementsAre("--host-root"));
  EXPECT_THAT(Words({"chekc", "-"}), IsEmpty());
  EXPECT_THAT(Words({}), IsEmpty());
}

TEST(Complete, CompletesTheValuesOfOptions) {
  EXPECT_THAT(Words({"check", "--output", ""}), ElementsAre("table", "json", "yaml"));
  EXPECT_THAT(Words({"check", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Words({"check", "--output=y"}), ElementsAre("yaml"));
  EXPECT_THAT(Words({"check", "--output", "=", "t"}), ElementsAre("table"));
  EXPECT_THAT(Words({"check", "--output", "="}), ElementsAre("table", "json", "yaml"));
  EXPECT_EQ(Of({"check", "--config", ""}).kind, Kind::kFiles);
  EXPECT_EQ(Of({"check", "--host-root=/x"}).kind, Kind::kDirectories);
  EXPECT_THAT(Words({"allocate", "--count", ""}), IsEmpty());
  EXPECT_THAT(Words({"check", "--strict=", ""}), IsEmpty());
}

TEST(Complete, CompletesPositionalArguments) {
  EXPECT_EQ(Of({"check", ""}).kind, Kind::kFiles);
  EXPECT_EQ(Of({"check", "a", "--strict", "b"}).kind, Kind::kFiles) << "repeats";
  EXPECT_THAT(Words({"completion", ""}), ElementsAre("bash", "zsh"));
  EXPECT_EQ(Of({"completion", "bash", ""}).kind, Kind::kWords);
  EXPECT_THAT(Words({"completion", "bash", ""}), IsEmpty()) << "only one";
  EXPECT_THAT(Words({"allocate", "a.com/-1", ""}), IsEmpty()) << "an ID is not known";
}

TEST(Complete, CompletesResourcesOfTheConfiguration) {
  EXPECT_THAT(Words({"allocate", ""}), ElementsAre("a.com/-1", "b.com/-2"));
  EXPECT_THAT(Words({"allocate", "b"}), ElementsAre("b.com/-2"));
  EXPECT_THAT(Words({"allocate", "-c", "x", ""}), ElementsAre("a.com/x-1", "b.com/x-2"));
  EXPECT_THAT(Words({"allocate", "--config=x", "a"}), ElementsAre("a.com/x-1"));
  EXPECT_THAT(Words({"allocate", "--config", "=", "x", "a"}), ElementsAre("a.com/x-1"));
}

TEST(CompletionCommand, PrintsTheKindAndTheWords) {
  EXPECT_EQ(RunCli({"__complete", "completion", ""}).out, "words\nbash\nzsh\nfish\n");
  EXPECT_EQ(RunCli({"__complete", "check", "x"}).out, "files\n");
  EXPECT_EQ(RunCli({"__complete", "run", "--host-root", ""}).out, "directories\n");
  EXPECT_EQ(RunCli({"__complete", "versio"}).out, "words\nversion\tprint the version\n");
}

}  // namespace
}  // namespace patchbay
