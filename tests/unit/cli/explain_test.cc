#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "explain_support.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::ExplainTest;
using test::Ran;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kCards = R"([[resource]]
name = "example.com/card"
[[resource.match]]
path = "/srv/card*"
exclude = "/srv/card9"
type = "file"
)";

TEST_F(ExplainTest, ReportsResourcesOfOtherNodes) {
  Config(
      "[[resource]]\nname = 'a.com/y'\non_nodes = ['desk', 'lab-*']\n[[resource.match]]\ncount = "
      "1\n"
      "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\ncount = 1\n");
  const std::string added =
      "a.com/y: not for this node (rack-1); on_nodes = [\"desk\", \"lab-*\"]\n";
  EXPECT_EQ(Explain().err, added);
  EXPECT_EQ(Explain({"-o", "json"}).err, added);
  EXPECT_EQ(Explain({"a.com/x"}).err, "");
}

TEST_F(ExplainTest, PrintsTheEntryForTheNearestDevice) {
  test::FakeSysfs sysfs(tree_);
  const std::string usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
  sysfs.Device(usb, {.subsystem = "usb",
                     .devtype = "usb_device",
                     .number = "189:1",
                     .node = "/dev/bus/usb/001/002",
                     .attributes = {{"idVendor", "1a86"}, {"idProduct", "7523"}}});
  sysfs.Device(usb + "/1-1:1.0/tty/ttyACM0", {.subsystem = "tty", .number = "166:0"});
  for (const char* keys : {"path = \"/dev/ttyUSB*\"", "path = \"/dev/ttyAMC[0-9]\"",
                           "usb = \"1a86:7532\"", "path = \"/srv/*\"\nusb = \"1a86:7523\""}) {
    Match(keys);
    const Ran ran = Explain();
    EXPECT_THAT(ran.out, AllOf(HasSubstr("    nearest    [[resource]]\n"),
                               HasSubstr("    usb = \"1a86:7523\"\n")))
        << keys;
  }
  for (const char* keys : {"path = \"/dev/video*\"", "usb = \"0403:*\"", "count = 1"}) {
    Match(keys);
    EXPECT_THAT(Explain().out, Not(HasSubstr("nearest"))) << keys;
  }
}

TEST_F(ExplainTest, ReportsTheOutcomeOfEveryMatch) {
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
  EXPECT_THAT(ran.out, HasSubstr("match 1: path = \"/srv/card*\", exclude = "
                                 "\"/srv/card9\", type = \"file\"\n"));
  EXPECT_THAT(ran.out, HasSubstr("scanned    /srv/: 5 names, 4 of them match card*\n"));
  EXPECT_THAT(ran.out, HasSubstr("listed     card1: /srv/card1\n"));
  EXPECT_THAT(ran.out, HasSubstr("filtered   /srv/card9: it is excluded by /srv/card9\n"));
  EXPECT_THAT(ran.out, HasSubstr("filtered   /srv/card.d: it is a directory"));
  EXPECT_THAT(ran.out, HasSubstr("rejected   /srv/card2: dangling_link"));
  EXPECT_THAT(ran.out, Not(HasSubstr("other")));
}

TEST_F(ExplainTest, BeginsWithTheAnswer) {
  Config(std::string(kCards) +
         "[[resource]]\nname = 'example.com/none'\n[[resource.match]]\npath = '/srv/none*'\n"
         "[[resource.match]]\npath = '/no/such/*'\n");
  tree_.File("srv/card1");
  tree_.File("srv/card9");
  tree_.Link("srv/card2", "nowhere");
  EXPECT_THAT(Explain().out,
              testing::StartsWith(
                  "example.com/card: 1 device listed\n"
                  "  match 1: 1 listed, 1 rejected, 1 filtered\n"
                  "example.com/none: 0 devices listed\n"
                  "  match 1: 0 listed; no name there matches the pattern; compare it with the "
                  "names on the host\n"
                  "  match 2: 0 listed; /no: No such file or directory\n"
                  "\nexample.com/card\n  match 1: path = "));
}

