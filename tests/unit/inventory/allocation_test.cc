#include "inventory/allocation.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/escape.h"
#include "inventory/allocation_host.h"
#include "inventory/inventory.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using test::CountMatch;
using test::MakeTemplate;
using test::PathMatch;
using test::RegexMatch;
using test::Resource;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using DeviceSpec = ContainerResponse::DeviceSpec;
using Mount = ContainerResponse::Mount;

TemplatePair Entry(std::string_view key, std::string_view value) {
  return {MakeTemplate(key), MakeTemplate(value)};
}

DeviceNodeSpec Node(std::optional<std::string_view> host_path,
                    std::optional<std::string_view> container_path, std::string permissions = "rw",
                    bool optional = false) {
  DeviceNodeSpec node;
  if (host_path) node.host_path = MakeTemplate(*host_path);
  if (container_path) node.container_path = MakeTemplate(*container_path);
  node.permissions = std::move(permissions);
  node.optional = optional;
  return node;
}

MountSpec Mounted(std::string_view host_path, std::string_view container_path,
                  bool read_only = true) {
  return {MakeTemplate(host_path), MakeTemplate(container_path), read_only};
}

/// A device `id` with the node /dev/<id>.
Device WithCaptures(const std::string& id, NamedValues captures = {}) {
  const std::string path = "/dev/" + id;
  DeviceNode node{path, path, FileType::kCharacter, 1, 3, {}};
  node.captures = std::move(captures);
  return {id, {std::move(node)}, {}, {}};
}

class AllocateTest : public testing::Test {
 protected:
  AllocateTest() {
    for (const int card : {0, 1, 2, 10}) {
      devices_.push_back(
          WithCaptures("c" + std::to_string(card), {{"card", std::to_string(card)}}));
    }
    spec_ = Resource({CountMatch(1)});
  }

  Result<ContainerResponse> Get(const std::vector<std::string>& ids) const {
    Snapshot snapshot{std::make_shared<const ResourceSpec>(spec_), 1, {}, {}};
    for (const Device& device : devices_) {
      const auto reason = unhealthy_.find(device.id);
      const bool healthy = reason == unhealthy_.end();
      snapshot.devices.push_back({std::make_shared<const Device>(device),
                                  healthy ? Health::kHealthy : Health::kUnhealthy,
                                  healthy ? "" : reason->second});
    }
    return Allocate(snapshot, ids, Context());
  }

  AllocationContext Context() const {
    AllocationContext context;
    context.node_name = "node-1";
    context.can_see = [this](const std::string&) { return can_see_; };
    context.resolve = [this](const std::string& host_path) -> Result<HostNode> {
      if (const auto there = host_.find(host_path); there != host_.end()) return there->second;
      return HostNode{host_path, FileType::kCharacter, 1, 3};
    };
    context.holds = [this](const HostNode& node) { return !host_.contains(node.path); };
    context.provide_group = [this](std::uint32_t gid) -> Status {
      if (gid == 13) return Fail(ErrorKind::kUnavailable, "no group 13");
      provided_.push_back(gid);
      return {};
    };
    return context;
  }

  ContainerResponse Granted(const std::vector<std::string>& ids) const {
    auto response = Get(ids);
    EXPECT_TRUE(response) << (response ? "" : response.error().message);
    return response ? *response : ContainerResponse();
  }

  Error Refused(const std::vector<std::string>& ids) const {
    const auto response = Get(ids);
    EXPECT_FALSE(response);
    const Error error = response ? Error{ErrorKind::kUnavailable, "granted"} : response.error();
    EXPECT_TRUE(IsUtf8(error.message)) << error.message;
    EXPECT_EQ(error.message, Printable(error.message));
    return error;
  }

  /// Simulates the removal of the node.
  static Result<HostNode> Gone(const std::string& what) {
    return Fail(ErrorKind::kNotFound, "cannot access " + what + ": No such file or directory");
  }

  ResourceSpec spec_;
  std::vector<Device> devices_;
  std::map<std::string, std::string> unhealthy_;
  bool can_see_ = true;
  std::map<std::string, Result<HostNode>> host_;  ///< paths that do not resolve to themselves
  mutable std::vector<std::uint32_t> provided_;   ///< groups
};

TEST_F(AllocateTest, AllocatesOneDevice) {
  EXPECT_THAT(Granted({"c1"}).devices, ElementsAre(DeviceSpec{"/dev/c1", "/dev/c1", "rw"}));
}

TEST_F(AllocateTest, GrantsTheGroupsOfDeviceNodes) {
  spec_.grant_group = true;
  spec_.device_nodes = {Node({}, {}), Node("/dev/extra{card}", {}, "r", true)};
  spec_.cdi_devices = {MakeTemplate("a.com/b=c")};
  for (const auto& [path, gid] : std::map<std::string, std::uint32_t>{
           {"/dev/c0", 44}, {"/dev/c1", 20}, {"/dev/c2", 0}, {"/dev/extra0", 20}}) {
    host_.emplace(path, HostNode{path, FileType::kCharacter, 1, 3, 0, gid});
  }
  host_.emplace("/dev/extra1", Gone("/dev/extra1"));
  EXPECT_THAT(Granted({"c0", "c1"}).cdi_devices,
              ElementsAre("a.com/b=c", "patchbay.dev/group=gid-20", "patchbay.dev/group=gid-44"));
  EXPECT_THAT(provided_, ElementsAre(20U, 44U));
  EXPECT_THAT(Granted({"c2"}).cdi_devices, ElementsAre("a.com/b=c")) << "the group of root";
  spec_.grant_group = false;
  EXPECT_THAT(Granted({"c0"}).cdi_devices, ElementsAre("a.com/b=c"));
  EXPECT_THAT(provided_, SizeIs(2));
}

TEST_F(AllocateTest, FailsIfAGroupCannotBeProvided) {
  spec_.grant_group = true;
  host_.emplace("/dev/c0", HostNode{"/dev/c0", FileType::kCharacter, 1, 3, 0, 13});
  EXPECT_EQ(Refused({"c0"}).message, "no group 13");
}

TEST_F(AllocateTest, ProvidesTheGroupsOfAllDevices) {
  spec_.device_nodes = {Node({}, {})};
  host_.emplace("/dev/c0", Gone("/dev/c0"));
  host_.emplace("/dev/c1", HostNode{"/dev/c1", FileType::kCharacter, 1, 3, 0, 20});
  host_.emplace("/dev/c2", HostNode{"/dev/c2", FileType::kCharacter, 1, 3, 0, 20});
  EXPECT_TRUE(ProvideGroups(spec_, devices_, Context()));
  EXPECT_THAT(provided_, IsEmpty());
  spec_.grant_group = true;
  EXPECT_TRUE(ProvideGroups(spec_, devices_, Context()));
  EXPECT_THAT(provided_, ElementsAre(20U));
  host_.emplace("/dev/c10", HostNode{"/dev/c10", FileType::kCharacter, 1, 3, 0, 13});
  EXPECT_EQ(ProvideGroups(spec_, devices_, Context()).error().message, "no group 13");
}

