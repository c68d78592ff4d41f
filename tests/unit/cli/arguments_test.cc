#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "base/format.h"
#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::Argv;
using test::RunCli;
using test::ScopedEnv;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ArgumentsTest : public testing::Test {
 protected:
  /// Parses a valid command line.
  Arguments Parse(const std::vector<std::string>& arguments) {
    const auto argv = Argv(arguments);
    std::ostringstream out, err;
    const auto parsed =
        ParseArguments(static_cast<int>(argv.size()), argv.data(), Streams{out, err});
    EXPECT_TRUE(std::holds_alternative<Arguments>(parsed)) << err.str();
    EXPECT_EQ(out.str() + err.str(), "");
    const auto* result = std::get_if<Arguments>(&parsed);
    return result != nullptr ? *result : Arguments();
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", std::nullopt};
  test::TempTree tree_;
};

TEST_F(ArgumentsTest, HasTheDocumentedDefaults) {
  for (const char* command : {"run", "check", "devices", "try"}) {
    const Arguments arguments = Parse({command});
    EXPECT_EQ(arguments.command, command);
    EXPECT_EQ(arguments.config, "/etc/patchbay");
    EXPECT_EQ(arguments.output, Output::kTable);
    EXPECT_EQ(arguments.log_format, LogFormat::kText);
    EXPECT_EQ(arguments.log_level, std::nullopt);
    EXPECT_EQ(arguments.host_root, std::nullopt);
    EXPECT_EQ(arguments.listen, std::nullopt);
    EXPECT_EQ(arguments.kubelet_dir, std::nullopt);
    EXPECT_EQ(arguments.count, std::nullopt);
    EXPECT_FALSE(arguments.strict || arguments.once);
    EXPECT_THAT(arguments.files, IsEmpty());
  }
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfRun) {
  const Arguments arguments =
      Parse({"run", "--config", "/a", "--host-root", tree_.path(), "--listen", "127.0.0.1:1",
             "--kubelet-dir", "/b", "--log-level", "debug", "--log-format", "json",
             "--allow-other-server"});
  EXPECT_TRUE(arguments.allows_other_server);
  EXPECT_EQ(arguments.command, "run");
  EXPECT_EQ(arguments.config, "/a");
  EXPECT_EQ(arguments.host_root, tree_.path());
  EXPECT_EQ(arguments.listen, "127.0.0.1:1");
  EXPECT_EQ(arguments.kubelet_dir, "/b");
  EXPECT_EQ(arguments.log_level, LogLevel::kDebug);
  EXPECT_EQ(arguments.log_format, LogFormat::kJson);
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfTry) {
  const Arguments arguments =
      Parse({"try", "-c", "/a", "--host-root", tree_.path(), "--listen", "[::1]:0", "--once",
             "--log-level", "error", "--log-format", "text"});
  EXPECT_EQ(arguments.config, "/a");
  EXPECT_EQ(arguments.host_root, tree_.path());
  EXPECT_EQ(arguments.listen, "[::1]:0");
  EXPECT_TRUE(arguments.once);
  EXPECT_EQ(arguments.log_level, LogLevel::kError);
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfCheck) {
  const Arguments arguments = Parse({"check", "a.toml", "b", "--strict", "-o", "json"});
  EXPECT_THAT(arguments.files, ElementsAre("a.toml", "b"));
  EXPECT_TRUE(arguments.strict);
  EXPECT_EQ(arguments.output, Output::kJson);
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfDevicesAndExplain) {
  const Arguments devices = Parse({"devices", "a.com/x", "--probe", "-o", "name"});
  EXPECT_EQ(devices.resource, "a.com/x");
  EXPECT_TRUE(devices.probe);
  EXPECT_EQ(devices.output, Output::kName);
  const Arguments explain = Parse({"explain", "--exit-code", "-o", "yaml", "--path", "can0"});
  EXPECT_TRUE(explain.needs_devices);
  EXPECT_EQ(explain.output, Output::kYaml);
  EXPECT_EQ(explain.path, "can0");
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfDeviceClasses) {
  const Arguments arguments =
      Parse({"device-classes", "-c", "/a", "a.com/x", "-o", "name", "b.com/y"});
  EXPECT_EQ(arguments.config, "/a");
  EXPECT_THAT(arguments.resources, ElementsAre("a.com/x", "b.com/y"));
  EXPECT_EQ(arguments.output, Output::kName);
}

TEST_F(ArgumentsTest, ReadsEveryFlagOfAllocate) {
  EXPECT_THAT(Parse({"allocate", "a.com/x", "id1", "id2::3"}).ids, ElementsAre("id1", "id2::3"));
  const Arguments arguments = Parse({"allocate", "--count=3", "a.com/x", "--output", "table"});
  EXPECT_EQ(arguments.resource, "a.com/x");
  EXPECT_EQ(arguments.count, 3);
  EXPECT_THAT(arguments.ids, IsEmpty());
}

TEST_F(ArgumentsTest, AcceptsIdsThatLookLikeFlags) {
  EXPECT_THAT(Parse({"allocate", "a.com/x", "--", "-x", "--count"}).ids,
              ElementsAre("-x", "--count"));
}

TEST_F(ArgumentsTest, AcceptsCommandNamesAsArguments) {
  EXPECT_THAT(Parse({"check", "devices", "check"}).files, ElementsAre("devices", "check"));
  EXPECT_EQ(Parse({"allocate", "run"}).resource, "run");
}

TEST_F(ArgumentsTest, ParsesLogLevels) {
  EXPECT_EQ(Parse({"run", "--log-level", "info"}).log_level, LogLevel::kInfo);
  EXPECT_EQ(Parse({"run", "--log-level", "warning"}).log_level, LogLevel::kWarning);
  EXPECT_EQ(Parse({"run", "--log-level", "DEBUG"}).log_level, LogLevel::kDebug);
  EXPECT_EQ(Parse({"run", "--log-level", "warn"}).log_level, LogLevel::kWarning);
  EXPECT_EQ(Parse({"try", "--log-level=Warn"}).log_level, LogLevel::kWarning);
}

TEST_F(ArgumentsTest, ConfigFlagOverridesTheEnvironment) {
  const ScopedEnv config("PATCHBAY_CONFIG", "/from/env");
  EXPECT_EQ(Parse({"devices"}).config, "/from/env");
  EXPECT_EQ(Parse({"devices", "--config", "/from/flag"}).config, "/from/flag");
}

TEST_F(ArgumentsTest, ReportsWhetherTheConfigIsGiven) {
  EXPECT_FALSE(Parse({"try"}).is_config_given);
  EXPECT_TRUE(Parse({"try", "--config", "/etc/patchbay"}).is_config_given);
  EXPECT_FALSE(Parse({"version"}).is_config_given);
  const ScopedEnv config("PATCHBAY_CONFIG", "/etc/patchbay");
  EXPECT_TRUE(Parse({"try"}).is_config_given);
}

TEST_F(ArgumentsTest, IgnoresAnEmptyEnvironmentVariable) {
  const ScopedEnv config("PATCHBAY_CONFIG", "");
  EXPECT_EQ(Parse({"devices"}).config, "/etc/patchbay");
}

TEST_F(ArgumentsTest, NormalizesDirectoriesAndListenAddresses) {
  EXPECT_EQ(Parse({"run", "--kubelet-dir", "/a/b///"}).kubelet_dir, "/a/b");
  EXPECT_EQ(Parse({"run", "--kubelet-dir", "/"}).kubelet_dir, "/");
  EXPECT_EQ(Parse({"run", "--listen", ":80"}).listen, "[::]:80");
}

TEST_F(ArgumentsTest, ResolvesRelativeDirectories) {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(tree_.path());
  tree_.Dir("host");
  const Arguments arguments = Parse({"run", "--host-root", "host", "--kubelet-dir", "k"});
  std::filesystem::current_path(here);
  EXPECT_EQ(arguments.host_root, tree_.path("host"));
  EXPECT_EQ(arguments.kubelet_dir, tree_.path("k"));
}

TEST_F(ArgumentsTest, RejectsRelativePathWithoutWorkingDirectory) {
  const auto here = std::filesystem::current_path();
  tree_.Dir("gone");
  std::filesystem::current_path(tree_.path("gone"));
  tree_.Remove("gone");
  const auto relative = RunCli({"run", "--kubelet-dir", "k"});
  const Arguments absolute = Parse({"run", "--kubelet-dir", "/k"});
  std::filesystem::current_path(here);
  EXPECT_EQ(relative.code, kUsage);
  EXPECT_THAT(relative.err, HasSubstr("the working directory no longer exists"));
  EXPECT_EQ(absolute.kubelet_dir, "/k");
}

TEST_F(ArgumentsTest, HelpExitsWithZero) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--help"},
                                               {"-h"},
                                               {"run", "--help"},
                                               {"check", "-h"},
                                               {"devices", "--help"},
                                               {"allocate", "--help"},
                                               {"schema", "--help"},
                                               {"try", "--help"}}) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kOk) << line.front();
    EXPECT_THAT(ran.out, HasSubstr("Usage: patchbay"));
    EXPECT_EQ(ran.err, "");
  }
}

