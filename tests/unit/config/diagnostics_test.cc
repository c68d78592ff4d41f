#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "bad_samples.h"
#include "config/diagnostic_code.h"
#include "config_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::BadSamples;
using test::Env;
using test::Findings;
using test::LoadText;
using test::Named;
using test::Node;
using test::Resource;
using test::Sample;
using test::WithMatch;
using testing::ElementsAre;

TEST(Diagnostics, PointAtEachError) {
  for (const Sample& c : BadSamples()) {
    const std::string shown = c.text.substr(0, 400);
    const Loaded loaded = LoadText(c.text);
    ASSERT_EQ(Findings(loaded), std::vector<std::string>{c.finding})
        << shown << "\n"
        << loaded.diagnostics.RenderText();
    const Diagnostic d = loaded.diagnostics.Sorted().front();
    EXPECT_EQ(loaded.model.has_value(), d.severity == Severity::kWarning) << shown;
    EXPECT_NE(d.message.find(c.part_of_message), std::string::npos) << d.message;
    EXPECT_NE(d.hint.find(c.part_of_hint), std::string::npos) << shown << "\nhint: " << d.hint;
    EXPECT_FALSE(d.message.empty() || d.message.ends_with('.')) << d.message;
    EXPECT_FALSE(d.hint.empty() && d.code == "syntax") << shown;
  }
}

TEST(Diagnostics, SamplesCoverEveryCode) {
  std::set<std::string_view> missing;
  for (const CodeInfo& code : AllCodes()) missing.insert(code.name);
  const std::vector<Sample> samples = BadSamples();
  for (const Sample& c : samples) {
    missing.erase(std::string_view(c.finding).substr(c.finding.find(' ') + 1));
  }
  EXPECT_THAT(missing, testing::ElementsAre("too-many-findings"));  // needs more text
}

TEST(Diagnostics, ReportAllErrorsInOrder) {
  const Loaded loaded = LoadText(R"([daemon]
rescan = "soon"

[[resource]]
name = "example.com/serial"
replicas = "two"
  [[resource.match]]
  regex = '/dev/tty(?P<port>\d+'
  [[resource.device_node]]
  container_pth = "/dev/serial"
  permissions = "rwx"
)");
  EXPECT_EQ(Findings(loaded),
            (std::vector<std::string>{"2:10 bad-value", "6:12 wrong-type", "8:12 bad-pattern",
                                      "10:3 unknown-key", "11:17 bad-value"}));
}

TEST(Diagnostics, ASyntaxErrorHidesNoErrorInTheTablesBeforeIt) {
  const std::string text =
      "[daemon]\nrescan = 'soon'\n[[resource]]\nname = 'a'\nmatch = [{path = '/dev/x'}]\n"
      "  [[resource]]\nname = 'a.com/x'\n  [[resource.match]]\n  path = /dev/y\n"
      "[[resource]]\nname = 'b'\n";
  EXPECT_EQ(Findings(LoadText(text)),
            (std::vector<std::string>{"2:10 bad-value", "4:8 bad-value", "9:10 syntax"}));
  EXPECT_EQ(Findings(LoadText("[daemon]\nrescan = 'x'\n[[resource]]\na = '\xff'\n")),
            (std::vector<std::string>{"2:10 bad-value", "4:6 syntax"}));
  // A line in a string is no header.
  EXPECT_EQ(Findings(LoadText("a = '''\n[[resource]]\n")).size(), 1u);
}

TEST(Diagnostics, ASyntaxErrorHidesNoErrorInTheTablesBeforeItOfTheSameEntry) {
  const auto findings = [](std::string_view more) {
    return Findings(LoadText(Format("[[resource]]\nname = 'a'\n{}", more)));
  };
  EXPECT_THAT(findings("[[resource.match]]\npath = /dev/x\n"),
              ElementsAre("2:8 bad-value", "4:8 syntax"));
  // A list that is not closed.
  EXPECT_THAT(findings("[[resource.match]]\npath = ['/dev/x'\n[[resource.match]]\npath = 'y'\n"),
              ElementsAre("2:8 bad-value", "5:1 syntax"));
  // The source, variables or values may be in the rest.
  EXPECT_THAT(findings("env = {A = '{ID_X}'}\nexclude = 3\n[[resource.match]]\nid = '{ID_Y}'\n"
                       "count = '1'\n[resource.match.udev]\nsubsystem = tty\n"),
              ElementsAre("2:8 bad-value", "4:1 unknown-key", "7:9 wrong-type", "9:14 syntax"));
  EXPECT_THAT(findings("[[resource.mount]]\n[[resource.match]]\npath = '/x'\n[resource.hooks]\n"
                       "[resource.hooks.release]\ncommand = x\n"),
              ElementsAre("2:8 bad-value", "3:1 missing-key", "8:11 syntax"));
}