TEST_F(ExplainTest, ExitCodeReportsResourcesWithoutDevices) {
  Config(kCards);
  tree_.Dir("srv");
  EXPECT_EQ(Explain().code, kOk);
  EXPECT_EQ(Explain({"--exit-code"}).code, kFailed);
  EXPECT_EQ(Explain({"--exit-code", "-o", "json"}).code, kFailed);
  tree_.File("srv/card1");
  EXPECT_EQ(Explain({"--exit-code"}).code, kOk);
  EXPECT_EQ(Explain({"--exit-code", "--path", "/srv/card1"}).code, kOk);
  EXPECT_EQ(Explain({"--exit-code", "--path", "/srv/card2"}).code, kFailed);
  Config(std::string(kCards) + "[[resource]]\nname = 'a.com/x'\nmatch = [{ path = '/srv/x' }]\n");
  EXPECT_EQ(Explain({"--exit-code"}).code, kFailed) << "one of two";
  EXPECT_EQ(Explain({"--exit-code", "example.com/card"}).code, kOk);
}

TEST_F(ExplainTest, PrintsYaml) {
  Config(kCards);
  tree_.File("srv/card1");
  EXPECT_THAT(Explain({"-o", "yaml"}).out,
              testing::StartsWith("resources:\n  - name: example.com/card\n    listed: 1\n"));
}

TEST_F(ExplainTest, ReportsMissingDeviceNodesAndMounts) {
  Config(R"([[resource]]
name = "example.com/card"
match = [{ path = "/dev/card*" }]
device_node = [{ host_path = "/dev/control" }]
mount = [{ host_path = "/dev/firmware" }]
)");
  tree_.CharDevice("dev/card1");
  const std::string out = Explain().out;
  EXPECT_THAT(out, HasSubstr("listed     card1: /dev/card1, unhealthy: /dev/control of device_node "
                             "is missing: "));
  EXPECT_THAT(out, HasSubstr("  mount: /dev/firmware is missing: "));
  EXPECT_THAT(Explain({"--path", "/dev/card1"}).out, HasSubstr("unhealthy: /dev/control"));
  const auto json = nlohmann::json::parse(Explain({"-o", "json"}).out)["resources"][0];
  EXPECT_EQ(json["missing_mounts"][0]["path"], "/dev/firmware");
  tree_.CharDevice("dev/control");
  tree_.File("dev/firmware");
  EXPECT_THAT(Explain().out, AllOf(Not(HasSubstr("unhealthy")), Not(HasSubstr("mount:"))));
}

TEST_F(ExplainTest, ReportsNodesThatNoGroupCanOpen) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Config(R"([[resource]]
name = "example.com/card"
grant_group = true
match = [{ path = "/dev/card*" }]
)");
  tree_.CharDevice("dev/card1");
  ASSERT_EQ(chmod(tree_.path("dev/card1").c_str(), 0660), 0);
  const auto note = HasSubstr("group is root: a container that is not root cannot open it");
  EXPECT_THAT(Explain().out, note);
  EXPECT_THAT(Explain({"--path", "/dev/card1"}).out, note);
  EXPECT_THAT(test::RunCli({"allocate", "example.com/card", "--config",
                            config_tree_.path("patchbay.toml"), "--host-root", tree_.path()})
                  .err,
              note);
}

TEST_F(ExplainTest, PrintsAHintIfNothingMatches) {
  Config(kCards);
  EXPECT_THAT(Explain().out,
              AllOf(HasSubstr("scanned    /srv: No such file"),
                    HasSubstr("hint       if the host has /srv, the container lacks a mount")));
  tree_.Dir("srv");
  EXPECT_THAT(Explain().out, AllOf(HasSubstr("scanned    /srv/: 0 names\n"),
                                   HasSubstr("hint       if the host has /srv/, the container")));
  tree_.File("srv/other");
  EXPECT_THAT(Explain().out, AllOf(HasSubstr("/srv/: 1 name, which does not match card*\n"),
                                   HasSubstr("no name there matches the pattern; compare it")));
  Match("path = '/srv/missing'");
  EXPECT_THAT(Explain().out,
              AllOf(HasSubstr("0 listed, 1 filtered; /srv/missing: the path does"),
                    HasSubstr("filtered   /srv/missing: the path does not exist\n"),
                    HasSubstr("hint       if the host has /srv/missing, the container")));
}