TEST_F(AllocateTest, NoIdsGiveAnEmptyResponse) {
  spec_.env.push_back(Entry("A", "b"));
  spec_.mounts.push_back(Mounted("/opt", "/opt"));
  EXPECT_EQ(Granted({}), ContainerResponse());
}

TEST_F(AllocateTest, IgnoresOrderAndRepetitionOfIds) {
  spec_.device_nodes = {Node({}, "/dev/fpga{slot}")};
  spec_.env = {Entry("CARDS", "{card}"), Entry("FPGA_{slot}", "{path}")};
  spec_.annotations = {Entry("example.com/slots", "{slot:02}/{index}")};
  spec_.cdi_devices = {MakeTemplate("example.com/x={card}")};
  const ContainerResponse response = Granted({"c10", "c0", "c2"});
  EXPECT_THAT(response.devices, ElementsAre(DeviceSpec{"/dev/fpga0", "/dev/c0", "rw"},
                                            DeviceSpec{"/dev/fpga1", "/dev/c2", "rw"},
                                            DeviceSpec{"/dev/fpga2", "/dev/c10", "rw"}));
  EXPECT_THAT(response.envs, ElementsAre(Pair("CARDS", "0,2,10"), Pair("FPGA_0", "/dev/c0"),
                                         Pair("FPGA_1", "/dev/c2"), Pair("FPGA_2", "/dev/c10")));
  EXPECT_THAT(response.annotations, ElementsAre(Pair("example.com/slots", "00/0,01/2,02/3")));
  EXPECT_THAT(response.cdi_devices,
              ElementsAre("example.com/x=0", "example.com/x=2", "example.com/x=10"));
  std::vector<std::string> ids = {"c0", "c10", "c2"};
  do {
    EXPECT_EQ(Granted(ids), response);
    std::vector<std::string> twice = ids;
    twice.insert(twice.end(), ids.begin(), ids.end());
    EXPECT_EQ(Granted(twice), response);
  } while (std::next_permutation(ids.begin(), ids.end()));
}

TEST_F(AllocateTest, RejectsUnknownIds) {
  for (const std::string id : {"c3", "", "C1", "c1::0", "c01", "c1 ", "/dev/c1"}) {
    const Error error = Refused({"c0", id});
    EXPECT_EQ(error.kind, ErrorKind::kNotFound) << id;
    EXPECT_THAT(error.message, HasSubstr("example.com/thing has no device \"" + id + "\""));
  }
  EXPECT_THAT(Refused({"C1"}).message, HasSubstr("; did you mean \"c1\"?"));
  EXPECT_THAT(Refused({"c10::0"}).message, HasSubstr("; did you mean \"c10\"?"));
  EXPECT_THAT(Refused({"/dev/c1"}).message, HasSubstr("; it has c0, c1, c2, c10"));
  EXPECT_THAT(Refused({std::string(100'000, 'c')}).message, HasSubstr("; it has c0"));
  const Error hostile = Refused({std::string("\xff\n\0\x1b[2J", 7)});
  EXPECT_EQ(hostile.kind, ErrorKind::kNotFound);
  devices_.clear();
  EXPECT_EQ(Refused({"c0"}).kind, ErrorKind::kNotFound);
  EXPECT_THAT(Refused({"c0"}).message, HasSubstr("; it has none"));
}

TEST_F(AllocateTest, RejectsUnhealthyDevices) {
  unhealthy_["c2"] = "/dev/c2 no longer exists";
  const Error error = Refused({"c0", "c2"});
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message, HasSubstr("\"c2\""));
  EXPECT_THAT(error.message, HasSubstr("/dev/c2 no longer exists; fix the device, or create the "));
  EXPECT_THAT(Granted({"c0", "c1"}).devices, SizeIs(2)) << "its neighbors are not affected";
}

TEST_F(AllocateTest, EnforcesMaxPerContainer) {
  spec_.max_per_container = 2;
  EXPECT_THAT(Granted({"c0", "c1", "c0", "c1"}).devices, SizeIs(2));
  const Error error = Refused({"c0", "c1", "c2"});
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("at most 2"));
  EXPECT_THAT(error.message, HasSubstr("request fewer devices, or raise max_per_container"));
}

TEST_F(AllocateTest, LimitsTheLengthOfEnvironmentVariables) {
  // Joined from the values of 33 devices, none of which is long.
  const std::size_t each = kMaxEnv / 33;
  const std::size_t rest = kMaxEnv - 33 * each;
  ASSERT_LT(each, Template::kMaxResult);
  devices_.clear();
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < 33; ++i) {
    // The size includes "V=" and the 32 commas.
    const std::size_t bytes = each - 1 - (i == 0 ? 1 : 0) + (i == 1 ? rest : 0);
    std::string value = std::to_string(i) + "-";
    value.resize(bytes, 'x');
    ids.push_back("d" + std::to_string(i));
    devices_.push_back(WithCaptures(ids.back(), {{"v", value}}));
  }
  spec_.env = {Entry("V", "{v}")};
  const ContainerResponse longest = Granted(ids);
  ASSERT_EQ(std::string_view("V=").size() + longest.envs.at("V").size(), kMaxEnv);

  spec_.env = {Entry("VV", "{v}")};
  const Error error = Refused(ids);
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_EQ(
      error.message,
      "the environment variable \"VV\" would have 131072 bytes, and the limit of the kernel is "
      "131071; set a lower max_per_container, or pass less data for each device");
  spec_.env.clear();
  spec_.annotations = {Entry("VV", "{v}")};
  EXPECT_EQ(Granted(ids).annotations.at("VV").size(), kMaxEnv - 2);
}

TEST_F(AllocateTest, LimitsTheSizeOfTheResponse) {
  devices_ = {WithCaptures("d", {{"v", std::string(250, 'x')}})};
  const auto give = [&](int mounts) {
    std::string target;
    for (int i = 0; i < 16; ++i) target += "/{v}";
    spec_.mounts.clear();
    for (int i = 0; i < mounts; ++i) {
      spec_.mounts.push_back(Mounted("/opt/" + std::to_string(i), target + std::to_string(i)));
    }
  };
  give(900);
  EXPECT_THAT(Granted({"d"}).mounts, SizeIs(900));
  give(920);
  const Error error = Refused({"d"});
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("bytes of paths, env and annotations"));
  EXPECT_THAT(error.message, HasSubstr("accepts at most 3670016"));
}

