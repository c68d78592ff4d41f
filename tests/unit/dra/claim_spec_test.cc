#include "dra/claim_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "dra/claim_record.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Pair;
using testing::SizeIs;

constexpr char kDriverOfEdits[] = "patchbay.dev";
constexpr char kClaimUid[] = "6e0c2b54-1111-4222-8333-944455556666";

PreparedDevice Planned(const std::string& id, const std::string& share_id = "") {
  return {.pool = "node-1/example.com/serial",
          .device = id,
          .device_id = "ID-" + id,
          .share_id = share_id,
          .replicas = {0}};
}

PreparedRequest PlannedFor(const std::string& request, std::vector<PreparedDevice> devices) {
  return {.request = request, .resource = "example.com/serial", .devices = std::move(devices)};
}

PreparedClaim PlanOf(std::vector<PreparedRequest> requests) {
  return {.claim = {kClaimUid, "default", "mine"}, .requests = std::move(requests)};
}

/// A response with one of everything that CDI can express.
ContainerResponse Response() {
  ContainerResponse response;
  response.envs = {{"SERIAL", "/dev/ttyS0,/dev/ttyS1"}};
  response.devices = {{"/dev/ttyS0", "/dev/ttyUSB3", "rw"}, {"/dev/null", "/dev/null", "rwm"}};
  response.mounts = {{"/opt/a", "/srv/a", true}, {"/dev/snd", "/run/snd", false}};
  return response;
}

CdiSpec SpecOf(const PreparedClaim& plan, const std::vector<ContainerResponse>& responses) {
  auto spec = MakeClaimSpec(kDriverOfEdits, plan, responses);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? spec->file : CdiSpec();
}

PreparedClaim RecordFor(const PreparedClaim& plan,
                        const std::vector<ContainerResponse>& responses) {
  auto spec = MakeClaimSpec(kDriverOfEdits, plan, responses);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? spec->record : PreparedClaim();
}

TEST(ClaimSpec, KeepsDeviceNodesMountsAndEnv) {
  const CdiEdits edits = EditsOf(Response());
  EXPECT_THAT(edits.env, ElementsAre(Pair("SERIAL", "/dev/ttyS0,/dev/ttyS1")));
  EXPECT_THAT(edits.device_nodes, ElementsAre(CdiDeviceNode{"/dev/ttyS0", "/dev/ttyUSB3", "rw"},
                                              CdiDeviceNode{"/dev/null", "", "rwm"}));
  EXPECT_THAT(edits.mounts, ElementsAre(CdiMount{"/srv/a", "/opt/a", {"rbind", "ro"}},
                                        CdiMount{"/run/snd", "/dev/snd", {"rbind", "rw"}}));
  EXPECT_THAT(edits.additional_gids, IsEmpty());
}

TEST(ClaimSpec, HasTheHookOfEachInterface) {
  ContainerResponse response;
  for (const char* id : {"0000:03:00.0", "0000:03:00.1"}) {
    NetMove move;
    move.interface.bus_device = Format("/sys/devices/{}", id);
    const CdiHook hook = HookOf(move, {"/net/patchbay-net", "/net/results", {}});
    response.networks.push_back({move, hook});
  }
  const CdiSpec file = SpecOf(PlanOf({PlannedFor("r", {Planned("a"), Planned("b")})}), {response});
  ASSERT_THAT(file.devices, SizeIs(1));
  EXPECT_THAT(file.devices[0].edits.hooks,
              ElementsAre(response.networks[0].hook, response.networks[1].hook));
}

TEST(ClaimSpec, NamesFileAndDevicesByUid) {
  EXPECT_EQ(ClaimFileName(kDriverOfEdits, kClaimUid),
            Format("patchbay.dev-claim_{}.json", kClaimUid));
  const CdiSpec spec =
      SpecOf(PlanOf({PlannedFor("a", {Planned("x")}), PlannedFor("b", {Planned("y")})}),
             {Response(), Response()});
  EXPECT_EQ(spec.kind, "patchbay.dev/claim");
  ASSERT_THAT(spec.devices, SizeIs(2));
  EXPECT_THAT(spec.devices[0].name, MatchesRegex(Format("{}-a-[0-9a-f]{{16}}", kClaimUid)));
  EXPECT_THAT(spec.devices[1].name, MatchesRegex(Format("{}-b-[0-9a-f]{{16}}", kClaimUid)));
}

