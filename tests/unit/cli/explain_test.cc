#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
using test::Unprivileged;
using testing::AllOf;
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
  EXPECT_THAT(Explain().out, HasSubstr("hint       wait for it, or mend the pattern; if the host "
                                       "has it, mount it at " +
                                       tree_.path("srv") + "\n"));
  tree_.Dir("srv");
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

/// What a host lacks or keeps to itself, and what to do about it.
class MendingTest : public ExplainTest {
 protected:
  void SetUp() override {
    for (const test::TempTree* tree : {&tree_, &config_tree_}) chmod(tree->path().c_str(), 0711);
  }

  Ran ExplainUnprivileged(const std::vector<std::string>& more = {}) {
    const Unprivileged nobody;
    return Explain(more);
  }
  /// A resource with one match, in which each line is a key.
  void Match(std::string_view keys) {
    Config(format("[[resource]]\nname = \"a.com/x\"\n[[resource.match]]\n{}\n", keys));
  }
  std::string Mount(const std::string& path) const {
    return format("hint       in a container, mount the host's {} at {} (", path, tree_.path(path));
  }
};

TEST_F(MendingTest, DevIsNotMounted) {
  Match(R"(path = ["/dev/ttyUSB*", "/dev/serial/by-id/*"])");
  const Ran ran = Explain();
  EXPECT_THAT(ran.out, HasSubstr("looked at  /dev: cannot look at /dev: No such file"));
  EXPECT_THAT(ran.out, HasSubstr(Mount("/dev")));
  EXPECT_EQ(ran.out.find("hint"), ran.out.rfind("hint")) << "one mount mends both";
}

TEST_F(MendingTest, APartOfDevIsMissing) {
  Match(R"(path = "/dev/serial/by-id/*")");
  tree_.Dir("dev");
  EXPECT_THAT(Explain().out, HasSubstr("hint       it comes with the first device of its kind"));
}

TEST_F(MendingTest, SysIsNotMounted) {
  Match("pci = \"10ee:5000\"\n[[resource.match]]\nusb = \"0403:*\"");
  const std::string out = Explain().out;
  EXPECT_THAT(out, AllOf(HasSubstr("rejected   /sys: unreadable: no devices are known"),
                         HasSubstr(Mount("/sys")), Not(HasSubstr("sysfs has no such device"))));
  EXPECT_NE(out.find(Mount("/sys")), out.rfind(Mount("/sys"))) << "each match is told";
  tree_.Dir("sys");  // what a container has where nothing is mounted
  EXPECT_THAT(Explain().out, HasSubstr(Mount("/sys")));
}

TEST_F(MendingTest, SysIsNotMountedForANodeWithConditions) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Match("path = \"/dev/tty*\"\nusb = \"0403:6001\"");
  tree_.CharDevice("dev/ttyUSB0", 188, 0);
  EXPECT_THAT(Explain().out,
              AllOf(HasSubstr("rejected   /sys: unreadable: "), HasSubstr(Mount("/sys"))));
}

TEST_F(MendingTest, UdevsDatabaseIsNotMounted) {
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/virtual/net/can0", {.subsystem = "net", .ifindex = "4"});
  const auto asks_for = [&](std::string_view keys) {
    Match(keys);
    return Explain().out;
  };
  const std::string_view serial =
      R"(udev = { subsystem = "net", properties = { ID_SERIAL = "*" } })";
  EXPECT_THAT(asks_for(serial),
              AllOf(HasSubstr("looked at  /run/udev/data: cannot look at /run: No such file"),
                    HasSubstr(Mount("/run/udev"))));
  EXPECT_THAT(
      asks_for(R"(udev = { subsystem = "net", properties = { INTERFACE = "*", IFINDEX = "4" } })"),
      HasSubstr("/run/udev"));
  EXPECT_THAT(asks_for(R"(udev = { subsystem = "net", properties = { IFINDEX = "4" } })"),
              AllOf(HasSubstr("1 device listed"), Not(HasSubstr("/run/udev"))))
      << "the kernel itself knows it";
  EXPECT_THAT(asks_for(R"(udev = { subsystem = "net" })"), Not(HasSubstr("/run/udev")));
  EXPECT_THAT(asks_for("udev = { subsystem = \"net\" }\n[resource.env]\nS = \"{ID_SERIAL}\""),
              AllOf(HasSubstr("missing_variable"), HasSubstr(Mount("/run/udev"))));
  tree_.Dir("run/udev/data");
  EXPECT_THAT(asks_for(serial), Not(HasSubstr("looked at  /run/udev")));
}

TEST_F(MendingTest, ADirectoryThatOneMayNotRead) {
  Match("path = \"/srv/secret/sub/*\"\ntype = \"file\"");
  tree_.File("srv/secret/sub/card");
  chmod(tree_.path("srv/secret").c_str(), 0);
  const std::string text = ExplainUnprivileged().out;
  const auto json = nlohmann::json::parse(ExplainUnprivileged({"--output", "json"}).out);
  const std::string path = ExplainUnprivileged({"--path", "/srv/secret/sub"}).out;
  chmod(tree_.path("srv/secret").c_str(), 0755);
  EXPECT_THAT(text, HasSubstr("looked at  /srv/secret/sub: cannot look at /srv/secret/sub: "
                              "Permission denied\n"
                              "    hint       run as root, with CAP_DAC_READ_SEARCH where"));
  EXPECT_THAT(text, HasSubstr("the right to read /srv/secret;"));
  EXPECT_THAT(path, HasSubstr("the right to read /srv/secret;"));
  const auto& match = json.at("resources").at(0).at("matches").at(0);
  for (const auto& told : {match.at("looked_at").at(0), match.at("verdicts").at(0)}) {
    EXPECT_THAT(told.at("hint"), HasSubstr("CAP_DAC_READ_SEARCH"));
  }
  EXPECT_EQ(match.at("hint"), "");
  EXPECT_THAT(ExplainUnprivileged().out, Not(HasSubstr("hint")));
}

TEST_F(MendingTest, AnAttributeThatOneMayNotRead) {
  test::FakeSysfs sysfs(tree_);
  const std::string device = "/sys/devices/virtual/x/a";
  sysfs.Device(device, {.subsystem = "x", .attributes = {{"serial", "1"}, {"reset", "1"}}});
  const auto asks_for = [&](std::string_view attribute, mode_t mode) {
    chmod(tree_.path(format("{}/{}", device, attribute)).c_str(), mode);
    Match(format("udev = {{ subsystem = \"x\", attributes = {{ {} = \"*\" }} }}", attribute));
    return ExplainUnprivileged().out;
  };
  EXPECT_THAT(asks_for("serial", geteuid() == 0 ? 0400 : 0004),
              AllOf(HasSubstr("looked at  " + device + "/serial: cannot read " + device),
                    HasSubstr("the right to read " + device + "/serial;")));
  EXPECT_THAT(asks_for("reset", 0200), HasSubstr("nobody may read " + device + "/reset"));
  EXPECT_THAT(asks_for("serial", 0644),
              AllOf(HasSubstr("1 device listed"), Not(HasSubstr("hint"))));
}

TEST_F(MendingTest, APlaceInSysfsThatOneMayNotRead) {
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/virtual/net/a", {.subsystem = "net"});
  chmod(tree_.path("sys/class/net").c_str(), 0);
  Match(R"(udev = { subsystem = "net" })");
  const auto json = nlohmann::json::parse(ExplainUnprivileged({"--output", "json"}).out);
  chmod(tree_.path("sys/class/net").c_str(), 0755);
  const auto& match = json.at("resources").at(0).at("matches").at(0);
  EXPECT_EQ(match.at("looked_at").at(0).at("place"), "/sys/class/net");
  const auto& verdict = match.at("verdicts").at(0);
  EXPECT_EQ(verdict.at("what"), "/sys");
  EXPECT_THAT(verdict.at("hint"), HasSubstr("the right to read /sys/class/net;"));
}

TEST_F(MendingTest, LinksInACircle) {
  Match(R"(path = "/srv/loop/*")");
  tree_.Link("srv/loop", "loop");
  EXPECT_THAT(Explain().out, HasSubstr("hint       mend the link /srv/loop"));
}

TEST_F(MendingTest, SaysHowManyRejectionsThereAreBesides) {
  Config(kCards);
  for (int i = 0; i < 1'013; ++i) tree_.Link(format("srv/card{}", i), "nowhere");
  const std::string out = Explain().out;
  EXPECT_THAT(out.substr(out.size() - 200), HasSubstr("and 12 more\n"));
}

}  // namespace
}  // namespace patchbay
