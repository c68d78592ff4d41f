#include "config/toml_text.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "config/load.h"

namespace patchbay {
namespace {

/// Returns the display text of a match with these keys.
std::string TextOf(std::string_view keys) {
  const Loaded loaded = LoadTexts(
      {{"x.toml", Format("[[resource]]\nname = \"a.com/x\"\n[[resource.match]]\n{}\n", keys)}});
  if (!loaded.model) return loaded.diagnostics.RenderText();
  return loaded.model->resources.at(0).matches.at(0).display.text;
}

TEST(TomlText, ContainsTheKeysAsInTheFile) {
  const std::vector<std::string> cases[] = {
      {R"(path = "/dev/kvm")"},
      {R"(path = ["/dev/a*", "/dev/b*"])", R"(exclude = ["/dev/a1", "/dev/a2"])",
       R"(id = "{name}-{major}")", R"(type = "any")", "max_devices = 4"},
      {R"(usb = "0403:*")", R"(regex = '/dev/x(?P<n>\d)')", R"(serial = "A*")", R"(group_by = "n")",
       R"(require = "/dev/x1")"},
      {R"(pci = "10ee:5000")",
       R"(udev = { subsystem = "net", driver = ["a", "b*"], attributes = { type = "280" } })"},
      {R"(udev = { subsystem = "x", properties = { A = 'x\y', B = "?" } })"},
      {R"(udev = { subsystem = "x", attributes = { "device/model" = "y" } })"},
      {R"(command = ["/bin/sh", "-c", "echo '[\"a\"]'"])", R"(timeout = "3s")"},
      {"count = 3"},
  };
  for (const auto& keys : cases) {
    EXPECT_EQ(TextOf(Format("{}", fmt::join(keys, "\n"))), Format("{}", fmt::join(keys, ", ")));
  }
}

TEST(TomlText, QuotesSpecialCharacters) {
  EXPECT_EQ(QuoteToml(R"(/dev/a"b\*c)"), R"('/dev/a"b\*c')");
  EXPECT_EQ(QuoteToml(R"(/dev/it's\d)"), R"("/dev/it's\\d")");
  EXPECT_EQ(QuoteToml("a\n\"b\""), R"("a\n\"b\"")");
  EXPECT_EQ(QuoteToml("a\u009b31m\u202eb\U000E0041ä"), R"("a\u009b31m\u202eb\U000e0041ä")");
}

// A match that is only written differently does not change the resource.
TEST(TomlText, DoesNotMakeMatchesDiffer) {
  MatchSpec a, b;
  a.display.text = "count = 3";
  b.display.text = "count = 0x3";
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace patchbay
