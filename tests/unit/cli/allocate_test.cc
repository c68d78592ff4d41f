#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;
using test::Ran;
using test::RunCli;
using test::ScopedEnv;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kConfig = R"([[resource]]
name = "example.com/seat"
max_per_container = 3
cdi_devices = ["example.com/seat={id}"]
[[resource.match]]
count = 4
[[resource.mount]]
host_path = "/opt/seats"
[[resource.mount]]
host_path = "/srv/seat{id}"
container_path = "/seat{slot}"
read_only = false
[resource.env]
SEATS = "{id}"
NODE = "{node_name}"
[resource.annotations]
"example.com/seat" = "{id}"

[[resource]]
name = "example.com/shared"
replicas = 2
[[resource.match]]
count = 2
[resource.env]
WHO = "{id}"

[[resource]]
name = "example.com/elsewhere"
on_nodes = ["desk"]
[[resource.match]]
count = 1
)";

class AllocateTest : public testing::Test {
 protected:
  AllocateTest() {
    tree_.File("patchbay.toml", kConfig);
    tree_.Dir("host");
  }
  Ran Allocate(const std::vector<std::string>& more) {
    std::vector<std::string> line = {"allocate", "--config", tree_.path("patchbay.toml"),
                                     "--host-root", tree_.path("host")};
    line.insert(line.end(), more.begin(), more.end());
    return RunCli(line);
  }
  /// Runs a command that must fail, and returns its error output.
  std::string Refused(const std::vector<std::string>& more) {
    const Ran ran = Allocate(more);
    EXPECT_EQ(ran.code, kFailed);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  }

  ScopedEnv config_{"PATCHBAY_CONFIG", std::nullopt};
  ScopedEnv node_name_{"NODE_NAME", "rack-1"};
  test::TempTree tree_;
};