TEST(CheckResponse, AcceptsTheLimitAndNotOneByteMore) {
  constexpr std::size_t kOverhead = 24;  // of an entry
  ContainerResponse response;
  response.annotations["a"] = std::string(kMaxResponse - kOverhead - 1, 'x');
  EXPECT_TRUE(CheckResponse(response));
  response.annotations["a"] += "x";
  EXPECT_FALSE(CheckResponse(response));
}

TEST_F(AllocateTest, AllocatesReplicasOfOneDevice) {
  spec_.replicas = 12;
  spec_.env = {Entry("IDS", "{id}"), Entry("CARDS", "{card}"), Entry("R", "{replica}")};
  const ContainerResponse response = Granted({"c1::10", "c1::9", "c0::0"});
  EXPECT_THAT(response.devices, ElementsAre(DeviceSpec{"/dev/c0", "/dev/c0", "rw"},
                                            DeviceSpec{"/dev/c1", "/dev/c1", "rw"}));
  EXPECT_THAT(response.envs, ElementsAre(Pair("CARDS", "0,1"), Pair("IDS", "c0::0,c1::9,c1::10"),
                                         Pair("R", "0,9,10")));
  for (const char* id : {"c1", "c1::12", "c1::", "c1::-1", "c1::+1", "c1::01", "c1::1x", "::1",
                         "c1::99999999999999999999999"}) {
    EXPECT_EQ(Refused({id}).kind, ErrorKind::kNotFound) << id;
  }
}

TEST_F(AllocateTest, JoinsDistinctValuesInIdOrder) {
  devices_ = {WithCaptures("a", {{"v", "x"}, {"w", ""}}),
              WithCaptures("b", {{"v", "y"}, {"w", ""}}),
              WithCaptures("c", {{"v", "x"}, {"w", "1"}})};
  spec_.env_separator = "; ";
  spec_.env = {Entry("V", "{v}"), Entry("W", "{w}"), Entry("CONSTANT", "1"),
               Entry("V_{v}", "{id}")};
  EXPECT_THAT(Granted({"c", "b", "a"}).envs,
              ElementsAre(Pair("CONSTANT", "1"), Pair("V", "x; y"), Pair("V_x", "a; c"),
                          Pair("V_y", "b"), Pair("W", "; 1")));
  spec_.env_separator = "";
  EXPECT_THAT(Granted({"c", "b", "a"}).envs, testing::Contains(Pair("V", "xy")));
}

TEST_F(AllocateTest, JoinsValuesOfEqualKeys) {
  spec_.env = {Entry("A", "1"), Entry("CARD_{card}", "x"), Entry("A", "2"), Entry("A", "1")};
  EXPECT_THAT(Granted({"c0"}).envs, ElementsAre(Pair("A", "1,2"), Pair("CARD_0", "x")));
}