TEST_F(ArgumentsTest, HelpListsEveryCommand) {
  const auto ran = RunCli({"--help"});
  for (const Command& command : Commands()) {
    EXPECT_THAT(ran.out, HasSubstr(std::string(command.name)));
    EXPECT_THAT(ran.out, HasSubstr(std::string(command.summary)));
  }
}

TEST_F(ArgumentsTest, PrintsTheVersionOnOneLine) {
  const auto ran = RunCli({"--version"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, StartsWith("patchbay "));
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(RunCli({"version"}).out, ran.out);
  EXPECT_EQ(RunCli({"version"}).code, kOk);
}

TEST_F(ArgumentsTest, ListsCommandsIfNoneIsGiven) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{},
                                               {""},
                                               {"nonsense"},
                                               {"--config", "/x"},
                                               {"-o", "json", "check"}}) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kUsage);
    for (const Command& command : Commands()) {
      EXPECT_THAT(ran.err, HasSubstr(Format("`{}`", command.name)));
    }
  }
  EXPECT_THAT(RunCli({"--config", "/x"}).err, HasSubstr("move \"--config\" there"));
  EXPECT_THAT(RunCli({"chek"}).err, HasSubstr("did you mean `check`?"));
}

TEST_F(ArgumentsTest, SuggestsCorrectionsForTypos) {
  EXPECT_THAT(RunCli({"try", "--onec"}).err, HasSubstr("--onec; did you mean `--once`?"));
  EXPECT_THAT(RunCli({"run", "--listem=:1"}).err, HasSubstr("did you mean `--listen`?"));
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"diff"}, {"diff", "a"}, {"diff", "a", "b", "c"}}) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr("usage: patchbay diff [OPTIONS] OLD NEW\n"));
  }
  for (const std::string listen : {"localhost:9478", "9478"}) {
    EXPECT_THAT(RunCli({"run", "--listen", listen}).err, HasSubstr("write \"[::]:9478\""));
  }
}

