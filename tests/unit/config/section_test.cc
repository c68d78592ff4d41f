#include "config/section.h"

#include <gmock/gmock.h>

#include "config/toml_reader.h"
#include "config_support.h"

namespace patchbay {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A section that is read from the text of its table.
class SectionTest : public testing::Test {
 protected:
  const Section& Read(std::string_view section, std::string text) {
    table_ = ReadToml({"test.toml", std::move(text)}, reporter_);
    return section_.emplace(KeyInfo{.name = section, .table = section}, table_,
                            SourceLocation{"test.toml", 0, 0}, reporter_);
  }
  std::vector<std::string> Codes() const {
    std::vector<std::string> codes;
    for (const Diagnostic& d : diagnostics_.Sorted()) codes.emplace_back(d.code);
    return codes;
  }

 private:
  Diagnostics diagnostics_;
  Reporter reporter_{diagnostics_};
  TomlTable table_;
  std::optional<Section> section_;
};

TEST_F(SectionTest, AbsentValuesLeaveTheDefault) {
  const Section& match = Read("resource.match", "path = '/dev/x'\n");
  std::chrono::milliseconds timeout{7};
  match.Read("timeout", timeout);
  EXPECT_EQ(timeout.count(), 7);
  EXPECT_EQ(match.GetText("id"), nullptr);
  EXPECT_EQ(match.GetSection("udev"), nullptr);
  EXPECT_THAT(match.GetTexts("require"), IsEmpty());
  EXPECT_EQ(match.PlaceOf("id"), match.place());
  EXPECT_EQ(match.PlaceOf("path").column, 8);
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(SectionTest, InvalidValuesAreAbsent) {
  const Section& match = Read("resource.match",
                              "path = [3, '/dev/x']\nrequire = [3]\nmax_devices = 0\n"
                              "type = 'x'\n");
  EXPECT_TRUE(match.is_broken());
  EXPECT_EQ(match.GetTexts("path").size(), 1u);
  EXPECT_FALSE(match.Has("require") || match.Has("max_devices") || match.Has("type"));
  EXPECT_THAT(Codes(), ElementsAre("wrong-type", "wrong-type", "out-of-range", "bad-value"));
}

TEST_F(SectionTest, TheLowestGroupIsTheAlternative) {
  EXPECT_EQ(Read("resource.match", "udev = {subsystem = 'x'}\nusb = '*:*'\n").alternative(), "usb");
  EXPECT_EQ(Read("resource.match", "usb = '*:*'\npath = '/dev/x'\n").alternative(), "path");
  EXPECT_EQ(Read("resource.health", "open = false\ncommand = ['x']\n").alternative(), "command");
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(Read("resource.match", "usb = '*:*'\npci = '*:*'\n").alternative(), "");
  EXPECT_THAT(Codes(), ElementsAre("wrong-combination"));
}

TEST_F(SectionTest, AnAlternativeExcludesKeysOnlyWhileItIsSelected) {
  Read("resource.match", "usb = '*:*'\npath = '/dev/x'\ntype = 'any'\n");
  EXPECT_THAT(Codes(), IsEmpty());
  Read("resource.match", "usb = '*:*'\ntype = 'any'\n");
  EXPECT_THAT(Codes(), ElementsAre("wrong-combination"));
}

TEST_F(SectionTest, ASwitchThatIsOffCountsAsAbsentInRelations) {
  Read("resource.match", "regex = '/dev/x'\ntogether = false\nexclude_required = false\n");
  Read("resource.match", "count = 1\nallow_mounted = false\n");
  Read("resource.match", "path = '/dev/x'\ngroup_by = 'name'\ntogether = false\n");
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(SectionTest, AnUnknownKeyMayBeTheOneThatIsMissing) {
  for (const auto& [section, keys] : std::initializer_list<std::pair<const char*, const char*>>{
           {"resource.match", "path = '/dev/x'\nubs = '*:*'\nserial = 'A'\n"},
           {"resource.mount", "host_pth = '/x'\n"},
           {"resource.mount", "from = '/x'\n"},
           {"resource.health", "path = '/x'\nequals = 'up'\n"},
           {"resource.health", "content = '/x'\nequals = 'up'\n"},
           {"resource.health", "file = '/x'\nregex = 'up'\n"},
           {"resource.match", "glob = '/dev/x'\nusb = '*:*'\ntype = 'any'\n"},
           {"daemon.kubernetes", "server = 'x'\nca = '/x'\nclient_key = '/x'\nclient = '/x'\n"}}) {
    Read(section, keys);
    EXPECT_THAT(Codes(), Each("unknown-key")) << keys;
  }
  EXPECT_THAT(Codes(), SizeIs(8));
}

TEST_F(SectionTest, AnInvalidValueCausesNoErrorInItsRelations) {
  Read("resource.match", "path = '/dev/x'\nserial = []\ntimeout = 3\n");
  EXPECT_THAT(Codes(), ElementsAre("bad-value", "wrong-type"));
}

TEST_F(SectionTest, ReadingAKeyThatIsNotInTheTableEndsTheProgram) {
  const Section& match = Read("resource.match", "path = '/dev/x'\n");
  EXPECT_DEATH(match.Has("pth"), "resource.match.* has no key \\\\?\"pth");
  EXPECT_DEATH(match.GetText("path"), "has no key");  // of another type, and present
  EXPECT_DEATH(match.GetTexts("id"), "has no key");   // of another type, and absent
}

}  // namespace
}  // namespace patchbay