/// Runtimes cache devices by name.
TEST(ClaimSpec, NamesWhatAClaimGetsLaterDifferently) {
  const auto name_of = [](const PreparedDevice& device, const ContainerResponse& response) {
    return SpecOf(PlanOf({PlannedFor("a", {device})}), {response}).devices[0].name;
  };
  const std::string name = name_of(Planned("x", "share-1"), Response());
  EXPECT_EQ(name_of(Planned("x", "share-1"), Response()), name);
  EXPECT_NE(name_of(Planned("y", "share-1"), Response()), name);
  EXPECT_NE(name_of(Planned("x", "share-2"), Response()), name);
  ContainerResponse other_node = Response();
  other_node.envs["PORT"] = "/dev/ttyUSB7";
  EXPECT_NE(name_of(Planned("x", "share-1"), other_node), name);
  PreparedDevice other_slot = Planned("x", "share-1");
  other_slot.replicas = {7};
  EXPECT_NE(name_of(other_slot, Response()), name);
}

TEST(ClaimSpec, NamesTheCdiDevicesOfARequest) {
  ContainerResponse response = Response();
  response.cdi_devices = {"patchbay.dev/group=gid-20"};
  const PreparedClaim plan = PlanOf({PlannedFor("a", {Planned("x"), Planned("y", "share-1")})});
  const CdiSpec spec = SpecOf(plan, {response});
  const PreparedClaim prepared = RecordFor(plan, {response});
  EXPECT_THAT(
      prepared.requests[0].cdi_devices,
      ElementsAre("patchbay.dev/claim=" + spec.devices[0].name, "patchbay.dev/group=gid-20"));
  EXPECT_EQ(prepared.requests[0].devices, plan.requests[0].devices);
}

TEST(ClaimSpec, ReadsBackEveryField) {
  PreparedDevice shared = Planned("x", "share-1");
  shared.replicas = {1, 3};
  PreparedDevice admin = Planned("y");
  admin.admin_access = true;
  const PreparedClaim plan = PlanOf({PlannedFor("a", {shared}), PlannedFor("b", {admin})});
  PreparedClaim record = RecordFor(plan, {Response(), Response()});
  record.boot = "boot";
  record.is_finished = true;
  record.requests[0].nodes = {"c 188:0 /dev/ttyUSB0"};
  record.requests[0].config = "1";
  record.requests[0].values = "2";
  record.requests[0].env = {{"A", "1"}, {"B", ""}};
  record.requests[1].first_slot = 2;
  record.requests[1].subrequest = "b/second";
  record.pod_claim_name = "serial";
  record.metadata = {{"a", "{}\n"}, {"b", "{\"x\": \"\xc3\xa4\"}"}};
  const auto prepared = RecordFromJson(RecordToJson(record), kClaimUid);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(*prepared, record);
  EXPECT_EQ(prepared->claim, plan.claim);
  EXPECT_THAT(DevicesOf(*prepared), ElementsAre(shared, admin));
}

TEST(ClaimSpec, NamesTwoResourcesOfOneRequestDifferently) {
  PreparedRequest other = PlannedFor("a", {Planned("y")});
  other.resource = "example.com/other";
  const CdiSpec spec =
      SpecOf(PlanOf({PlannedFor("a", {Planned("x")}), other}), {Response(), Response()});
  EXPECT_THAT(spec.devices[0].name, MatchesRegex(Format("{}-a-[0-9a-f]{{16}}", kClaimUid)));
  EXPECT_THAT(spec.devices[1].name, MatchesRegex(Format("{}-a.2-[0-9a-f]{{16}}", kClaimUid)));
}

/// Runtimes reject a device without edits, and with it the whole file.
TEST(ClaimSpec, DoesNotNameADeviceThatGivesNothing) {
  ContainerResponse response;
  response.cdi_devices = {"vendor.com/class=x"};
  const PreparedClaim plan = PlanOf({PlannedFor("a", {Planned("x")})});
  EXPECT_NE(SpecOf(plan, {response}).devices[0].edits, CdiEdits());
  EXPECT_THAT(RecordFor(plan, {response}).requests[0].cdi_devices,
              ElementsAre("vendor.com/class=x"));
}