TEST_F(ArgumentsTest, SuggestsCommandsByMeaning) {
  for (const auto& [typed, meant] :
       std::vector<std::pair<std::string, std::string>>{{"list", "devices"},
                                                        {"get", "devices"},
                                                        {"init", "suggest"},
                                                        {"generate", "suggest"},
                                                        {"scan", "suggest"},
                                                        {"validate", "check"},
                                                        {"lint", "check"},
                                                        {"describe", "explain"},
                                                        {"start", "run"},
                                                        {"-V", "--version"},
                                                        {"exlain", "explain"}}) {
    const auto ran = RunCli({typed});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr("did you mean `" + meant + "`?\n")) << typed;
  }
}

TEST_F(ArgumentsTest, SuggestsOptionsByMeaning) {
  for (const auto& [line, meant] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"check", "-f", "a.toml"}, "--config"},
           {{"devices", "-f", "a.toml"}, "--config"},
           {{"devices", "-fa.toml"}, "--config"},
           {{"explain", "--file=a.toml"}, "--config"},
           {{"devices", "--json"}, "--output json"},
           {{"devices", "--yaml"}, "--output yaml"},
           {{"run", "--verbose"}, "--log-level debug"},
           {{"run", "--quiet"}, "--log-level error"},
           {{"run", "--port", "1"}, "--listen"},
           {{"run", "--wait"}, "--wait-for-config"},
           {{"devices", "--root", "/x"}, "--host-root"},
           {{"devices", "--health"}, "--probe"},
           {{"explain", "--device", "/dev/x"}, "--path"},
           {{"check", "--werror"}, "--strict"},
           {{"allocate", "a.com/x", "-n", "1"}, "--count"}}) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr("; did you mean `" + meant + "`?\n")) << line[1];
  }
  EXPECT_THAT(RunCli({"diff", "-f", "a"}).err, HasSubstr("diff has no option -f; usage: "))
      << "it has no --config";
}