TEST_F(AllocateTest, RejectsTwoHostPathsForOneContainerPath) {
  struct Case {
    std::vector<DeviceNodeSpec> nodes;
    std::vector<MountSpec> mounts;
    bool refused;
  };
  const Case cases[] = {
      {{Node({}, "/dev/fpga")}, {}, true},
      {{Node({}, "/dev/fpga{slot}")}, {}, false},
      {{Node("/dev/all", {})}, {}, false},
      {{Node("/dev/all", "/dev/x"), Node("/dev/all", "/dev/x")}, {}, false},
      {{Node("/dev/all", "/dev/x"), Node("/dev/other", "/dev/x")}, {}, true},
      // Different spellings of the same path.
      {{Node("/dev/all", "/dev/x"), Node("/dev/other", "/dev//x")}, {}, true},
      {{Node("/dev/all", "/dev/x"), Node("/dev/other", "/dev/./x")}, {}, true},
      {{Node("/dev/all", "/dev/x"), Node("/dev/other", "/dev/x/")}, {}, true},
      {{}, {Mounted("/srv/{id}", "/data")}, true},
      {{}, {Mounted("/srv/{id}", "/data/{slot}")}, false},
      {{}, {Mounted("/srv/a", "/data"), Mounted("/srv/a/", "/data")}, false},
      {{}, {Mounted("/srv/a", "/data"), Mounted("/srv/b", "/data/")}, true},
      {{}, {Mounted("/srv/a", "/data"), Mounted("/srv/b", "//data")}, true},
  };
  for (const Case& c : cases) {
    spec_.device_nodes = c.nodes;
    spec_.mounts = c.mounts;
    const auto response = Get({"c0", "c1"});
    ASSERT_EQ(!response, c.refused) << &c - cases;
    if (response) continue;
    EXPECT_EQ(response.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(response.error().message, HasSubstr("would both be"));
  }
}

TEST_F(AllocateTest, RejectsNodesAndMountsThatHideEachOther) {
  struct Case {
    std::vector<DeviceNodeSpec> nodes;
    std::vector<MountSpec> mounts;
    std::string_view message;
  };
  const Case cases[] = {
      {{Node({}, {})},
       {Mounted("/opt/file", "/dev/c0")},
       "the device node /dev/c0 and the mount of /opt/file"},
      {{Node({}, "/dev/x/c{slot}")}, {Mounted("/opt/dir", "/dev/x")}, "create it on the host"},
      {{Node({}, "/dev/x/c{slot}")},
       {Mounted("/opt/dir", "/dev/x", false)},
       "create it on the host"},
      {{Node({}, "/dev/x"), Node("/dev/all", "/dev/x/y")},
       {},
       "nothing can be below a device node"},
      {{Node({}, "/dev/x")},
       {Mounted("/opt/dir", "/dev//x/y/")},
       "nothing can be below a device node"},
      {{Node({}, {})}, {Mounted("/opt/x", "/proc/{card}")}, "refuse mounts below /proc"},
      {{Node({}, "/proc/{id}")}, {}, "cannot create device nodes below /proc"},
  };
  for (const Case& c : cases) {
    spec_.device_nodes = c.nodes;
    spec_.mounts = c.mounts;
    const Error error = Refused({"c0"});
    EXPECT_EQ(error.kind, ErrorKind::kInvalid);
    EXPECT_THAT(error.message, HasSubstr(c.message)) << &c - cases;
    // So the device is not advertised in the first place.
    const auto rejection =
        ProblemWithDevice(std::make_shared<const ResourceSpec>(spec_), devices_[0], "node-1");
    ASSERT_TRUE(rejection) << &c - cases;
    EXPECT_EQ(rejection->reason, RejectReason::kBadTemplate);
    EXPECT_THAT(rejection->detail, HasSubstr(c.message));
  }
}

TEST_F(AllocateTest, ChecksEveryNameOfANodeAgainstTheScannedNumber) {
  DeviceNode& node = devices_[0].nodes[0];
  node = {"/dev/by-id/a", "/dev/ttyUSB0", FileType::kCharacter, 188, 0, {}};
  node.captures = {{"n", "0"}};
  host_["/dev/by-id/a"] = HostNode{"/dev/ttyUSB0", FileType::kCharacter, 188, 0};
  for (const char* host_path : {"{path}", "{real_path}", "/dev/ttyUSB{n}", "/dev/by-path/{n}"}) {
    spec_.device_nodes = {Node(host_path, "/dev/modem")};
    // The kernel gave the name to another adapter while a scan hangs.
    for (const unsigned minor : {0U, 1U}) {
      for (const char* name : {"/dev/by-id/a", "/dev/ttyUSB0", "/dev/by-path/0"}) {
        host_[name] = HostNode{"/dev/ttyUSB0", FileType::kCharacter, 188, minor};
      }
      for (const bool grant_group : {false, true}) {
        spec_.grant_group = grant_group;
        const auto response = Get({"c0"});
        ASSERT_EQ(response.has_value(), minor == 0) << host_path;
        if (response) continue;
        EXPECT_EQ(response.error().kind, ErrorKind::kPrecondition);
        EXPECT_THAT(response.error().message, HasSubstr("is not the device that was found there"));
      }
    }
  }
}

TEST_F(AllocateTest, LeavesOutOptionalMountsOfMissingPaths) {
  spec_.mounts = {Mounted("/opt/a", "/opt/a"), Mounted("/opt/b", "/opt/b")};
  host_["/opt/a"] = Fail(ErrorKind::kNotFound, "no such file");
  host_["/opt/b"] = Fail(ErrorKind::kNotFound, "no such file");
  EXPECT_THAT(Granted({"c0"}).mounts, SizeIs(2)) << "the runtime reports it";
  spec_.mounts[0].optional = true;
  EXPECT_THAT(Granted({"c0"}).mounts, ElementsAre(Mount{"/opt/b", "/opt/b", true}));
  can_see_ = false;
  EXPECT_THAT(Granted({"c0"}).mounts, SizeIs(2)) << "it may exist on the host";
  host_.clear();
  can_see_ = true;
  EXPECT_THAT(Granted({"c0"}).mounts, SizeIs(2));
}

TEST_F(AllocateTest, GivesNodesTogetherWithMountsThatContainThem) {
  spec_.device_nodes = {Node({}, {})};
  spec_.mounts = {Mounted("/dev/c0", "/dev/c0"), Mounted("/opt", "/opt"), Mounted("/srv", "/opt/x"),
                  Mounted("/lxcfs", "/proc/meminfo")};
  EXPECT_THAT(Granted({"c0"}).mounts, SizeIs(4));
  spec_.device_nodes = {Node({}, "/dev/x/c{card}")};
  spec_.mounts = {Mounted("/dev", "/dev/x")};
  EXPECT_THAT(Granted({"c0", "c1"}).devices, SizeIs(2));
  // A mount of a link is a mount of the node that it leads to.
  devices_[0].nodes[0].path = "/dev/by-id/c0";
  host_["/dev/by-id/c0"] = HostNode{"/dev/c0", FileType::kCharacter, 1, 3};
  spec_.device_nodes = {Node({}, {})};
  spec_.mounts = {Mounted("{path}", "{path}")};
  EXPECT_THAT(Granted({"c0"}).devices, SizeIs(1));
}

TEST_F(AllocateTest, MergesLinksToOneNodeOnOneContainerPath) {
  host_["/dev/other"] = HostNode{"/dev/c0", FileType::kCharacter, 1, 3};
  spec_.device_nodes = {Node({}, "/dev/x", "r"), Node("/dev/other", "/dev/x", "wm")};
  EXPECT_THAT(Granted({"c0"}).devices, ElementsAre(DeviceSpec{"/dev/x", "/dev/c0", "rwm"}));
}

TEST_F(AllocateTest, MergesPermissions) {
  struct Case {
    std::string one, other, both;
  };
  const Case cases[] = {{"r", "r", "r"},  {"r", "w", "rw"},   {"w", "r", "rw"},
                        {"m", "r", "rm"}, {"rw", "m", "rwm"}, {"rwm", "rwm", "rwm"}};
  for (const Case& c : cases) {
    spec_.device_nodes = {Node({}, {}, c.one), Node({}, {}, c.other)};
    EXPECT_THAT(Granted({"c0"}).devices, ElementsAre(DeviceSpec{"/dev/c0", "/dev/c0", c.both}));
  }
}

TEST_F(AllocateTest, NodesOfAMatchReplaceThoseOfTheResource) {
  spec_ = Resource({PathMatch({"/dev/c0"}), PathMatch({"/dev/c1"}), PathMatch({"/dev/c2"})});
  spec_.device_nodes = {Node({}, "/dev/{name}", "rwm")};
  spec_.matches[1].device_nodes = {Node({}, "/dev/one", "r"), Node("/dev/extra", {})};
  devices_[1].match = 1;
  devices_[2].match = 2;
  devices_[3].match = 7;  // of a match that was removed by a reload
  EXPECT_THAT(
      Granted({"c0", "c1", "c2", "c10"}).devices,
      ElementsAre(DeviceSpec{"/dev/c0", "/dev/c0", "rwm"}, DeviceSpec{"/dev/one", "/dev/c1", "r"},
                  DeviceSpec{"/dev/extra", "/dev/extra", "rw"},
                  DeviceSpec{"/dev/c2", "/dev/c2", "rwm"},
                  DeviceSpec{"/dev/c10", "/dev/c10", "rwm"}));
}

TEST_F(AllocateTest, AddsExtraNodesAndSkipsMissingOptionalOnes) {
  spec_.device_nodes = {Node({}, {}, "rw"),
                        Node("/dev/dri/renderD{card}", "/dev/dri/renderD{slot}", "r", true)};
  host_["/dev/dri/renderD1"] = Gone("/dev/dri/renderD1");
  EXPECT_THAT(
      Granted({"c0", "c1", "c2"}).devices,
      ElementsAre(DeviceSpec{"/dev/c0", "/dev/c0", "rw"},
                  DeviceSpec{"/dev/dri/renderD0", "/dev/dri/renderD0", "r"},
                  DeviceSpec{"/dev/c1", "/dev/c1", "rw"}, DeviceSpec{"/dev/c2", "/dev/c2", "rw"},
                  DeviceSpec{"/dev/dri/renderD2", "/dev/dri/renderD2", "r"}));
  spec_.device_nodes[1].optional = false;
  const Error error = Refused({"c0", "c1"});
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message, HasSubstr("\"c1\""));
  EXPECT_THAT(error.message, HasSubstr("/dev/dri/renderD1"));
  EXPECT_THAT(error.message, HasSubstr("correct host_path; if containers can run without it"));
  host_["/dev/dri/renderD1"] = HostNode{"/dev/dri/renderD1", FileType::kRegular, 0, 0};
  EXPECT_THAT(Refused({"c0", "c1"}).message,
              HasSubstr("is not a device node; correct the path, or use a mount for a file"));
}

