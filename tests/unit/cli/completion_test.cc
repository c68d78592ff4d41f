#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "cli_support.h"

namespace patchbay {
namespace {

using test::RunCli;
using testing::HasSubstr;

class CompletionTest : public testing::TestWithParam<std::string> {};

TEST_P(CompletionTest, HasEveryCommandAndOption) {
  const auto ran = RunCli({"completion", GetParam()});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  const auto commands = DescribeCommandLine();
  EXPECT_EQ(commands.size(), Commands().size() + 1);
  for (const CommandInfo& command : commands) {
    if (!command.name.empty()) {
      // Its own section, from its name to the next one.
      EXPECT_THAT(ran.out, HasSubstr("  " + command.name + "  ")) << "in the list of commands";
    }
    const bool is_fish = GetParam() == "fish";
    const std::string name = command.name.empty() ? is_fish ? "''" : "\"\"" : command.name;
    const auto begin =
        ran.out.find(is_fish ? Format("case {}\n", name) : Format("    {})\n", name));
    ASSERT_NE(begin, std::string::npos) << name;
    const auto end = ran.out.find(is_fish ? "case " : ";;\n", begin + 5);
    const std::string section = ran.out.substr(begin, end - begin);
    EXPECT_FALSE(command.options.empty());
    for (const OptionInfo& option : command.options) {
      const std::string names =
          option.short_name.empty() ? option.name : option.short_name + "," + option.name;
      EXPECT_THAT(section, HasSubstr(Format("'  {} {}", names, option.value))) << name;
    }
    for (const OptionInfo& option : command.positionals) {
      EXPECT_THAT(section, HasSubstr(Format("'  {} {}", option.name, option.value))) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, CompletionTest, testing::Values("bash", "zsh", "fish"),
                         [](const auto& param) { return param.param; });

TEST(Completion, QuotesTextForEachShell) {
  const std::vector<CommandInfo> commands = {
      {"x", "", {{.name = "--a", .value = "DIR", .help = "the kubelet's \\ `x` $HOME"}}}};
  EXPECT_THAT(CompletionScript(Shell::kBash, commands),
              HasSubstr(R"('  --a DIR  the kubelet'\''s \ `x` $HOME')"));
  EXPECT_THAT(CompletionScript(Shell::kFish, commands),
              HasSubstr(R"('  --a DIR  the kubelet\'s \\ `x` $HOME')"));
}

TEST(Completion, DescribesOptionsAsTheHelpDoes) {
  for (const CommandInfo& command : DescribeCommandLine()) {
    if (command.name != "devices") continue;
    ASSERT_EQ(command.positionals.size(), 1U);
    EXPECT_EQ(command.positionals[0].value, "RESOURCE");
    bool found = false;
    for (const OptionInfo& option : command.options) {
      if (option.name != "--output") continue;
      found = true;
      EXPECT_EQ(option.short_name, "-o");
      EXPECT_EQ(option.value, "table|json|yaml|name");
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace patchbay