TEST_F(ArgumentsTest, NamesWhatIsWrong) {
  const auto error = [](const std::vector<std::string>& line) {
    const std::string text = RunCli(line).err;
    return text.substr(0, text.find('\n'));
  };
  const std::string of_check = "; usage: patchbay check [OPTIONS] [FILE...]";
  EXPECT_EQ(error({"check", "--config"}), "--config: 1 required PATH missing" + of_check);
  EXPECT_EQ(error({"check", "--config", "a", "-c", "b"}),
            "--config: At Most 1 required but received 2" + of_check);
  EXPECT_EQ(error({"check", "--strict=maybe"}), "Could not convert: --strict = maybe" + of_check);
  EXPECT_EQ(error({"allocate", "a.com/x", "--count", "1", "id"}),
            "id excludes --count; usage: patchbay allocate [OPTIONS] RESOURCE [ID...]");
  EXPECT_EQ(error({"run", "--log-level", "trace"}),
            "--log-level: \"trace\" is not valid; it is one of `debug`, `info`, `warning` or "
            "`error`");
  EXPECT_EQ(error({"schema", "run"}),
            "unexpected argument \"run\"; usage: patchbay schema [OPTIONS]");
  EXPECT_EQ(error({"devices", "--strict"}),
            "devices has no option --strict; usage: patchbay devices [OPTIONS] [RESOURCE]");
  EXPECT_EQ(error({"schema", "--probe=1"}),
            "schema has no option --probe=1; usage: patchbay schema [OPTIONS]");
  EXPECT_EQ(error({"diff"}), "old is required; usage: patchbay diff [OPTIONS] OLD NEW");
  EXPECT_EQ(error({"run", "--host-root", "/dev/null"}).find("--host-root: \"/dev/null\" is not a "),
            0U);
  EXPECT_EQ(error({"devices", "--config", "--probe"}),
            "--config needs a value: --config PATH; \"--probe\" is an option");
  EXPECT_EQ(error({"run", "--config", "-"}),
            "--config -: run does not read the standard input; only `check` does");
  EXPECT_EQ(error({"check", "a.toml", "-"}),
            "check reads the standard input or other files, but not both");
  EXPECT_EQ(error({"diff", "-", "a"}), "diff does not read the standard input; name a file");
  EXPECT_EQ(error({"explain", "-c", "a.toml", "/dev/x"}),
            "\"/dev/x\" is a path, not a resource name; run `patchbay explain --config a.toml "
            "--path /dev/x` to see which resource matches it");
  EXPECT_EQ(error({"run", "--\x1b[2J"}),
            "run has no option --\\x1b[2J; usage: patchbay run [OPTIONS]");
  EXPECT_THAT(RunCli({"diff"}).err,
              testing::EndsWith("Run `patchbay diff --help` for more information.\n"));
}