TEST_F(AllocateTest, RejectsADeviceRemovedSinceTheScan) {
  host_["/dev/c1"] = Gone("/dev/c1");
  const Error error = Refused({"c1"});
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message, HasSubstr("device \"c1\": node /dev/c1 is missing"));
  EXPECT_THAT(error.message, HasSubstr("; connect the device again"));
  EXPECT_THAT(Granted({"c0"}).devices, SizeIs(1));
}

TEST_F(AllocateTest, RejectsANodeThatIsNoLongerADevice) {
  for (const FileType type : {FileType::kRegular, FileType::kDirectory, FileType::kOther}) {
    host_["/dev/c1"] = HostNode{"/dev/c1", type, 0, 0};
    const Error error = Refused({"c1"});
    EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
    EXPECT_THAT(error.message, HasSubstr("device \"c1\": node /dev/c1 is missing"));
    EXPECT_THAT(error.message, HasSubstr("not the device that was found there"));
    EXPECT_THAT(error.message, testing::Not(HasSubstr("connect the device")));
  }
}

// Conditions, `exclusive` and the probe were evaluated for the node that the scan found.
TEST_F(AllocateTest, RejectsAReplacedNode) {
  for (const HostNode& other : {HostNode{"/dev/c1", FileType::kBlock, 1, 3},
                                HostNode{"/dev/c1", FileType::kCharacter, 8, 3},
                                HostNode{"/dev/c1", FileType::kCharacter, 1, 0}}) {
    host_["/dev/c1"] = other;
    EXPECT_EQ(Refused({"c1"}).kind, ErrorKind::kPrecondition);
  }
  devices_[1].nodes[0].inode = 7;
  host_["/dev/c1"] = HostNode{"/dev/c1", FileType::kCharacter, 1, 3, 8};
  EXPECT_EQ(Refused({"c1"}).kind, ErrorKind::kPrecondition) << "the node was re-created";
  host_["/dev/c1"] = HostNode{"/dev/c1", FileType::kCharacter, 1, 3, 7};
  EXPECT_THAT(Granted({"c1"}).devices, ElementsAre(DeviceSpec{"/dev/c1", "/dev/c1", "rw"}));
  devices_[0].nodes[0].path = "/dev/by-id/c0";
  host_["/dev/by-id/c0"] = HostNode{"/dev/sda", FileType::kBlock, 8, 0};
  const Error error = Refused({"c0"});
  EXPECT_EQ(error.kind, ErrorKind::kPrecondition);
  EXPECT_THAT(error.message, HasSubstr("/dev/by-id/c0 is not the device that was found there"));
}

TEST_F(AllocateTest, ResolvesLinksAtAllocation) {
  devices_[0].nodes[0].path = "/dev/by-id/c0";
  host_["/dev/by-id/c0"] = HostNode{"/dev/ttyUSB7", FileType::kCharacter, 1, 3};
  EXPECT_THAT(Granted({"c0"}).devices,
              ElementsAre(DeviceSpec{"/dev/by-id/c0", "/dev/ttyUSB7", "rw"}));
  host_["/dev/by-id/c0"] = HostNode{"/dev/ttyUSB8", FileType::kCharacter, 1, 3};
  EXPECT_THAT(Granted({"c0"}).devices,
              ElementsAre(DeviceSpec{"/dev/by-id/c0", "/dev/ttyUSB8", "rw"}));
  host_["/dev/by-id/c0"] = HostNode{"/dev/tty\xff", FileType::kCharacter, 1, 3};
  EXPECT_THAT(Refused({"c0"}).message, HasSubstr("/dev/tty\\xff"));
  EXPECT_THAT(Refused({"c0"}).message, HasSubstr("rename the file, or correct host_path"));
  host_["/dev/by-id/c0"] = Gone("/dev/tty\xff\n");
  EXPECT_EQ(Refused({"c0"}).kind, ErrorKind::kPrecondition);
}

TEST_F(AllocateTest, IncludesOnlyDeviceNodes) {
  Device mixed{"mixed", {}, {}};
  for (const auto& [name, type] :
       {std::pair("char", FileType::kCharacter), std::pair("block", FileType::kBlock),
        std::pair("file", FileType::kRegular), std::pair("dir", FileType::kDirectory),
        std::pair("other", FileType::kOther)}) {
    const std::string path = std::string("/x/") + name;
    mixed.nodes.push_back({path, path, type, 0, 0});
  }
  devices_ = {{"count", {}, {}}, mixed};
  EXPECT_THAT(Granted({"count", "mixed"}).devices,
              ElementsAre(DeviceSpec{"/x/char", "/x/char", "rw"},
                          DeviceSpec{"/x/block", "/x/block", "rw"}));
}

TEST_F(AllocateTest, NodeTemplatesUseVariablesOfTheNode) {
  devices_ = {{"two",
               {{"/dev/a0", "/dev/a0", FileType::kCharacter, 9, 1},
                {"/dev/b0", "/dev/b0", FileType::kBlock, 9, 2}},
               {}}};
  spec_.device_nodes = {Node({}, "/dev/x/{name}-{minor}")};
  spec_.env = {Entry("FIRST", "{name}")};
  const ContainerResponse response = Granted({"two"});
  EXPECT_THAT(response.devices, ElementsAre(DeviceSpec{"/dev/x/a0-1", "/dev/a0", "rw"},
                                            DeviceSpec{"/dev/x/b0-2", "/dev/b0", "rw"}));
  EXPECT_THAT(response.envs, ElementsAre(Pair("FIRST", "a0")));
}

TEST_F(AllocateTest, MergesMounts) {
  spec_.device_nodes.clear();
  spec_.mounts = {Mounted("/opt/x", "/opt/x"), Mounted("/srv/{card}", "/data/{slot}", false),
                  Mounted("/opt/x", "/opt/x", false)};
  EXPECT_THAT(Granted({"c10", "c2"}).mounts,
              ElementsAre(Mount{"/opt/x", "/opt/x", false}, Mount{"/data/0", "/srv/2", false},
                          Mount{"/data/1", "/srv/10", false}));
  spec_.mounts = {Mounted("/opt/x", "/opt/x"), Mounted("//opt/./x/", "/opt/x/")};
  EXPECT_THAT(Granted({"c0"}).mounts, ElementsAre(Mount{"/opt/x", "/opt/x", true}));
}

