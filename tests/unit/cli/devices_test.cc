#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::Ran;
using test::RunCli;
using test::ScopedEnv;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class DevicesTest : public testing::Test {
 protected:
  void Config(std::string_view text) { tree_.File("patchbay.toml", text); }
  Ran Devices(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"devices", "--config", tree_.path("patchbay.toml"),
                                     "--host-root", tree_.path("host")};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }

  std::string Flags() const {
    return "--config " + tree_.path("patchbay.toml") + " --host-root " + tree_.path("host");
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", "rack-1"};
  test::TempTree tree_;
};

constexpr const char* kTwoResources = R"([[resource]]
name = "example.com/card"
replicas = 2
[[resource.match]]
regex = '/srv/cards/card(?P<number>\d+)'
type = "file"

[[resource]]
name = "example.com/none"
[[resource.match]]
path = "/srv/none*"
type = "any"
)";

TEST_F(DevicesTest, PrintsATable) {
  Config(kTwoResources);
  tree_.File("host/srv/cards/card10");
  tree_.File("host/srv/cards/card9");
  tree_.File("host/srv/real");
  tree_.Link("host/srv/cards/card1", "/srv/real");
  const Ran ran = Devices();
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "run `patchbay explain " + Flags() +
                         " example.com/none` to see why it has no device\n");
  EXPECT_EQ(ran.out,
            "RESOURCE          DEVICE  UNITS  HEALTH   PATH\n"
            "example.com/card  card1   2      Healthy  /srv/cards/card1 -> /srv/real\n"
            "example.com/card  card9   2      Healthy  /srv/cards/card9\n"
            "example.com/card  card10  2      Healthy  /srv/cards/card10\n"
            "example.com/none  (none)\n");
}

TEST_F(DevicesTest, PrintsTheEntryInTheSliceForDra) {
  Config(R"([[resource]]
name = "example.com/card"
api = "dra"
match = [{ path = "/srv/cards/*", type = "file" }]
attributes = { site = "hall-3", level = { int = "3" }, fw = { version = "1.2.3" }, on = { bool = "true" } }

[[resource]]
name = "example.com/seat"
match = [{ count = 1 }]
)");
  tree_.File("host/srv/cards/Card");
  for (const std::string output : {"json", "yaml"}) {
    const Ran ran = Devices({"--output", output});
    EXPECT_EQ(ran.code, kOk);
    EXPECT_THAT(ran.out, HasSubstr("slice_name"));
  }
  const Json resources = Json::parse(Devices({"--output", "json"}).out)["resources"];
  EXPECT_EQ(resources[0]["api"], "dra");
  const Json& device = resources[0]["devices"][0];
  EXPECT_THAT(device["slice_name"].get<std::string>(), testing::MatchesRegex("card-[0-9a-f]{16}"));
  EXPECT_EQ(device["attributes"], Json({{"resource", "example.com/card"},
                                        {"id", "Card"},
                                        {"path", "/srv/cards/Card"},
                                        {"site", "hall-3"},
                                        {"level", 3},
                                        {"fw", "1.2.3"},
                                        {"on", true}}));
  EXPECT_EQ(device["slots"], nullptr);
  EXPECT_EQ(device["taints"], Json::array());
  EXPECT_EQ(resources[1]["api"], "device-plugin");
  EXPECT_FALSE(resources[1]["devices"][0].contains("slice_name"));
}

TEST_F(DevicesTest, PrintsRejectedDevicesWithReasons) {
  Config(kTwoResources);
  tree_.Link("host/srv/cards/card1", "/srv/nowhere");
  tree_.Dir("host/srv/cards/card2");
  const Ran ran = Devices();
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, HasSubstr("\n\nRESOURCE          REJECTED          REASON\n"
                                 "example.com/card  /srv/cards/card1  dangling"));
  EXPECT_EQ(ran.err, "run `patchbay explain " + Flags() + "` to see why some have no device\n");
}