TEST_F(ExplainTest, ReportsGroupsAndTemplates) {
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

TEST_F(ExplainTest, ReportsTheConditionThatDoesNotMatch) {
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
  EXPECT_THAT(ran.out, HasSubstr("filtered   1 device of another vendor: 0403:6001\n"));
  EXPECT_THAT(ran.out, HasSubstr("path = \"/dev/bus/usb/*/*\", udev = { subsystem = \"tty\" }\n"));
  EXPECT_THAT(ran.out, HasSubstr("/dev/bus/usb/001/002: its subsystem is \"usb\", not tty\n"));
}

TEST_F(ExplainTest, ReportsDevicesForWhichNotComparedNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/usb1/1-1",
               {.subsystem = "usb",
                .devtype = "usb_device",
                .number = "189:1",
                .node = "bus/usb/001/002",
                .attributes = {{"idVendor", "0403"}, {"idProduct", "6001"}}});
  const auto text = [&](std::string_view source, std::string_view negated) {
    Config(Format("[[resource]]\nname = 'a.com/x'\nmatch = [{{ {}, not = {{ {} }} }}]\n", source,
                  negated));
    return Explain().out;
  };
  for (const std::string_view source : {"usb = '0403:6001'", "path = '/dev/bus/usb/*/*'"}) {
    EXPECT_THAT(text(source, "pci_address = '0000:01:00.0'"),
                HasSubstr("/dev/bus/usb/001/002, \"not\" compared nothing: it is not a PCI device, "
                          "nor a child of one\n"));
    EXPECT_THAT(text(source, "usb = '0403:*', serial = 'A*'"),
                HasSubstr("nothing: it has no serial number\n"));
    EXPECT_THAT(text(source, "usb_port = '2-*'"), Not(HasSubstr("compared nothing")));
    EXPECT_THAT(text(source, "usb_port = '2-*', pci_address = '0000:01:00.0'"),
                Not(HasSubstr("compared nothing")));
  }
}

TEST_F(ExplainTest, ShowsEntriesInSlicesWithTheirProblems) {
  Config(R"([[resource]]
name = "a.com/x"
api = "dra"
match = [{ regex = '/srv/(?P<kind>[a-z]+)', type = "file" }]
attributes = { kind = "{kind}{kind}{kind}" }
)");
  tree_.File("srv/abc");
  tree_.File("srv/" + std::string(30, 'k'));
  const std::string text = Explain().out;
  EXPECT_THAT(text, HasSubstr("  NUMA nodes: published as attributes of the devices\n"
                              "  ResourceSlices: 1 in pool rack-1/a.com/x"));
  EXPECT_THAT(text, HasSubstr(", DeviceClass x.a.com\n"
                              "    device     abc: id = \"abc\", kind = \"abcabcabc\", "
                              "path = \"/srv/abc\", resource = \"a.com/x\"\n"));
  EXPECT_THAT(text, HasSubstr("    problem    " + std::string(30, 'k') + " kind: "));
  const auto dra = nlohmann::json::parse(Explain({"--output", "json"}).out)["resources"][0]["dra"];
  EXPECT_EQ(dra["device_class"], "x.a.com");
  EXPECT_EQ(dra["devices"][0]["slice_name"], "abc");
  EXPECT_EQ(dra["devices"][0]["attributes"]["kind"], "abcabcabc");
  EXPECT_EQ(dra["problems"].size(), 1u);
  Match("count = 1");
  EXPECT_FALSE(
      nlohmann::json::parse(Explain({"--output", "json"}).out)["resources"][0].contains("dra"));
}