TEST_F(AllocateTest, DeduplicatesCdiNames) {
  spec_.cdi_devices = {MakeTemplate("example.com/x=all"), MakeTemplate("example.com/x={card}"),
                       MakeTemplate("example.com/x=all")};
  EXPECT_THAT(Granted({"c1", "c0"}).cdi_devices,
              ElementsAre("example.com/x=all", "example.com/x=0", "example.com/x=1"));
}

TEST_F(AllocateTest, RejectsHostileValues) {
  const std::string nul("a\0b", 3);
  struct Case {
    std::string_view what;
    std::string value;
    std::function<void(ResourceSpec&)> use;
  };
  const auto in_container_path = [](ResourceSpec& s) { s.device_nodes = {Node({}, "/dev/{v}")}; };
  const auto as_container_path = [](ResourceSpec& s) { s.device_nodes = {Node({}, "{v}")}; };
  const auto in_host_path = [](ResourceSpec& s) { s.device_nodes = {Node("/dev/{v}", "/dev/x")}; };
  const auto in_mount = [](ResourceSpec& s) { s.mounts = {Mounted("/srv/{v}", "/data")}; };
  const auto in_mount_target = [](ResourceSpec& s) { s.mounts = {Mounted("/srv", "/data/{v}")}; };
  const auto in_env_key = [](ResourceSpec& s) { s.env = {Entry("E{v}", "x")}; };
  const auto in_env = [](ResourceSpec& s) { s.env = {Entry("A", "{v}")}; };
  const auto in_note = [](ResourceSpec& s) { s.annotations = {Entry("a", "{v}")}; };
  const auto in_note_key = [](ResourceSpec& s) { s.annotations = {Entry("{v}", "a")}; };
  const auto in_cdi = [](ResourceSpec& s) { s.cdi_devices = {MakeTemplate("a/b={v}")}; };
  const Case cases[] = {
      {"container path", "..", in_container_path},
      {"container path", "../../etc/passwd", in_container_path},
      {"container path", "a/../b", in_container_path},
      {"container path", nul, in_container_path},
      {"container path", "\xff", in_container_path},
      {"whole container path", "", as_container_path},
      {"whole container path", "relative", as_container_path},
      {"whole container path", "/", as_container_path},
      {"whole container path", "/.", as_container_path},
      {"whole container path", "//./", as_container_path},
      {"host path", "../sda", in_host_path},
      {"host path", nul, in_host_path},
      {"host path", "\xff", in_host_path},
      {"mount", "../../etc", in_mount},
      {"mount", "..", in_mount_target},
      {"mount", nul, in_mount},
      {"env name", "A=B", in_env_key},
      {"env name", "=", in_env_key},
      {"env name", nul, in_env_key},
      {"env name", "\xc3", in_env_key},
      {"env", nul, in_env},
      {"env", "\xed\xa0\x80", in_env},
      {"annotation", "\xff\x1b[2J", in_note},
      {"annotation name", "", in_note_key},
      {"cdi", nul, in_cdi},
      {"cdi", "\xff", in_cdi},
  };
  const ResourceSpec plain = spec_;
  for (const Case& c : cases) {
    spec_ = plain;
    c.use(spec_);
    devices_ = {WithCaptures("hostile", {{"v", c.value}})};
    EXPECT_EQ(Refused({"hostile"}).kind, ErrorKind::kInvalid) << c.what << " " << c.value;
    const auto problem =
        ProblemWithDevice(std::make_shared<const ResourceSpec>(spec_), devices_[0], "node-1");
    ASSERT_TRUE(problem) << c.what << " " << c.value;
    EXPECT_EQ(problem->reason, RejectReason::kBadTemplate);
    EXPECT_EQ(problem->path, "/dev/hostile");
    EXPECT_TRUE(IsUtf8(problem->detail));

    if (c.what == "whole container path") continue;
    const bool is_name = c.what.ends_with("name") || c.what == "cdi";
    const bool is_value = c.what == "env" || c.what == "annotation";
    if (is_value) {
      EXPECT_THAT(problem->detail, HasSubstr("is not text; use another variable"));
    }
    devices_ = {WithCaptures("harmless", {{"v", is_name    ? "a9"
                                                : is_value ? "..a b:\xc3\xa9\n"
                                                           : "..a b:"}})};
    EXPECT_TRUE(Get({"harmless"})) << c.what;
  }
}

TEST_F(AllocateTest, RejectsNulBytesFromFormatSpecs) {
  for (const char* text : {"{slot:c}", "{major:c}{slot:c}"}) {
    spec_.env = {Entry("A", text)};
    EXPECT_EQ(Refused({"c0"}).kind, ErrorKind::kInvalid) << text;
  }
}

TEST_F(AllocateTest, RejectsMissingVariables) {
  devices_ = {WithCaptures("with", {{"v", ""}}), WithCaptures("without")};
  spec_.env = {Entry("A", "{v}")};
  EXPECT_THAT(Granted({"with"}).envs, ElementsAre(Pair("A", "")));
  EXPECT_THAT(Refused({"without"}).message, HasSubstr("\"v\""));
}

TEST(ProblemWithDevice, DetectsEveryRejectReason) {
  struct Case {
    std::string_view what;
    std::function<void(ResourceSpec&)> change;
    std::optional<RejectReason> reason;
  };
  const Case cases[] = {
      {"plain", [](ResourceSpec&) {}, std::nullopt},
      {"capture", [](ResourceSpec& s) { s.env = {Entry("A", "{card}")}; }, std::nullopt},
      {"missing env", [](ResourceSpec& s) { s.env = {Entry("A", "{no}")}; },
       RejectReason::kMissingVariable},
      {"missing, with another variable",
       [](ResourceSpec& s) { s.env = {Entry("A", "{card}{no}")}; }, RejectReason::kMissingVariable},
      {"missing key", [](ResourceSpec& s) { s.annotations = {Entry("{no}", "a")}; },
       RejectReason::kMissingVariable},
      {"missing cdi", [](ResourceSpec& s) { s.cdi_devices = {MakeTemplate("{no}")}; },
       RejectReason::kMissingVariable},
      {"missing in an optional node",
       [](ResourceSpec& s) { s.device_nodes.push_back(Node("/dev/{no}", {}, "r", true)); },
       RejectReason::kMissingVariable},
      {"missing mount", [](ResourceSpec& s) { s.mounts = {Mounted("/{no}", "/x")}; },
       RejectReason::kMissingVariable},
      {"conflict with itself",
       [](ResourceSpec& s) { s.device_nodes.push_back(Node("/dev/y", "/dev/c1")); },
       RejectReason::kBadTemplate},
      {"a node that is not there",
       [](ResourceSpec& s) { s.device_nodes.push_back(Node("/none/such", {})); }, std::nullopt},
      {"the replica",
       [](ResourceSpec& s) {
         s.replicas = 3;
         s.env = {Entry("A", "{id}{replica}{slot}{index}{node_name}{resource}")};
       },
       std::nullopt},
  };
  for (const Case& c : cases) {
    ResourceSpec spec = Resource({CountMatch(1)});
    c.change(spec);
    const auto problem = ProblemWithDevice(std::make_shared<const ResourceSpec>(spec),
                                           WithCaptures("c1", {{"card", "1"}}), "node-1");
    ASSERT_EQ(problem.has_value(), c.reason.has_value()) << c.what;
    if (!problem) continue;
    EXPECT_EQ(problem->reason, *c.reason) << c.what;
    EXPECT_EQ(problem->path, "/dev/c1") << c.what;
    EXPECT_FALSE(problem->detail.empty()) << c.what;
  }
}