TEST_F(DevicesTest, PrintsMissingDeviceNodesAndMounts) {
  Config(R"([[resource]]
name = "example.com/card"
match = [{ path = "/dev/card*" }]
device_node = [{ host_path = "/dev/control" }]
mount = [{ host_path = "/dev/firmware" }]
[resource.health]
open = true
)");
  tree_.CharDevice("host/dev/card1");
  const Ran ran = Devices();
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, HasSubstr("card1   1      Unhealthy  /dev/card1\n"));
  EXPECT_THAT(ran.out, HasSubstr("\n\nRESOURCE          UNHEALTHY  REASON\n"
                                 "example.com/card  card1      /dev/control of device_node is "
                                 "missing: "));
  EXPECT_THAT(ran.out, HasSubstr("\n\nRESOURCE          MISSING MOUNT  REASON\n"
                                 "example.com/card  /dev/firmware  "));
  EXPECT_THAT(Devices({"--probe"}).out, HasSubstr("/dev/control of device_node is missing"));
  const Json json = Json::parse(Devices({"--output", "json"}).out);
  const Json& resource = json["resources"][0];
  EXPECT_EQ(resource["devices"][0]["health"], "Unhealthy");
  EXPECT_THAT(resource["devices"][0]["reason"].get<std::string>(), HasSubstr("/dev/control"));
  EXPECT_EQ(resource["missing_mounts"][0]["path"], "/dev/firmware");
  tree_.CharDevice("host/dev/control");
  EXPECT_THAT(Devices().out, HasSubstr("card1   1      not probed  /dev/card1\n"));
}

TEST_F(DevicesTest, WarnsOfAnExcludeThatExcludesNothing) {
  Config(R"([[resource]]
name = "example.com/card"
match = [{ path = "/srv/cards/*", type = "file", exclude = ["/srv/cards/card1", "/srv/sytem"] }]
)");
  tree_.File("host/srv/cards/card1");
  tree_.File("host/srv/cards/card2");
  const Ran ran = Devices();
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.out, HasSubstr("\n\nRESOURCE          EXCLUDE     REASON\n"
                                 "example.com/card  /srv/sytem  it excludes nothing: no device"));
  const Json json = Json::parse(Devices({"--output", "json"}).out);
  EXPECT_EQ(json["resources"][0]["unused_excludes"],
            Json::parse(R"([{"path": "/srv/sytem", "reason":
                "it excludes nothing: no device that the match finds has it; check its spelling, and name a node of a device that the match finds"
            }])"));
}

TEST_F(DevicesTest, WarnsOfADeviceThatNeedsAttention) {
  Config(R"([[resource]]
name = "example.com/card"
grant_group = true
match = [{ path = "/srv/cards/*", type = "file" }]
)");
  tree_.File("host/srv/cards/card1");
  EXPECT_THAT(Devices().out, HasSubstr("\n\nRESOURCE          NEEDS ATTENTION  REASON\n"
                                       "example.com/card  card1            /srv/cards/card1: "));
  const Json notes = Json::parse(Devices({"--output", "json"}).out)["resources"][0]["notes"];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["device"], "card1");
  EXPECT_THAT(notes[0]["reason"].get<std::string>(), HasSubstr("a container that is not root"));
}

TEST_F(DevicesTest, PrintsTheDocumentedJson) {
  Config(kTwoResources);
  tree_.File("host/srv/cards/card9");
  const Ran ran = Devices({"--output", "json"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, R"({
  "resources": [
    {
      "name": "example.com/card",
      "api": "device-plugin",
      "devices": [
        {
          "id": "card9",
          "health": "Healthy",
          "reason": "",
          "paths": [
            "/srv/cards/card9"
          ],
          "numa_node": null,
          "variables": {
            "id": "card9",
            "resource": "example.com/card",
            "index": 0,
            "path": "/srv/cards/card9",
            "real_path": "/srv/cards/card9",
            "name": "card9",
            "major": 0,
            "minor": 0,
            "number": "9"
          }
        }
      ],
      "rejected": [],
      "missing_mounts": [],
      "unused_excludes": [],
      "notes": []
    },
    {
      "name": "example.com/none",
      "api": "device-plugin",
      "devices": [],
      "rejected": [],
      "missing_mounts": [],
      "unused_excludes": [],
      "notes": []
    }
  ]
}
)");
}

TEST_F(DevicesTest, PrintsOneResource) {
  Config(kTwoResources);
  tree_.File("host/srv/cards/card9");
  const Ran one = Devices({"example.com/card"});
  EXPECT_EQ(one.code, kOk);
  EXPECT_EQ(one.err, "");
  EXPECT_EQ(one.out,
            "RESOURCE          DEVICE  UNITS  HEALTH   PATH\n"
            "example.com/card  card9   2      Healthy  /srv/cards/card9\n");
  const Ran unknown = Devices({"example.com/crad"});
  EXPECT_EQ(unknown.code, kFailed);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err, HasSubstr("no resource \"example.com/crad\"; did you mean "
                                     "\"example.com/card\"?"));
  EXPECT_THAT(Devices({"nothing"}).err, HasSubstr("it has example.com/card, example.com/none\n"));
}

