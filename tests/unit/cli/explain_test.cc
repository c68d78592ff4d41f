#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli_support.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::Ran;
using test::RunCli;
using test::ScopedEnv;
using testing::HasSubstr;
using testing::Not;

class ExplainTest : public testing::Test {
 protected:
  void Config(std::string_view text) { config_tree_.File("patchbay.toml", text); }

  Ran Explain(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"explain", "--config", config_tree_.path("patchbay.toml"),
                                     "--host-root", tree_.path()};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", "rack-1"};
  test::TempTree config_tree_;
  test::TempTree tree_;
};

constexpr std::string_view kCards = R"([[resource]]
name = "example.com/card"
[[resource.match]]
path = "/srv/card*"
exclude = "/srv/card9"
type = "file"
)";

TEST_F(ExplainTest, TellsWhatBecameOfEverythingThatFits) {
  Config(kCards);
  tree_.File("srv/card1");
  tree_.File("srv/card9");
  tree_.Dir("srv/card.d");
  tree_.Link("srv/card2", "nowhere");
  tree_.File("srv/other");
  const Ran ran = Explain();
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("example.com/card: 1 device listed\n"));
  EXPECT_THAT(ran.out, HasSubstr("match 1: path = \"/srv/card*\"\n"));
  EXPECT_THAT(ran.out, HasSubstr("looked at  /srv/: 5 names, 4 of them fit\n"));
  EXPECT_THAT(ran.out, HasSubstr("listed     card1: /srv/card1\n"));
  EXPECT_THAT(ran.out, HasSubstr("not taken  /srv/card9: it is excluded by /srv/card9\n"));
  EXPECT_THAT(ran.out, HasSubstr("not taken  /srv/card.d: it is a directory"));
  EXPECT_THAT(ran.out, HasSubstr("rejected   /srv/card2: dangling_link"));
  EXPECT_THAT(ran.out, Not(HasSubstr("other")));
}

TEST_F(ExplainTest, SaysWhatToDoWhereThereIsNothing) {
  Config(kCards);
  EXPECT_THAT(Explain().out, HasSubstr("--host-root"));
  tree_.File("srv/other");
  EXPECT_THAT(Explain().out, HasSubstr("no name there fits the pattern"));
}

TEST_F(ExplainTest, AnswersForOnePath) {
  Config(kCards);
  tree_.File("srv/card1");
  tree_.File("srv/card9");
  const auto verdict = [&](const std::string& path) { return Explain({"--path", path}).out; };
  EXPECT_THAT(verdict("/srv/card1"), HasSubstr("listed     card1: /srv/card1\n"));
  EXPECT_THAT(verdict("/srv/card9"), HasSubstr("excluded by"));
  EXPECT_THAT(verdict("/srv/other"), HasSubstr("the pattern does not match it"));
  EXPECT_THAT(verdict("/srv/card3"), HasSubstr("there is nothing at this path"));
  EXPECT_THAT(verdict("/srv/card3"), Not(HasSubstr("listed     ")));
}

TEST_F(ExplainTest, TellsOfGroupsAndTemplates) {
  Config(R"([[resource]]
name = "example.com/card"
[[resource.match]]
regex = '/srv/(?P<kind>[a-z]+)(?P<n>\d)(?P<rest>x)?'
type = "file"
group_by = "n"
require = "/srv/control*"
[resource.env]
REST = "{rest}"
)");
  for (const std::string name : {"control1x", "pcm1x", "pcm2", "control3"})
    tree_.File("srv/" + name);
  const Ran ran = Explain();
  EXPECT_THAT(ran.out, HasSubstr("listed     1: /srv/control1x, /srv/pcm1x\n"));
  EXPECT_THAT(ran.out, HasSubstr("rejected   /srv/pcm2: incomplete: "));
  EXPECT_THAT(ran.out, HasSubstr("rejected   3: /srv/control3: missing_variable: "));
}

