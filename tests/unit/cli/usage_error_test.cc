#include "cli/usage_error.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace patchbay {
namespace {

TEST(UsageError, HasATextForEveryKindOfError) {
  CLI::App command("", "check");
  const std::string usage = "; usage: patchbay check [OPTIONS]";
  EXPECT_EQ(UsageErrorText(command, CLI::FileError("their words")),
            "the command line is invalid" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::RequiredError("their words")),
            "an argument is missing" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::ArgumentMismatch("their words")),
            "an option has too many or too few values" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::ValidationError("their", "words")),
            "an argument is invalid" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::ConversionError("their words")),
            "an argument is invalid" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::ExcludesError("their", "words")),
            "these options cannot be combined" + usage);
  EXPECT_EQ(UsageErrorText(command, CLI::ExtrasError({"their"})),
            "unexpected argument \"\"" + usage);
}

TEST(UsageError, ListsTheArgumentsOfACommand) {
  CLI::App command("", "x");
  std::string text;
  std::vector<std::string> texts;
  command.add_option("--from", text)->required()->type_name("PROGRAM");
  command.add_option("--to", text);
  command.add_option("one", text)->required();
  command.add_option("more", texts);
  EXPECT_EQ(UsageLine(command), "patchbay x [OPTIONS] --from PROGRAM ONE [MORE...]");
}

TEST(UsageError, SuggestsDeviceClasses) {
  for (const char* word : {"classes", "deviceclasses", "deviceclass", "device-class"}) {
    const std::string_view commands[] = {"devices", "device-classes"};
    EXPECT_EQ(CommandErrorText(word, commands),
              Format("unknown command \"{}\"; did you mean `device-classes`?", word));
  }
}

TEST(UsageError, ChoosesMeaningOverSpelling) {
  const std::vector<std::string_view> commands = {"devices", "check", "lists"};
  EXPECT_EQ(CommandErrorText("list", commands),
            "unknown command \"list\"; did you mean `devices`?");
  EXPECT_EQ(CommandErrorText("chekc", commands),
            "unknown command \"chekc\"; did you mean `check`?");
  EXPECT_EQ(CommandErrorText("nonsense", commands),
            "unknown command \"nonsense\"; it is one of `devices`, `check` or `lists`");
}

}  // namespace
}  // namespace patchbay