TEST(Diagnostics, ASyntaxErrorHidesNoErrorBeforeItInItsTable) {
  EXPECT_THAT(Findings(LoadText(WithMatch("path = 'dev/x'\nfoo = 1\nexclude = ['/dev/a'"))),
              ElementsAre("4:9 bad-pattern", "5:1 unknown-key", "7:2 syntax"));
  EXPECT_THAT(Findings(LoadText("[daemon]\nrescan = 'x'\nlisten = 9:\n[daemon.dra]\n")),
              ElementsAre("2:10 bad-value", "3:11 syntax"));
  // A list that is not closed, of several lines.
  EXPECT_THAT(
      Findings(LoadText("[[resource]]\nname = 'a'\nmatch = [\n  {path = '/dev/x'},\n  {path "
                        "= '/dev/y'},\n[[resource]]\n")),
      ElementsAre("2:8 bad-value", "6:3 syntax"));
}

TEST(Diagnostics, AKeyBehindASyntaxErrorIsNotMissing) {
  const auto findings = [](std::string_view text) {
    return Findings(LoadText(Format("{}\nx = ", text)));
  };
  for (const std::string& text :
       {WithMatch("path = '/dev/x*'\nserial = 'A'"), WithMatch("usb = '*:*'\ntype = 'file'"),
        WithMatch("path = '/dev/x*'\nid = 'a'"), WithMatch("udev = { driver = 'x' }"),
        WithMatch("path = '/x'\nexclude = '/sys/x'"), WithMatch("path = '/dev'"),
        Resource("[[resource.mount]]\nhost_path = '/proc/x'"),
        Resource("[[resource.mount]]\ncontainer_path = '/x'"), Resource("[resource.health]"),
        Resource("[resource.hooks.allocate]\ncommand = ['/x']"),
        Resource("[[resource.device_node]]\ncontainer_path = '/dev/x'"),
        Resource("") + "[[resource]]\nname = 'a.com/x'", std::string("[daemon.kubernetes]")}) {
    EXPECT_EQ(findings(text).size(), 1u) << text;
  }
}

TEST(Diagnostics, ASyntaxErrorCutsTheLastTableOfTheText) {
  const std::string text =
      Resource("") + "[daemon]\nrescan = '5s'\n[[resource]]\nname = 'a.com/y'\n";
  EXPECT_THAT(Findings(LoadText(text)), ElementsAre("8:1 missing-key"));
  EXPECT_THAT(Findings(LoadText(text + "match = [{path = /dev/y}]\n")),
              ElementsAre("10:18 syntax"));
}

TEST(Diagnostics, DoNotReportConsequentialErrors) {
  // A variable that an invalid match might provide is not reported as unknown, and a misspelled
  // source is not reported as missing.
  EXPECT_EQ(Findings(LoadText(Resource("[resource.env]\nA = '{card}'", "regex = '/dev/(?P<card>'")))
                .size(),
            1u);
  EXPECT_EQ(Findings(LoadText(Resource("[resource.env]\nA = '{ID_SERIAL}'", "udev = {}"))),
            (std::vector<std::string>{"4:8 bad-value"}));
  EXPECT_EQ(Findings(LoadText(Node("host_pth = '/dev/x'", "count = 2"))),
            (std::vector<std::string>{"6:1 unknown-key"}));
}

TEST(Diagnostics, ReportFurtherErrorsInAnInvalidValue) {
  EXPECT_EQ(Findings(LoadText(WithMatch("path = [3, '/dev/[']"))),
            (std::vector<std::string>{"4:9 wrong-type", "4:18 bad-pattern"}));
  EXPECT_EQ(
      Findings(LoadText(Env("A = 3\nPATH = '{nme}'"))),
      (std::vector<std::string>{"6:5 wrong-type", "7:1 reserved-name", "7:10 unknown-variable"}));
}

TEST(Diagnostics, NoHintSuggestsAReservedName) {
  const auto diagnostics = LoadText(Env("path = '/dev/x'")).diagnostics.Sorted();
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].hint, "it belongs to [[resource.match]]; move it there");
}

TEST(Diagnostics, RenderAsText) {
  EXPECT_EQ(
      LoadText(Env("\tCARD = 'é{crd:02}'  # card")).diagnostics.RenderText(),
      "test.toml:6:13: error[unknown-variable]: no match provides the variable \"crd\"\n"
      "    \tCARD = 'é{crd:02}'  # card\n"
      "    \t          ^\n"
      "    hint: use one of `id`, `resource`, `node_name`, `index`, `slot`, `replica`, `path`, "
      "`real_path`, `name`, `major`, `minor` or `numa_node`\n");
}

TEST(Diagnostics, StopAtTheLimitOfErrors) {
  std::string text = Resource("");
  for (int i = 0; i < 5000; ++i) text += Format("k{} = 1\n", i);
  const Loaded loaded = LoadText(text);
  const auto findings = Findings(loaded);
  ASSERT_EQ(findings.size(), 201u);
  EXPECT_EQ(findings.back(), "206:1 too-many-findings");
  EXPECT_FALSE(loaded.model);
}

TEST(Diagnostics, WarningsBeyondTheLimitAreNotErrors) {
  std::string text;
  for (int i = 0; i < 128; ++i) text += Named(Format("a.com/x{}", i));
  const Loaded loaded = LoadText(text);
  EXPECT_EQ(Findings(loaded).size(), 201u);
  EXPECT_TRUE(loaded.model);
}

}  // namespace
}  // namespace patchbay