TEST_F(ExplainTest, TellsWhichConditionIsNotMet) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/usb1/1-1",
               {.subsystem = "usb",
                .devtype = "usb_device",
                .number = "189:1",
                .node = "bus/usb/001/002",
                .attributes = {{"idVendor", "0403"}, {"idProduct", "6001"}}});
  Config(R"([[resource]]
name = "example.com/ch340"
[[resource.match]]
usb = "1a86:7523"
[[resource]]
name = "example.com/narrowed"
[[resource.match]]
path = "/dev/bus/usb/*/*"
udev = { subsystem = "tty" }
)");
  const Ran ran = Explain();
  EXPECT_THAT(ran.out, HasSubstr("match 1: usb = \"1a86:7523\"\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("not taken  /sys/devices/usb1/1-1: its USB vendor is 0403, not 1a86\n"));
  EXPECT_THAT(ran.out, HasSubstr("path = \"/dev/bus/usb/*/*\", udev = { subsystem = \"tty\" }\n"));
  EXPECT_THAT(ran.out, HasSubstr("/dev/bus/usb/001/002: its subsystem is \"usb\", not tty\n"));
}

TEST_F(ExplainTest, HasAWordForWhatSysfsDoesNotHave) {
  test::FakeSysfs sysfs(tree_);
  Config(R"([[resource]]
name = "a.com/x"
[[resource.match]]
udev = { subsystem = "nett" }
[[resource.match]]
command = ["/bin/echo", "[]"]
)");
  const std::string out = Explain().out;
  EXPECT_THAT(out, HasSubstr("the devices in /sys: 0 names"));
  EXPECT_THAT(out, HasSubstr("sysfs has no such device"));
  EXPECT_THAT(out, HasSubstr("/bin/echo: 0 names"));
}

TEST_F(ExplainTest, SaysThatSysIsMissing) {
  Config("[[resource]]\nname = \"a.com/x\"\n[[resource.match]]\npci = \"10ee:5000\"\n");
  EXPECT_THAT(Explain().out, HasSubstr("rejected   /sys: unreadable: "));
}

TEST_F(ExplainTest, TellsOfNodesThatTwoResourcesHave) {
  const std::string two = R"([[resource]]
name = "example.com/a"
[[resource.match]]
path = "/srv/card*"
type = "file"
[[resource]]
name = "example.com/b"
{}
[[resource.match]]
path = "/srv/by-name/*"
type = "file"
)";
  tree_.File("srv/card1");
  tree_.Link("srv/by-name/one", "../card1");
  Config(format(fmt::runtime(two), ""));
  EXPECT_THAT(Explain({"example.com/a"}).out,
              HasSubstr("shared: /srv/card1 also belongs to example.com/b"));
  Config(format(fmt::runtime(two), "exclusive = true"));
  const Ran ran = Explain({"example.com/a"});
  EXPECT_THAT(ran.out, HasSubstr("rejected   /srv/card1: taken: "));
  EXPECT_THAT(ran.out, Not(HasSubstr("shared")));
}

TEST_F(ExplainTest, KnowsWhichResourcesThereAre) {
  Config(kCards);
  const Ran ran = Explain({"example.com/cards"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("did you mean \"example.com/card\"?"));
}

TEST_F(ExplainTest, PrintsJson) {
  Config(kCards);
  tree_.File("srv/card1");
  tree_.File("srv/card9");
  tree_.File("srv/card\xff");
  const auto json = nlohmann::json::parse(Explain({"--output", "json"}).out);
  const auto& resource = json.at("resources").at(0);
  EXPECT_EQ(resource.at("name"), "example.com/card");
  EXPECT_EQ(resource.at("listed"), 1);
  const auto& match = resource.at("matches").at(0);
  EXPECT_EQ(match.at("match"), "path = \"/srv/card*\"");
  EXPECT_EQ(match.at("looked_at").at(0).at("fitting"), 3);
  std::vector<std::string> outcomes;
  for (const auto& verdict : match.at("verdicts")) outcomes.push_back(verdict.at("outcome"));
  EXPECT_THAT(outcomes, testing::ElementsAre("listed", "rejected", "not taken"));
}

}  // namespace
}  // namespace patchbay