TEST(ClaimSpec, AddsEnvOfParametersButReplacesNone) {
  PreparedRequest request = PlannedFor("a", {Planned("x")});
  request.env = {{"MODE", "fast"}};
  EXPECT_THAT(SpecOf(PlanOf({request}), {Response()}).devices[0].edits.env,
              ElementsAre(Pair("MODE", "fast"), Pair("SERIAL", "/dev/ttyS0,/dev/ttyS1")));
  request.env = {{"SERIAL", "/dev/mem"}};
  const auto refused =
      MakeClaimSpec(kDriverOfEdits, PlanOf({request}), std::vector<ContainerResponse>{Response()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("\"SERIAL\""));
}

TEST(MovedNode, ComparesNodesWithNumbersOnly) {
  ContainerResponse now = Response();
  now.devices.resize(1);
  now.devices[0].node = HostNode{"/dev/ttyUSB3", FileType::kCharacter, 188, 3};
  CdiDeviceNode node{"/dev/ttyS0", "/dev/ttyUSB3", "rw"};
  const auto moved = [&] {
    CdiSpec file = SpecOf(PlanOf({PlannedFor("a", {Planned("x")})}), {now});
    file.devices.at(0).edits.device_nodes = {node};
    return MovedNode(file, std::vector<ContainerResponse>{now});
  };
  EXPECT_EQ(moved(), "") << "the runtime reads the numbers from the host";
  node.type = 'c';
  node.major = 188;
  node.minor = 3;
  EXPECT_EQ(moved(), "");
  node.minor = 2;
  EXPECT_THAT(moved(), HasSubstr("/dev/ttyS0 has changed from c 188:2 to c 188:3"));
}

TEST(ClaimSpec, DoesNotSuggestSlotsIfTwoResourcesClash) {
  PreparedRequest other = PlannedFor("b", {Planned("y")});
  ContainerResponse of_other = Response();
  of_other.envs["SERIAL"] = "/dev/ttyS9";
  const auto refusal = [&] {
    const auto spec =
        MakeClaimSpec(kDriverOfEdits, PlanOf({PlannedFor("a", {Planned("x")}), other}),
                      std::vector<ContainerResponse>{Response(), of_other});
    return spec ? "none" : spec.error().message;
  };
  EXPECT_THAT(refusal(), HasSubstr("such as {slot} or {id}"));
  other.resource = "example.com/other";
  EXPECT_THAT(refusal(),
              HasSubstr("use another name in one of the resources example.com/serial and "
                        "example.com/other, or a variable in it that differs between devices, such "
                        "as {id}, because {slot} counts the devices of each resource"));
  const CdiSpec serial = SpecOf(PlanOf({PlannedFor("a", {Planned("x")})}), {Response()});
  const auto both = CheckTogether({kClaimUid, "default", "mine"}, serial, {"u", "default", "other"},
                                  SpecOf(PlanOf({other}), {of_other}));
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message,
              HasSubstr("such as {id}, because {slot} counts the devices of one resource in one "
                        "claim; or use one claim, if both are of one resource"));
}

TEST(ClaimSpec, RejectsRecordsThatItDidNotWrite) {
  const std::string record =
      RecordToJson(RecordFor(PlanOf({PlannedFor("a", {Planned("x")})}), {Response()}));
  ASSERT_TRUE(RecordFromJson(record, kClaimUid));
  EXPECT_FALSE(RecordFromJson(record, "another-uid"));
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(RecordFromJson(record.substr(0, size), kClaimUid)) << size;
  }
  const std::string requests = record.substr(record.find("\"requests\""));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {record, ""},
           {record, "[]"},
           {requests, R"("requests":[]})"},
           {R"("version":1)", R"("version":0)"},
           {R"("finished":false)", R"("finished":1)"},
           {R"("request":"a")", R"("request":"b")"},
           {R"("request":"a")", R"("request":7)"},
           {R"("replicas":[0])", R"("replicas":[-1])"},
           {R"("replicas":[0])", R"("replicas":[4294967296])"},
           {R"("replicas":[0])", R"("replicas":["0"])"},
           {R"("replicas":[0])", R"("replicas":0)"},
           {R"("name":"mine")", R"("name":"mine","more":1)"},
           {R"("name":"mine")", R"("name": "mine")"},
           {R"("first_slot":0)", R"("first_slot":-1)"},
           {R"("env":{})", R"("env":[])"},
           {R"("env":{})", R"("env":{"A":1})"},
           {R"("cdi":[)", R"("cdi":[1,)"}}) {
    std::string text = record;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const auto read = RecordFromJson(text, kClaimUid);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace patchbay
