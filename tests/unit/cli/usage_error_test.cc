#include "cli/usage_error.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace patchbay {
namespace {

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