TEST_F(ExplainTest, ShowsCapacityAndTaintsOfEntriesInSlices) {
  Config(R"([[resource]]
name = "a.com/x"
api = "dra"
replicas = 3
match = [{ path = "/srv/*", type = "file" }]
device_node = [{ host_path = "/dev/missing", container_path = "/dev/x" }]
capacity = { memory = "16384Mi" }
)");
  tree_.File("srv/abc");
  EXPECT_THAT(Explain().out,
              HasSubstr("; 16Gi memory; 3 slots; taint patchbay.dev/unhealthy:NoSchedule\n"));
  const auto dra = nlohmann::json::parse(Explain({"--output", "json"}).out)["resources"][0]["dra"];
  EXPECT_EQ(dra["slices"], 1);
  EXPECT_EQ(dra["devices"][0]["slots"], 3);
  EXPECT_EQ(dra["devices"][0]["capacity"], nlohmann::json({{"memory", "16Gi"}}));
  EXPECT_EQ(dra["devices"][0]["taints"][0]["key"], "patchbay.dev/unhealthy");
  EXPECT_EQ(dra["devices"][0]["taints"][0]["effect"], "NoSchedule");
}

TEST_F(ExplainTest, NamesTheEffectThatAClaimMustTolerate) {
  const std::string config =
      "[[resource]]\nname = 'a.com/x'\napi = 'dra'\nmatch = [{ count = 1 }]\n";
  Config(config + "on_unhealthy = 'evict'\n");
  EXPECT_THAT(Explain().out, HasSubstr("needs `effect: NoExecute` in its toleration"));
  Config(config);
  EXPECT_THAT(Explain().out, Not(HasSubstr("toleration")));
}

TEST_F(ExplainTest, ReportsThatProbesWereNotRunForTaints) {
  const std::string config =
      "[[resource]]\nname = 'a.com/x'\napi = 'dra'\nmatch = [{ count = 1 }]\n";
  Config(config + "[resource.health]\ncommand = ['/bin/false']\n");
  EXPECT_THAT(Explain().out, HasSubstr("because probes do not run here; `patchbay devices "
                                       "--config "));
  EXPECT_THAT(Explain().out, HasSubstr(" --probe --output json a.com/x` has them\n"));
  Config(config);
  EXPECT_THAT(Explain().out, Not(HasSubstr("--probe")));
}

TEST_F(ExplainTest, UsesSysfsNamesForDevicesWithoutNode) {
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/usb1/1-1", {.subsystem = "usb",
                                         .devtype = "usb_device",
                                         .attributes = {{"idVendor", "0c72"}, {"idProduct", "1"}}});
  for (const std::string path : {"usb1/1-1/net/can1", "virtual/net/can0", "virtual/net/lo"}) {
    sysfs.Device(
        "/sys/devices/" + path,
        {.subsystem = "net", .attributes = {{"type", path.ends_with("lo") ? "772" : "280"}}});
  }
  Match("udev = { subsystem = 'net', attributes = { type = '280' } }");
  EXPECT_THAT(Explain().out,
              AllOf(HasSubstr("listed     0c72:1@1-1: can1\n"), HasSubstr("listed     can0\n"),
                    HasSubstr("filtered   lo: its attribute type is \"772\"")));
}

TEST_F(ExplainTest, ReportsAnEmptyScanOfSysfs) {
  test::FakeSysfs sysfs(tree_);
  Config(R"([[resource]]
name = "a.com/x"
[[resource.match]]
udev = { subsystem = "nett" }
[[resource.match]]
command = ["/bin/echo", "[]"]
)");
  const std::string out = Explain().out;
  EXPECT_THAT(out, HasSubstr("scanned    /sys: 0 devices\n"));
  EXPECT_THAT(out, HasSubstr("sysfs has no such device"));
  EXPECT_THAT(out, HasSubstr("/bin/echo: printed 0 entries\n"));
  EXPECT_THAT(out, HasSubstr("hint       the command prints no device; run it manually\n"));
  EXPECT_THAT(out, HasSubstr("match 2: command = [\"/bin/echo\", \"[]\"]\n"));
}