TEST_F(DevicesTest, PrintsNames) {
  Config(kTwoResources);
  tree_.File("host/srv/cards/card10");
  tree_.File("host/srv/cards/card9");
  EXPECT_EQ(Devices({"-o", "name"}).out, "card9\ncard10\n");
  const Ran none = Devices({"-o", "name", "example.com/none"});
  EXPECT_EQ(none.out + none.err, "");
}

TEST_F(DevicesTest, PrintsYaml) {
  Config(kTwoResources);
  tree_.File("host/srv/cards/card9");
  EXPECT_THAT(Devices({"-o", "yaml", "example.com/card"}).out,
              StartsWith("resources:\n"
                         "  - name: example.com/card\n"
                         "    api: device-plugin\n"
                         "    devices:\n"
                         "      - id: card9\n"
                         "        health: Healthy\n"));
}

TEST_F(DevicesTest, PrintsMajorAndMinorNumbers) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Config("[[resource]]\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/x*'\n");
  tree_.CharDevice("host/dev/x1", 1, 7);
  tree_.BlockDevice("host/dev/x2", 7, 250);
  const Json devices = Json::parse(Devices({"-o", "json"}).out)["resources"][0]["devices"];
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0]["variables"]["major"], 1);
  EXPECT_EQ(devices[0]["variables"]["minor"], 7);
  EXPECT_EQ(devices[1]["variables"]["major"], 7);
  EXPECT_EQ(devices[1]["variables"]["minor"], 250);
  EXPECT_EQ(devices[1]["variables"]["index"], 1);
}

TEST_F(DevicesTest, PrintsNumaNodes) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  Config(
      "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/x*'\n"
      "[[resource]]\nname = 'a.com/y'\n[[resource.match]]\npath = '/dev/y*'\n");
  test::TempTree host;
  test::FakeSysfs sysfs(host);
  const std::string function = "/sys/devices/pci0000:00/0000:00:02.0";
  sysfs.Device(function, {.subsystem = "pci", .attributes = {{"numa_node", "1"}}});
  sysfs.Device(function + "/misc/x1", {.subsystem = "misc", .number = "240:1"});
  host.CharDevice("dev/x2");
  const auto devices = [&](const char* output) {
    return RunCli({"devices", "--config", tree_.path("patchbay.toml"), "--host-root", host.path(),
                   "--output", output})
        .out;
  };
  EXPECT_EQ(devices("table"),
            "RESOURCE  DEVICE  UNITS  HEALTH   NUMA  PATH\n"
            "a.com/x   x1      1      Healthy  1     /dev/x1\n"
            "a.com/x   x2      1      Healthy  -     /dev/x2\n"
            "a.com/y   (none)\n");
  const Json json = Json::parse(devices("json"))["resources"][0]["devices"];
  EXPECT_EQ(json[0]["numa_node"], 1);
  EXPECT_EQ(json[0]["variables"]["numa_node"], 1);
  EXPECT_EQ(json[1]["numa_node"], nullptr);
  EXPECT_FALSE(json[1]["variables"].contains("numa_node"));
}

TEST_F(DevicesTest, OmitsResourcesOfOtherNodes) {
  Config(
      "[[resource]]\nname = 'a.com/x'\non_nodes = ['rack-*']\n[[resource.match]]\ncount = 1\n"
      "[[resource]]\nname = 'a.com/y'\non_nodes = ['desk']\n[[resource.match]]\ncount = 1\n");
  tree_.Dir("host");
  std::vector<std::string> names;
  const Ran ran = Devices({"-o", "json"});
  EXPECT_EQ(ran.err, "a.com/y: not for this node (rack-1); on_nodes = [\"desk\"]\n");
  const Json document = Json::parse(ran.out);
  for (const Json& r : document["resources"]) {
    names.push_back(r["name"]);
  }
  EXPECT_THAT(names, ElementsAre("a.com/x"));
}