TEST(ProblemWithDevice, DetectsResponsesThatAreTooLarge) {
  ResourceSpec spec = Resource({CountMatch(1)});
  Device device;
  device.id = "0";
  for (int i = 0; i < 1000; ++i) spec.env.push_back(Entry(Format("A{}", i), "{id:>4000}"));
  const auto problem = ProblemWithDevice(std::make_shared<const ResourceSpec>(spec), device, "");
  ASSERT_TRUE(problem);
  EXPECT_THAT(problem->detail, HasSubstr("the container would get"));
  spec.env.resize(500);
  EXPECT_EQ(ProblemWithDevice(std::make_shared<const ResourceSpec>(spec), device, ""),
            std::nullopt);
}

TEST(ProblemWithDevice, DetectsPathVariablesOfDevicesWithoutNode) {
  ResourceSpec spec = Resource({CountMatch(1)});
  const Device device{"7", {}, {}};
  EXPECT_EQ(ProblemWithDevice(std::make_shared<const ResourceSpec>(spec), device, ""),
            std::nullopt);
  spec.env = {Entry("A", "{path}")};
  const auto problem = ProblemWithDevice(std::make_shared<const ResourceSpec>(spec), device, "");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->reason, RejectReason::kMissingVariable);
  EXPECT_EQ(problem->path, "7");
  EXPECT_THAT(problem->detail, EndsWith("it has no node; use {id}"));
  const auto of_interface = ProblemWithDevice(std::make_shared<const ResourceSpec>(spec),
                                              {"eth0", {}, {{"INTERFACE", "eth0"}}}, "");
  ASSERT_TRUE(of_interface);
  EXPECT_THAT(of_interface->detail, HasSubstr("use {INTERFACE}"));
}

TEST_F(AllocateTest, GroupedNodesUseTheirOwnVariables) {
  Device card;
  card.id = "card3";
  card.values = {{"vendor", "acme"}, {"kind", "hidden"}};
  for (const auto& [path, kind] :
       {std::pair("/dev/snd/controlC3", "control"), std::pair("/dev/snd/pcmC3D0p", "pcm")}) {
    card.nodes.push_back({path, path, FileType::kCharacter, 1, 3, {{"kind", kind}, {"card", "3"}}});
  }
  devices_ = {card};
  spec_.device_nodes[0].container_path = MakeTemplate("/dev/snd/{kind}C{slot}-{vendor}");
  spec_.env = {Entry("CARD", "{card} {kind} {vendor}")};
  const ContainerResponse response = Granted({"card3"});
  EXPECT_THAT(response.devices,
              ElementsAre(DeviceSpec{"/dev/snd/controlC0-acme", "/dev/snd/controlC3", "rw"},
                          DeviceSpec{"/dev/snd/pcmC0-acme", "/dev/snd/pcmC3D0p", "rw"}));
  EXPECT_THAT(response.envs, ElementsAre(Pair("CARD", "3 control acme")));
}

/// From the file system to the response.
TEST(AllocateFromHost, FollowsRetargetedLinkToTheSameDeviceOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::TempTree tree;
  const HostRoot host(tree.path());
  tree.CharDevice("dev/ttyUSB0", 188, 0);
  tree.CharDevice("dev/ttyUSB1", 188, 1);
  tree.Link("dev/by-id/A", "../ttyUSB0");
  const auto spec = std::make_shared<const ResourceSpec>(Resource({PathMatch({"/dev/by-id/*"})}));
  Inventory inventory(spec, "");
  inventory.MergeScan(Discover(*spec, host, ""), {});
  inventory.Publish();
  const auto snapshot = inventory.snapshot();
  const AllocationContext context = AllocationOn({host, ""});
  const std::vector<std::string> ids = {"A"};

  auto response = Allocate(*snapshot, ids, context);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(response->devices, ElementsAre(DeviceSpec{"/dev/by-id/A", "/dev/ttyUSB0", "rw"}));

  tree.Remove("dev/by-id/A");
  tree.Link("dev/by-id/A", "/dev/ttyUSB1");
  response = Allocate(*snapshot, ids, context);
  ASSERT_FALSE(response) << "not the device that was found";
  EXPECT_EQ(response.error().kind, ErrorKind::kPrecondition);

  std::filesystem::rename(tree.path("dev/ttyUSB0"), tree.path("dev/renamed"));
  tree.Remove("dev/by-id/A");
  tree.Link("dev/by-id/A", "../renamed");
  response = Allocate(*snapshot, ids, context);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(response->devices, ElementsAre(DeviceSpec{"/dev/by-id/A", "/dev/renamed", "rw"}));

  // The kernel reuses the number of an unplugged device.
  tree.CharDevice("dev/other", 188, 0);
  std::filesystem::rename(tree.path("dev/other"), tree.path("dev/renamed"));
  response = Allocate(*snapshot, ids, context);
  ASSERT_FALSE(response) << "another device with the same number";
  EXPECT_EQ(response.error().kind, ErrorKind::kPrecondition);

  tree.Remove("dev/renamed");
  response = Allocate(*snapshot, ids, context);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kPrecondition);
  EXPECT_THAT(response.error().message, HasSubstr("/dev/by-id/A"));
}