TEST_F(ArgumentsTest, RejectsEmptyValues) {
  const auto error = [](const std::vector<std::string>& line) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kUsage);
    return ran.err.substr(0, ran.err.find('\n'));
  };
  EXPECT_EQ(error({"explain", "--exit-code", "--path", ""}),
            "--path is empty; it needs a value: --path PATH");
  EXPECT_THAT(error({"check", "--config="}), HasSubstr("--config: 1 required PATH missing"));
  EXPECT_EQ(error({"devices", ""}), "RESOURCE is empty; it needs a value: RESOURCE");
  EXPECT_EQ(error({"diff", "a.toml", ""}), "NEW is empty; it needs a value: NEW");
  EXPECT_EQ(error({"check", "a.toml", ""}), "FILE is empty; it needs a value: FILE");
}

TEST_F(ArgumentsTest, ErrorsRepeatOnlyTheBeginningOfLongArguments) {
  const std::string length(100'000, 'x');
  for (const std::vector<std::string>& line : {std::vector<std::string>{length},
                                               {"check", "--" + length},
                                               {"run", "--log-level", length},
                                               {"run", "--log-level=" + length},
                                               {"devices", "/" + length},
                                               {"schema", length},
                                               {"run", "--listen", length},
                                               {"devices", "--config", "--" + length}}) {
    const auto ran = RunCli(line);
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_LT(ran.err.size(), 1'000U) << line.back().substr(0, 20);
    EXPECT_THAT(ran.err, HasSubstr("xxx…"));
  }
}

TEST_F(ArgumentsTest, HintsAreCommandsOfAShell) {
  EXPECT_THAT(RunCli({"explain", "-c", "my file's.toml", "/dev/x y"}).err,
              HasSubstr("run `patchbay explain --config 'my file'\\''s.toml' --path '/dev/x y'`"));
  EXPECT_THAT(RunCli({"devices", "my file.toml"}).err,
              HasSubstr("did you mean `--config 'my file.toml'`?"));
}

TEST_F(ArgumentsTest, SuggestsConfigFlagForAFileArgument) {
  for (const std::string command : {"devices", "explain", "allocate", "run", "try"}) {
    const auto ran = RunCli({command, "first.toml"});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr("did you mean `--config first.toml`?")) << command;
  }
  EXPECT_EQ(Parse({"allocate", "a.com/x.toml"}).resource, "a.com/x.toml");
}

TEST_F(ArgumentsTest, ListsResourcesIfNoneIsGiven) {
  tree_.File("a.toml", "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\ncount = 1\n");
  const auto ran = RunCli({"allocate", "--config", tree_.path("a.toml")});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("it has a.com/x\n"));
}

TEST_F(ArgumentsTest, RejectsInvalidCounts) {
  for (const std::string count : {"two", "0", "-1", "1.5", "99999999999999999999", ""}) {
    EXPECT_THAT(RunCli({"allocate", "a.com/x", "--count", count}).err,
                HasSubstr("\"" + count + "\" must be a whole number from 1 to"));
  }
}

TEST_F(ArgumentsTest, HelpCommandMatchesTheHelpFlag) {
  EXPECT_EQ(RunCli({"help"}).out, RunCli({"--help"}).out);
  EXPECT_EQ(RunCli({"help"}).code, kOk);
  EXPECT_EQ(RunCli({"help", "diff"}).out, RunCli({"diff", "--help"}).out);
  EXPECT_EQ(RunCli({"help", "chek"}).code, kUsage);
}