TEST_F(AllocateTest, ReportsMissingDeviceNodes) {
  tree_.File("patchbay.toml", R"([[resource]]
name = "example.com/seat"
match = [{ count = 2 }]
device_node = [{ host_path = "/dev/control" }]
)");
  const Ran ran = Allocate({"example.com/seat"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(
      ran.err,
      HasSubstr(
          "has 0 healthy units but 1 were requested; the device \"0\" is unhealthy: /dev/control "
          "of device_node is missing"));
  EXPECT_THAT(Allocate({"example.com/seat", "1"}).err, HasSubstr("/dev/control of device_node"));
}

TEST_F(AllocateTest, PrintsJsonWithTheFieldNamesOfTheApi) {
  const Ran ran = Allocate({"example.com/seat", "2", "0", "--output", "json"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, R"({
  "envs": {
    "NODE": "rack-1",
    "SEATS": "0,2"
  },
  "mounts": [
    {
      "container_path": "/opt/seats",
      "host_path": "/opt/seats",
      "read_only": true
    },
    {
      "container_path": "/seat0",
      "host_path": "/srv/seat0",
      "read_only": false
    },
    {
      "container_path": "/seat1",
      "host_path": "/srv/seat2",
      "read_only": false
    }
  ],
  "devices": [],
  "annotations": {
    "example.com/seat": "0,2"
  },
  "cdi_devices": [
    {
      "name": "example.com/seat=0"
    },
    {
      "name": "example.com/seat=2"
    }
  ],
  "hooks": [],
  "interfaces": []
}
)");
}

TEST_F(AllocateTest, PrintsText) {
  const Ran ran = Allocate({"example.com/seat", "1"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out,
            "  mount       /opt/seats ro\n"
            "  mount       /seat0 rw  from /srv/seat1\n"
            "  env         NODE=rack-1\n"
            "  env         SEATS=1\n"
            "  annotation  example.com/seat=1\n"
            "  cdi         example.com/seat=1\n");
}

TEST_F(AllocateTest, SelectsTheFirstHealthyDevicesByDefault) {
  EXPECT_THAT(Allocate({"example.com/seat"}).out, HasSubstr("SEATS=0\n"));
  EXPECT_THAT(Allocate({"example.com/seat", "--count", "3"}).out, HasSubstr("SEATS=0,1,2\n"));
  EXPECT_THAT(Allocate({"example.com/shared", "--count", "3"}).out,
              HasSubstr("WHO=0::0,0::1,1::0\n"));
}

TEST_F(AllocateTest, ResolvesDeviceNodesOfTheHost) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  tree_.File("patchbay.toml",
             "[[resource]]\nname = 'a.com/x'\n[[resource.match]]\npath = '/dev/by-id/*'\n");
  tree_.CharDevice("host/dev/ttyUSB3");
  tree_.Link("host/dev/by-id/modem", "../ttyUSB3");
  const Json json = Json::parse(Allocate({"a.com/x", "-o", "json"}).out);
  EXPECT_EQ(json["devices"], Json::parse(R"([{"container_path": "/dev/by-id/modem",
                                              "host_path": "/dev/ttyUSB3",
                                              "permissions": "rw"}])"));
  EXPECT_EQ(Allocate({"a.com/x"}).out, "  device      /dev/by-id/modem rw  from /dev/ttyUSB3\n");
}

TEST_F(AllocateTest, SuggestsASimilarResourceName) {
  EXPECT_EQ(Refused({"example.com/saet"}),
            "patchbay: the configuration has no resource \"example.com/saet\"; did you mean "
            "\"example.com/seat\"?\n");
}

TEST_F(AllocateTest, ListsResourcesForAnUnknownName) {
  EXPECT_THAT(Refused({"NOPE"}), HasSubstr("has no resource \"NOPE\"; it has example.com/"));
  const Ran path = Allocate({"/dev/ttyUSB0"});
  EXPECT_EQ(path.code, kUsage);
  EXPECT_THAT(path.err, HasSubstr("run `patchbay explain --config " + tree_.path("patchbay.toml") +
                                  " --host-root " + tree_.path("host") + " --path /dev/ttyUSB0`"));
}

TEST_F(AllocateTest, RejectsResourcesOfOtherNodes) {
  EXPECT_THAT(Refused({"example.com/elsewhere"}), HasSubstr("rack-1"));
}

TEST_F(AllocateTest, RejectsUnknownDeviceIds) {
  EXPECT_THAT(Refused({"example.com/seat", "0", "9"}), HasSubstr("\"9\""));
  EXPECT_THAT(Refused({"example.com/shared", "0"}), HasSubstr("\"0\""));
}

TEST_F(AllocateTest, RejectsRepeatedDeviceIds) {
  EXPECT_THAT(Refused({"example.com/seat", "1", "0", "1"}), HasSubstr("\"1\" is listed twice"));
}

TEST_F(AllocateTest, ListsReplicaIdsForAnUnknownReplica) {
  EXPECT_THAT(Refused({"example.com/shared", "1::2"}),
              HasSubstr("those of \"1\" are \"1::0\" to \"1::1\""));
}

TEST_F(AllocateTest, RejectsMoreThanTheHealthyUnits) {
  const std::string refused = Refused({"example.com/shared", "--count", "5"});
  EXPECT_THAT(refused, StartsWith("patchbay: example.com/shared has 4 healthy units but 5 were "
                                  "requested; run `patchbay explain --config "));
  EXPECT_THAT(refused, EndsWith(" example.com/shared` to see why\n"));
  EXPECT_THAT(Refused({"example.com/shared", "--count", "2147483647"}), HasSubstr("has 4 healthy"));
}

TEST_F(AllocateTest, EnforcesMaxPerContainer) {
  EXPECT_THAT(Refused({"example.com/seat", "--count", "4"}), HasSubstr("at most 3"));
}

TEST_F(AllocateTest, EscapesHostileIdsInErrors) {
  const std::string err = Refused({"example.com/seat", "a\nb\x1b[2J\xff"});
  EXPECT_EQ(err.find('\n'), err.size() - 1);
  EXPECT_EQ(err.find('\x1b'), std::string::npos);
  const std::string resource = Refused({"a\nb\x1b[2J"});
  EXPECT_EQ(resource.find('\n'), resource.size() - 1);
  EXPECT_EQ(resource.find('\x1b'), std::string::npos);
}

TEST_F(AllocateTest, PrintsHooksWithoutRunningThem) {
  const std::string ran = tree_.path("ran");
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\nreplicas = 2\n"
             "[[resource.match]]\ncount = 1\n"
             "[resource.hooks.pre_start]\ncommand = [\"touch\", \"" +
                 ran +
                 "\", \"{id}\"]\n"
                 "[resource.hooks.release]\ncommand = [\"rm\", \"{id}\"]\n");
  EXPECT_THAT(Allocate({"a.com/x"}).out,
              testing::EndsWith("  pre_start   touch " + ran + " 0::0\n  release     rm 0\n"));
  const Json json = Json::parse(Allocate({"a.com/x", "-o", "json"}).out);
  EXPECT_EQ(json["hooks"],
            Json::parse(R"([{"hook": "pre_start", "device": "0::0", "command": ["touch", ")" + ran +
                        R"(", "0::0"]},
                            {"hook": "release", "device": "0", "command": ["rm", "0"]}])"));
  EXPECT_NE(access(ran.c_str(), F_OK), 0);
}