TEST_F(DevicesTest, ShowsTheEntryForThisNodeOfSeveralWithTheSameName) {
  Config(
      "[[resource]]\nname = 'a.com/x'\non_nodes = ['desk']\n[[resource.match]]\ncount = 1\n"
      "[[resource]]\nname = 'a.com/x'\non_nodes = ['rack-*']\n[[resource.match]]\ncount = 2\n");
  tree_.Dir("host");
  const Ran ran = Devices({"-o", "json"});
  EXPECT_EQ(ran.err, "");
  const Json resources = Json::parse(ran.out)["resources"];
  ASSERT_EQ(resources.size(), 1U);
  EXPECT_EQ(resources[0]["devices"].size(), 2U);
}

TEST_F(DevicesTest, RequiresAnExistingHostRoot) {
  Config(
      "[daemon]\nhost_root = '/no/such'\n[[resource]]\nname = 'a.com/x'\n"
      "[[resource.match]]\ncount = 1\n");
  tree_.Dir("host");
  const std::string file = tree_.path("patchbay.toml");
  for (const std::vector<std::string>& line : {std::vector<std::string>{"devices", "-c", file},
                                               {"explain", "-c", file},
                                               {"allocate", "-c", file, "a.com/x"}}) {
    const Ran ran = RunCli(line);
    EXPECT_EQ(ran.code, kFailed) << line.front();
    EXPECT_THAT(ran.err, HasSubstr("\"/no/such\" is not a directory here")) << line.front();
  }
  EXPECT_EQ(Devices().code, kOk);
  EXPECT_EQ(RunCli({"check", file}).code, kOk);
}

TEST_F(DevicesTest, EscapesHostileDeviceNames) {
  Config(
      "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/*'\ntype = 'file'\n"
      "[resource.env]\nX = '{path}'\n");
  tree_.File("host/dev/a\nb\x1b[2J");
  tree_.File("host/dev/\xff\xfe");
  tree_.File("host/dev/Gerät");
  const Ran text = Devices();
  EXPECT_EQ(text.code, kOk);
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
  EXPECT_THAT(text.out, HasSubstr("Gerät"));
  const Ran json = Devices({"-o", "json"});
  EXPECT_FALSE(Json::parse(json.out, nullptr, false).is_discarded()) << json.out;
}

TEST_F(DevicesTest, PrintsOnlyErrorsForAnInvalidFile) {
  Config("[[resource]]\nname = 'x'\n");
  tree_.Dir("host");
  const Ran ran = Devices();
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, StartsWith(tree_.path("patchbay.toml") + ":1:"));
}

TEST_F(DevicesTest, ReportsWarningsOnStderr) {
  Config(
      "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/ttyUSB*'\n"
      "[[resource]]\nname = 'a.com/y'\n[[resource.match]]\npath = '/dev/ttyUSB0'\n");
  tree_.Dir("host");
  const Ran ran = Devices({"-o", "json"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "patchbay: the configuration has 1 warning; run `patchbay check --config " +
                         tree_.path("patchbay.toml") + "` to see it\n");
  EXPECT_FALSE(Json::parse(ran.out, nullptr, false).is_discarded());
}

TEST_F(DevicesTest, AcceptsAConfigWithoutResources) {
  Config("");
  tree_.Dir("host");
  EXPECT_EQ(Devices({"-o", "json"}).out, "{\n  \"resources\": []\n}\n");
  EXPECT_EQ(Devices().out, "RESOURCE  DEVICE  UNITS  HEALTH  PATH\n");
}

constexpr const char* kProbes = R"([[resource]]
name = "example.com/card"
[[resource.match]]
path = "/dev/card*"
[resource.health]
command = ["/bin/sh", "-c", "echo this is $0; echo bad $1 >&2; test $0 = card0", "{name}", "\u001b"]
[[resource]]
name = "example.com/link"
[[resource.match]]
path = "/dev/link*"
[resource.health]
file = "/sys/state/{name}"
equals = "up"
[[resource]]
name = "example.com/plain"
[[resource.match]]
path = "/dev/plain"
)";

TEST_F(DevicesTest, MarksDevicesThatWereNotProbed) {
  Config(kProbes);
  for (const char* name : {"card0", "link0", "plain"}) {
    tree_.CharDevice(std::string("host/dev/") + name);
  }
  EXPECT_EQ(Devices().out,
            "RESOURCE           DEVICE  UNITS  HEALTH      PATH\n"
            "example.com/card   card0   1      not probed  /dev/card0\n"
            "example.com/link   link0   1      not probed  /dev/link0\n"
            "example.com/plain  plain   1      Healthy     /dev/plain\n");
}

