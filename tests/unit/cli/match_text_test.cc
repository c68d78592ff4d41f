#include "cli/explain/match_text.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "config/load.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

/// Returns the text of a match with these keys.
std::string TextOf(std::string_view keys) {
  test::TempTree tree;
  tree.File("x.toml", format("[[resource]]\nname = \"a.com/x\"\n[[resource.match]]\n{}\n", keys));
  const Loaded loaded = LoadPaths({tree.path("x.toml")});
  if (!loaded.model) return loaded.diagnostics.RenderText();
  return MatchText(loaded.model->resources.at(0).matches.at(0));
}

TEST(MatchTextTest, ContainsEveryKeyThatIsSet) {
  const std::vector<std::string> cases[] = {
      {R"(path = "/dev/kvm")"},
      {R"(path = ["/dev/a*", "/dev/b*"])", R"(exclude = ["/dev/a1", "/dev/a2"])",
       R"(id = "{name}-{major}")", R"(type = "any")"},
      {R"(regex = '/dev/x(?P<n>\d)')", R"(usb = "0403:*")", R"(serial = "A*")", R"(group_by = "n")",
       R"(require = "/dev/x1")"},
      {R"(pci = "10ee:5000")",
       R"(udev = { subsystem = "net", driver = ["a", "b*"], attributes = { type = "280" } })"},
      {R"(udev = { subsystem = "x", properties = { A = "x\"y", B = "?" } })"},
      {R"(command = ["/bin/false"])"},
      {R"(command = ["/bin/sh", "-c", "echo '[\"a\"]'"])", R"(timeout = "3s")"},
      {"count = 3"},
  };
  for (const auto& keys : cases) {
    EXPECT_EQ(TextOf(format("{}", fmt::join(keys, "\n"))), format("{}", fmt::join(keys, ", ")));
  }
}

TEST(MatchTextTest, QuotesSpecialCharacters) {
  EXPECT_EQ(TextOf(R"(path = '/dev/a"b\*c')"), R"(path = "/dev/a\"b\\*c")");
  EXPECT_EQ(TextOf(R"(regex = "/dev/it's\\d")"), R"(regex = "/dev/it's\\d")");
}

TEST(MatchTextTest, OmitsDefaults) {
  EXPECT_EQ(TextOf("command = [\"/bin/false\"]\ntimeout = \"10s\""), "command = [\"/bin/false\"]");
  EXPECT_EQ(TextOf("path = \"/dev/kvm\"\ntype = \"device\""), "path = \"/dev/kvm\"");
}

}  // namespace
}  // namespace patchbay