TEST_F(ExplainTest, ReportsNodesSharedByTwoResources) {
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
  Config(Format(fmt::runtime(two), ""));
  EXPECT_THAT(Explain({"example.com/a"}).out,
              HasSubstr("shared: /srv/card1 also belongs to example.com/b"));
  Config(Format(fmt::runtime(two), "exclusive = true"));
  const Ran ran = Explain({"example.com/a"});
  EXPECT_THAT(ran.out, HasSubstr("rejected   /srv/card1: taken: "));
  EXPECT_THAT(ran.out, Not(HasSubstr("shared")));
}

TEST_F(ExplainTest, ListsResourcesForAnUnknownName) {
  Config(kCards);
  const Ran ran = Explain({"example.com/cards"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("did you mean \"example.com/card\"?"));
  EXPECT_THAT(Explain({"NOPE"}).err,
              HasSubstr("has no resource \"NOPE\"; it has example.com/card\n"));
  std::string many;
  for (int i = 0; i < 12; ++i) {
    many += Format("[[resource]]\nname = \"a.com/x{}\"\n[[resource.match]]\ncount = 1\n", i);
  }
  Config(many);
  EXPECT_THAT(Explain({"NOPE"}).err, HasSubstr("it has a.com/x0, a.com/x1, a.com/x2, a.com/x3, "
                                               "a.com/x4, a.com/x5, a.com/x6, a.com/x7, a.com/x8, "
                                               "a.com/x9 and 2 more\n"));
  const Ran path = Explain({"/dev/ttyUSB0"});
  EXPECT_EQ(path.code, kUsage);
  EXPECT_THAT(path.err, AllOf(HasSubstr("\"/dev/ttyUSB0\" is a path, not a resource name"),
                              HasSubstr("--path /dev/ttyUSB0`")));
}

TEST_F(ExplainTest, PrintsEachPathOnceInNumericOrder) {
  Config(R"([[resource]]
name = "example.com/card"
[[resource.match]]
path = ["/srv/card*", "/srv/c*", "/srv/**/nothing"]
type = "file"
exclude = "/srv/card?*"
)");
  for (const char* name : {"card10", "card2", "card1", "card33"}) {
    tree_.File(std::string("srv/") + name);
    tree_.Dir(std::string("srv/d/") + name);
  }
  const std::string out = Explain().out;
  const std::string why = "it is excluded by /srv/card?*\n";
  EXPECT_THAT(out, HasSubstr("filtered   /srv/card1, /srv/card2, /srv/card10 and 1 more: " + why));
  EXPECT_THAT(out, Not(HasSubstr("the path does not exist")));
  const auto json = nlohmann::json::parse(Explain({"-o", "json"}).out);
  std::vector<std::string> paths;
  for (const auto& outcome : json.at("resources").at(0).at("matches").at(0).at("outcomes")) {
    paths.push_back(outcome.at("paths").at(0));
  }
  EXPECT_THAT(paths,
              testing::ElementsAre("/srv/card1", "/srv/card2", "/srv/card10", "/srv/card33"));
}

TEST_F(ExplainTest, NamesADeviceWithoutNumaNode) {
  Match("count = 2");
  EXPECT_THAT(Explain().out,
              HasSubstr("NUMA nodes: not reported (sysfs has no NUMA node for device \"0\")\n"));
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
  EXPECT_EQ(match.at("match"), R"(path = "/srv/card*", exclude = "/srv/card9", type = "file")");
  const auto& look = match.at("scanned").at(0);
  EXPECT_EQ(look.at("place"), "/srv/");
  EXPECT_EQ(look.at("pattern"), "card*");
  EXPECT_EQ(look.at("names"), 3);
  EXPECT_EQ(look.at("matched"), 3);
  const auto& outcomes = match.at("outcomes");
  ASSERT_EQ(outcomes.size(), 3);
  EXPECT_EQ(outcomes.at(0), nlohmann::json::parse(R"({"outcome": "listed", "id": "card1",
      "paths": ["/srv/card1"], "reason": "", "detail": ""})"));
  EXPECT_EQ(outcomes.at(1).at("outcome"), "rejected");
  EXPECT_EQ(outcomes.at(1).at("paths").at(0), "/srv/card\\xff");
  EXPECT_EQ(outcomes.at(1).at("reason"), "bad_name");
  EXPECT_THAT(outcomes.at(1).at("detail"), testing::StartsWith("its path is not valid UTF-8"));
  EXPECT_EQ(outcomes.at(2), nlohmann::json::parse(R"({"outcome": "filtered", "id": "",
      "paths": ["/srv/card9"], "reason": "excluded", "detail": "it is excluded by /srv/card9"})"));
}

/// Hints and errors about paths that are missing or cannot be read.
using ExplainHintTest = ExplainTest;

TEST_F(ExplainHintTest, NamesTheMissingDirectory) {
  Match(R"(path = ["/dev/ttyUSB*", "/dev/serial/by-id/*"])");
  const std::string out = Explain().out;
  EXPECT_THAT(out, AllOf(HasSubstr("scanned    /dev: No such file"),
                         HasSubstr("hint       if the host has /dev, the container lacks a mount "
                                   "(a hostPath volume; read-only is enough);")));
  EXPECT_EQ(out.find("hint"), out.rfind("hint")) << "one for each match";
}

TEST_F(ExplainHintTest, ReportsAParentThatIsNotADirectory) {
  tree_.File("dev/ttyUSB0");
  for (const char* keys : {"path = '/dev/ttyUSB0/*'", "regex = '/dev/ttyUSB0/.*'"}) {
    Match(keys);
    EXPECT_THAT(Explain().out, testing::ContainsRegex("scanned    /dev/ttyUSB0: .*directory\n"))
        << keys;
  }
}

TEST_F(ExplainHintTest, NamesTheMissingSysMount) {
  Match("pci = \"10ee:5000\"\n[[resource.match]]\nusb = \"0403:*\"");
  const std::string why =
      "sysfs has no devices: mount the host's /sys at " + tree_.path("sys") + "\n";
  const std::string out = Explain().out;
  EXPECT_THAT(
      out, AllOf(HasSubstr("rejected   /sys: unreadable: " + why),
                 HasSubstr("scanned    /sys: " + why), Not(HasSubstr("sysfs has no such device"))));
  tree_.Dir("sys");  // a container without a mount has an empty directory
  EXPECT_THAT(Explain().out, HasSubstr(why));
}

TEST_F(ExplainHintTest, NamesTheMissingSysMountForPathConditions) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Match("path = \"/dev/tty*\"\nusb = \"0403:6001\"");
  tree_.CharDevice("dev/ttyUSB0", 188, 0);
  EXPECT_THAT(Explain().out, AllOf(HasSubstr("rejected   /sys: unreadable: "),
                                   HasSubstr("mount the host's /sys at " + tree_.path("sys"))));
}

TEST_F(ExplainHintTest, NamesTheMissingUdevDatabase) {
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/virtual/net/can0", {.subsystem = "net", .ifindex = "4"});
  const auto out = [&](std::string_view keys) {
    Match(keys);
    return Explain().out;
  };
  const std::string_view serial =
      R"(udev = { subsystem = "net", properties = { ID_SERIAL = "*" } })";
  EXPECT_THAT(out(serial),
              HasSubstr("filtered   can0: it has no property ID_SERIAL; there is no udev "
                        "database: mount the host's /run/udev\n"));
  EXPECT_THAT(out(R"(udev = { subsystem = "net", properties = { IFINDEX = "4" } })"),
              AllOf(HasSubstr("1 device listed"), Not(HasSubstr("/run/udev"))))
      << "the kernel itself knows it";
  tree_.Dir("run/udev/data");
  EXPECT_THAT(out(serial), AllOf(HasSubstr("no property ID_SERIAL"), Not(HasSubstr("/run/udev"))));
}

TEST_F(ExplainHintTest, NamesThePermissionForADirectory) {
  Match("path = \"/srv/secret/sub/*\"\ntype = \"file\"");
  tree_.File("srv/secret/sub/card");
  chmod(tree_.path("srv/secret").c_str(), 0);
  const std::string text = ExplainUnprivileged().out;
  const auto json = nlohmann::json::parse(ExplainUnprivileged({"--output", "json"}).out);
  const std::string path = ExplainUnprivileged({"--path", "/srv/secret/sub"}).out;
  chmod(tree_.path("srv/secret").c_str(), 0755);
  const std::string why =
      "cannot access /srv/secret/sub: Permission denied; allow this user to read /srv/secret, or "
      "run "
      "as root with CAP_DAC_READ_SEARCH; SELinux can deny it to root, too";
  EXPECT_THAT(text, HasSubstr("rejected   /srv/secret/sub: unreadable: " + why + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("scanned"))) << "it is printed once";
  EXPECT_THAT(path, testing::StartsWith("/srv/secret/sub: " + why));
  const auto& match = json.at("resources").at(0).at("matches").at(0);
  EXPECT_EQ(match.at("scanned").at(0).at("problem"), why);
  EXPECT_EQ(match.at("outcomes").at(0).at("detail"), why);
  EXPECT_EQ(match.at("hint"), "");
  EXPECT_THAT(ExplainUnprivileged().out, Not(HasSubstr("allow this user")));
}

TEST_F(ExplainHintTest, NamesThePermissionForAnAttribute) {
  test::FakeSysfs sysfs(tree_);
  const std::string device = "/sys/devices/virtual/x/a";
  sysfs.Device(device, {.subsystem = "x", .attributes = {{"serial", "1"}}});
  Match("udev = { subsystem = \"x\", attributes = { serial = \"*\" } }");
  chmod(tree_.path(device + "/serial").c_str(), 0200);
  EXPECT_THAT(
      ExplainUnprivileged().out,
      HasSubstr("scanned    " + device + "/serial: Permission denied; allow this user to read " +
                device + "/serial, or "));
  chmod(tree_.path(device + "/serial").c_str(), 0644);
  EXPECT_THAT(ExplainUnprivileged().out,
              AllOf(HasSubstr("1 device listed"), Not(HasSubstr("allow this user"))));
}

TEST_F(ExplainHintTest, NamesThePermissionForASysfsDirectory) {
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/virtual/net/a", {.subsystem = "net"});
  chmod(tree_.path("sys/class/net").c_str(), 0);
  Match(R"(udev = { subsystem = "net" })");
  const auto json = nlohmann::json::parse(ExplainUnprivileged({"--output", "json"}).out);
  chmod(tree_.path("sys/class/net").c_str(), 0755);
  const auto& match = json.at("resources").at(0).at("matches").at(0);
  EXPECT_EQ(match.at("scanned").at(0).at("place"), "/sys/class/net");
  const auto& outcome = match.at("outcomes").at(0);
  EXPECT_EQ(outcome.at("paths").at(0), "/sys");
  EXPECT_THAT(outcome.at("detail"), HasSubstr("allow this user to read /sys/class/net,"));
}

TEST_F(ExplainHintTest, NamesTheLinkOfALoop) {
  Match("path = '/srv/loop/*'");
  tree_.Link("srv/loop", "loop");
  EXPECT_THAT(Explain().out, HasSubstr("scanned    /srv/loop: the link /srv/loop is a loop"));
}

TEST_F(ExplainHintTest, CountsFurtherRejections) {
  Config(kCards);
  for (int i = 0; i < 1'013; ++i) tree_.Link(Format("srv/card{}", i), "nowhere");
  const std::string out = Explain().out;
  EXPECT_THAT(out.substr(out.size() - 200), HasSubstr("and 12 more\n"));
}

}  // namespace
}  // namespace patchbay