TEST(AllocateFromHost, EveryListedDeviceCanBeAllocated) {
  std::mt19937 random(99);
  const std::vector<std::string> names = {"a",    "b b", "c\nc", "..d",
                                          "=",    "é",   "{x}",  "x:y",
                                          "0",    "00",  "\xff", std::string(255, 'q'),
                                          "PATH", "-"};
  std::size_t granted = 0;
  for (int round = 0; round < 80; ++round) {
    test::TempTree tree;
    const HostRoot host(tree.path());
    tree.Dir("dev");
    for (const std::string& name : names) {
      switch (random() % 4) {
        case 0: tree.File("dev/" + name); break;
        case 1: tree.Link("dev/" + name, names[random() % names.size()]); break;
        case 2: tree.File("dev/sub/" + name); break;
        default: break;
      }
    }
    ResourceSpec spec = Resource({RegexMatch("/dev/(?P<first>.)?(?P<rest>(?s:.)*)", NodeType::kAny),
                                  PathMatch({"/dev/**"}, NodeType::kAny), CountMatch(2)});
    spec.replicas = 1 + static_cast<int>(random() % 3);
    spec.env = {Entry("ID_{slot}", "{id}"), Entry("ALL", "{index}")};
    if (random() % 2 == 0) {
      spec.mounts = {Mounted("{path}", "/data/{name}")};
      spec.env.push_back(Entry("{rest}", "{first}"));
    }
    const auto shared = std::make_shared<const ResourceSpec>(spec);
    Inventory inventory(shared, "node");
    inventory.MergeScan(Discover(*shared, host, "node"), {});
    inventory.Publish();
    const auto snapshot = inventory.snapshot();
    const AllocationContext context = AllocationOn({host, "node"});
    std::set<std::string> advertised;
    for (const ListedDevice& listed : snapshot->devices) {
      for (int replica = 0; replica < spec.replicas; ++replica) {
        const std::vector<std::string> ids = {AdvertisedId(spec, listed.device->id, replica)};
        ASSERT_TRUE(test::IsLegalId(ids[0])) << ids[0];
        ASSERT_TRUE(advertised.insert(ids[0]).second) << ids[0];
        const auto response = Allocate(*snapshot, ids, context);
        ASSERT_TRUE(response) << ids[0] << ": " << response.error().message;
        ASSERT_EQ(response->envs.at("ID_0"), ids[0]);
        ++granted;
      }
    }
  }
  EXPECT_GT(granted, 400u) << "the trees have too few devices for a meaningful test";
}

/// Two network interfaces, which move into containers.
class AllocateInterfaceTest : public AllocateTest {
 protected:
  AllocateInterfaceTest() {
    devices_.clear();
    for (const char* id : {"0000:03:00.0", "0000:03:00.1"}) {
      Device device{id, {}, {{"INTERFACE", "eth1"}}, {}};
      device.interface = NetInterface{.bus_device = std::string("/sys/devices/") + id};
      devices_.push_back(std::move(device));
    }
    spec_.device_nodes.clear();
    spec_.name = "a.com/lan";
    spec_.net_device.emplace();
    spec_.net_device->mtu = 9000;
    spec_.net_device->addresses = {MakeTemplate("192.0.2.{slot}/24")};
  }
};

TEST_F(AllocateInterfaceTest, NamesTheDeviceOfTheSlotAndRendersItsFileEqually) {
  devices_[1].interface->is_away = true;  // for a container of the same pod
  const auto response = Get({"0000:03:00.0", "0000:03:00.1"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(response->cdi_devices, ElementsAre("patchbay.dev/net=a.com_2flan_3d0000:03:00.0-0",
                                                 "patchbay.dev/net=a.com_2flan_3d0000:03:00.1-1"));
  ASSERT_THAT(response->networks, SizeIs(2));
  EXPECT_EQ(response->networks[1].move.mtu, 9000);
  EXPECT_THAT(response->networks[1].move.addresses, ElementsAre("192.0.2.1/24"));

  DeviceList::Shared shared;
  for (const Device& device : devices_) shared.push_back(std::make_shared<const Device>(device));
  const CdiSpec file = NetDevicesOf(spec_, DeviceList(std::move(shared)), "node-1", {});
  EXPECT_THAT(file.devices, SizeIs(2 * kMaxNetSlots));
  for (const auto& [move, hook] : response->networks) {
    const bool has_it = std::ranges::any_of(file.devices, [&, &hook = hook](const CdiDevice& one) {
      return std::ranges::count(response->cdi_devices, QualifiedCdiName(kNetKind, one.name)) == 1 &&
             one.edits.hooks == std::vector{hook};
    });
    EXPECT_TRUE(has_it);
  }
}

TEST_F(AllocateInterfaceTest, HasNoNameOfADeviceInAClaim) {
  spec_.api = Api::kDra;
  const auto response = Get({"0000:03:00.0"});
  ASSERT_TRUE(response);
  EXPECT_THAT(response->cdi_devices, IsEmpty());
  EXPECT_THAT(response->networks, SizeIs(1));
}

TEST_F(AllocateInterfaceTest, RefusesTwoInterfacesOfOneName) {
  spec_.net_device->name = MakeTemplate("lan0");
  EXPECT_TRUE(Get({"0000:03:00.0"}));
  const auto both = Get({"0000:03:00.0", "0000:03:00.1"});
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("{slot}"));
}

TEST_F(AllocateInterfaceTest, RefusesNamesAndAddressesThatAreNone) {
  spec_.net_device->name = MakeTemplate("{ID}");
  for (const char* name :
       {"", ".", "..", "a b", "a/b", "eth%d", "0123456789abcdef", "a:b", "\xff"}) {
    devices_[0].values = {{"ID", name}};
    EXPECT_FALSE(Get({"0000:03:00.0"})) << name;
  }
  spec_.net_device->name.reset();
  spec_.net_device->addresses = {MakeTemplate("{ID}/24")};
  for (const char* address : {"", "1", "1.2.3", "1.2.3.4/8", "1.2.3.4%eth0", "::1 --up"}) {
    devices_[0].values = {{"ID", address}};
    EXPECT_FALSE(Get({"0000:03:00.0"})) << address;
  }
  devices_[0].values = {{"ID", "fe80::1"}};
  EXPECT_TRUE(Get({"0000:03:00.0"}));
}

TEST_F(AllocateInterfaceTest, HasAsManySlotsAsItsFile) {
  devices_.clear();
  std::vector<std::string> ids;
  for (int i = 0; i <= kMaxNetSlots; ++i) {
    Device device{"vf" + std::to_string(i), {}, {}, {}};
    device.interface = NetInterface{.bus_device = "/sys/devices/" + device.id};
    ids.push_back(device.id);
    devices_.push_back(std::move(device));
  }
  const auto too_many = Get(ids);
  ASSERT_FALSE(too_many);
  EXPECT_THAT(too_many.error().message, HasSubstr("max_per_container = 16"));
  ids.pop_back();
  EXPECT_TRUE(Get(ids));
}

}  // namespace
}  // namespace patchbay