TEST_F(DevicesTest, JsonHasTheHealthAndTaintsOfTheProbe) {
  Config(R"([[resource]]
name = "example.com/card"
api = "dra"
on_unhealthy = "evict"
match = [{ path = "/srv/card*", type = "file" }]
[resource.health]
command = ["/bin/sh", "-c", "test $0 = card0", "{name}"]
)");
  tree_.File("host/srv/card0");
  tree_.File("host/srv/card1");
  const auto devices = [&](const std::vector<std::string>& flags) {
    return Json::parse(Devices(flags).out)["resources"][0]["devices"];
  };
  for (const Json& device : devices({"-o", "json"})) EXPECT_EQ(device["health"], "not probed");
  const Json probed = devices({"-o", "json", "--probe"});
  EXPECT_EQ(probed[0]["health"], "Healthy");
  EXPECT_EQ(probed[0]["taints"], Json::array());
  EXPECT_EQ(probed[1]["health"], "Unhealthy");
  EXPECT_THAT(probed[1]["reason"].get<std::string>(), HasSubstr("exit code 1"));
  EXPECT_EQ(probed[1]["taints"][0],
            Json({{"key", "patchbay.dev/unhealthy"}, {"effect", "NoExecute"}}));
}

TEST_F(DevicesTest, ProbePrintsResultTimeAndOutput) {
  Config(kProbes);
  for (const char* name : {"card0", "card1", "link0", "plain"}) {
    tree_.CharDevice(std::string("host/dev/") + name);
  }
  tree_.File("host/sys/state/link0", "down\n");
  const Ran ran = Devices({"--probe"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, StartsWith("RESOURCE"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("example.com/card +card0 +success +[0-9.]+ ms"));
  EXPECT_THAT(ran.out,
              testing::ContainsRegex("example.com/card +card1 +failure +[0-9.]+ ms +/bin/sh "
                                     "ended with exit code 1: bad .x1b; this is card1"));
  EXPECT_THAT(ran.out, HasSubstr(R"(/sys/state/link0 contains "down", not "up")"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("plain +- +- +the resource has no"));
  EXPECT_THAT(ran.out,
              HasSubstr("example.com/card card0 printed:\n  bad \\x1b\n  this is card0\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("card1 printed"))) << "the reason has all of it";

  const Ran json = Devices({"--probe", "--output", "json"});
  EXPECT_EQ(json.code, 1);
  const Json resources = Json::parse(json.out).at("resources");
  const Json& good = resources.at(0).at("devices").at(0).at("probe");
  EXPECT_EQ(good.at("result"), "success");
  EXPECT_EQ(good.at("reason"), "");
  EXPECT_GT(good.at("seconds"), 0);
  EXPECT_THAT(good.at("output").get<std::string>(), HasSubstr("this is card0"));
  EXPECT_EQ(resources.at(1).at("devices").at(0).at("probe").at("result"), "failure");
  EXPECT_FALSE(resources.at(2).at("devices").at(0).contains("probe"));
  EXPECT_FALSE(Json::parse(Devices({"--output", "json"}).out)
                   .at("resources")
                   .at(0)
                   .at("devices")
                   .at(0)
                   .contains("probe"));
}

TEST_F(DevicesTest, ProbePrintsTheOutputOfACommand) {
  Config(R"([[resource]]
name = "example.com/card"
[[resource.match]]
path = "/dev/card*"
[resource.health]
command = ["/bin/sh", "-c", "seq 1000; exit 1"]
)");
  tree_.CharDevice("host/dev/card0");
  EXPECT_THAT(Devices({"--probe"}).out, HasSubstr("card0 printed:\n  1\n  2\n"));
}

TEST_F(DevicesTest, ProbeExitsWithZeroIfAllDevicesAreHealthy) {
  Config(kProbes);
  tree_.CharDevice("host/dev/card0");
  tree_.CharDevice("host/dev/link0");
  tree_.File("host/sys/state/link0", "up\n");
  EXPECT_EQ(Devices({"--probe"}).code, 0);
}

}  // namespace
}  // namespace patchbay