TEST_F(ArgumentsTest, HelpNamesChoicesInsteadOfTypes) {
  for (const Command& command : Commands()) {
    const auto ran = RunCli({std::string(command.name), "--help"});
    EXPECT_THAT(ran.out, StartsWith(std::string(command.summary)));
    EXPECT_THAT(ran.out, Not(AnyOf(HasSubstr("2147483647"), HasSubstr(" x 2"), HasSubstr("INT"))));
  }
  EXPECT_THAT(RunCli({"--help"}).out, StartsWith("Exposes"));
  EXPECT_THAT(RunCli({"diff", "--help"}).out, HasSubstr("[OPTIONS] old new\n"));
  const std::string run = RunCli({"run", "--help"}).out;
  EXPECT_THAT(run, HasSubstr("debug|info|warning|error"));
  EXPECT_THAT(run, HasSubstr("otherwise [::]:9478"));
}

class Misuse : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Misuse, ExitsWithTwoAndAMessage) {
  const auto ran = RunCli(GetParam());
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err, "");
}

std::string LongPath() { return "/" + std::string(50, 'x'); }

INSTANTIATE_TEST_SUITE_P(CommandLines, Misuse,
                         testing::ValuesIn(std::vector<std::vector<std::string>>{
                             {},
                             {"serve"},
                             {""},
                             {"--config", "/x"},
                             {"devices", "--no-such-flag"},
                             {"devices", "a", "b"},
                             {"devices", "/dev/null"},
                             {"devices", "--config", "-"},
                             {"completion"},
                             {"completion", "tcsh"},
                             {"completion", "bash", "zsh"},
                             {"convert"},
                             {"convert", "--from", "other", "x"},
                             {"version", "--config", "x"},
                             {"check", "-", "a"},
                             {"check", "--strict=maybe"},
                             {"run", "extra"},
                             {"run", "--once"},
                             {"run", "--output", "json"},
                             {"run", "--log-level", "trace"},
                             {"run", "--log-level", "0"},
                             {"run", "--log-format", "xml"},
                             {"run", "--log-format"},
                             {"run", "--listen", "nowhere"},
                             {"run", "--listen", "127.0.0.1"},
                             {"run", "--listen", "127.0.0.1:65536"},
                             {"run", "--listen", ""},
                             {"run", "--kubelet-dir", LongPath()},
                             {"run", "--kubelet-dir", ""},
                             {"run", "--host-root", "/no/such/root"},
                             {"run", "--host-root", "/dev/null"},
                             {"try", "--kubelet-dir", "/x"},
                             {"try", "--strict"},
                             {"check", "--host-root", "/"},
                             {"check", "--output", "name"},
                             {"check", "--output", "xml"},
                             {"check", "--output", "1"},
                             {"check", "--config"},
                             {"check", "--config", "a", "--config", "b"},
                             {"devices", "--strict"},
                             {"devices", "--host-root", "/no/such/root"},
                             {"allocate"},
                             {"allocate", "--count", "1"},
                             {"allocate", "a.com/x", "--count", "0"},
                             {"allocate", "a.com/x", "--count", "-1"},
                             {"allocate", "a.com/x", "--count", "1.5"},
                             {"allocate", "a.com/x", "--count", "many"},
                             {"allocate", "a.com/x", "--count", "99999999999999999999"},
                             {"allocate", "a.com/x", "id", "--count", "1"},
                         }));

TEST_F(ArgumentsTest, TryNamesTheProgramThatHasTheSimulators) {
  // There is none next to this test.
  const test::Ran ran = RunCli({"try", "--once"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("/patchbay-try (No such file or directory), which has the "));
  EXPECT_THAT(ran.err, testing::ContainsRegex("the image patchbay:[0-9.]+-tools contain it\n"));
}

}  // namespace
}  // namespace patchbay