TEST_F(AllocateTest, PrintsForDraWhatContainersOfAClaimGet) {
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\nmatch = [{ count = 1 }]\n"
             "env = { X = \"{id}\" }\nannotations = { \"a.com/x\" = \"y\" }\n");
  const Ran plugin = Allocate({"a.com/x", "0"});
  EXPECT_EQ(plugin.out, "  env         X=0\n  annotation  a.com/x=y\n");
  EXPECT_EQ(plugin.err, "");
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\napi = \"dra\"\nmatch = [{ count = 1 }]\n"
             "env = { X = \"{id}\" }\nannotations = { \"a.com/x\" = \"y\" }\n");
  const Ran dra = Allocate({"a.com/x", "0"});
  EXPECT_EQ(dra.out, "  env         X=0\n");
  EXPECT_THAT(dra.err, HasSubstr("note: with api = \"dra\", the CDI file of a claim"));
  const Json json = Json::parse(Allocate({"a.com/x", "0", "--output", "json"}).out);
  EXPECT_EQ(json["annotations"], Json::object());
  EXPECT_EQ(json["envs"], Json({{"X", "0"}}));
}

TEST_F(AllocateTest, TakesTheFirstSlotOfASharedDeviceForDra) {
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\napi = \"dra\"\nreplicas = 3\n"
             "match = [{ count = 1 }]\nenv = { X = \"{id}\" }\n");
  EXPECT_EQ(Allocate({"a.com/x", "0"}).out, "  env         X=0::0\n");
  EXPECT_EQ(Allocate({"a.com/x", "0::2"}).out, "  env         X=0::2\n");
  EXPECT_THAT(Refused({"a.com/x", "1"}), HasSubstr("\"1\""));
}

TEST_F(AllocateTest, CountIsOfDifferentDevicesForDra) {
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\napi = \"dra\"\nreplicas = 3\n"
             "match = [{ count = 2 }]\nenv = { X = \"{id}\" }\n");
  EXPECT_EQ(Allocate({"a.com/x", "--count", "2"}).out, "  env         X=0::0,1::0\n");
  EXPECT_THAT(Refused({"a.com/x", "--count", "3"}),
              HasSubstr("has 2 healthy devices but 3 were requested"));
}

TEST_F(AllocateTest, AcceptsTheNameInAResourceSlice) {
  tree_.File("host/srv/CARD0");
  tree_.File("patchbay.toml",
             "[[resource]]\nname = \"a.com/x\"\napi = \"dra\"\n"
             "match = [{ path = \"/srv/CARD*\", type = \"file\" }]\nenv = { X = \"{id}\" }\n");
  const std::vector<std::string> flags = {"--config", tree_.path("patchbay.toml"), "--host-root",
                                          tree_.path("host")};
  std::vector<std::string> devices = {"devices", "--output", "json"};
  devices.insert(devices.end(), flags.begin(), flags.end());
  const Json json = Json::parse(RunCli(devices).out);
  const std::string name = json["resources"][0]["devices"][0]["slice_name"];
  ASSERT_NE(name, "CARD0");
  std::vector<std::string> allocate = {"allocate", "a.com/x", name};
  allocate.insert(allocate.end(), flags.begin(), flags.end());
  EXPECT_EQ(RunCli(allocate).out, "  env         X=CARD0\n");
}

}  // namespace
}  // namespace patchbay
