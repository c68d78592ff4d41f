#include "dra/claim_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dra/claim_spec.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClaimMetadataTest : public test::ClaimPreparerFixture {
 protected:
  static PreparedRequest Planned(const std::string& request, const std::string& device) {
    return {.request = request,
            .resource = "example.com/thing",
            .devices = {{.pool = test::kThings, .device = device, .device_id = device}}};
  }
  static PreparedClaim Plan(std::vector<PreparedRequest> requests) {
    return {.claim = Key("mine"), .requests = std::move(requests)};
  }
  std::vector<ClaimMetadata> FilesOf(const PreparedClaim& plan) const {
    const std::vector<ContainerResponse> responses(plan.requests.size());
    return MetadataOf(plan, "patchbay.dev", resources_, responses);
  }
  std::string FileOfRequest(const std::string& name, const std::string& request = "r") const {
    return TextOfFile("data/metadata/" + MetadataFileName(Key(name).uid, request));
  }
  std::string TextOfFile(const std::string& path) const {
    std::ifstream file(tree_.path(path));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(ClaimMetadataTest, HasTheDevicesOfARequestWithTheirAttributes) {
  const auto files = FilesOf(Plan({Planned("r", "a"), Planned("s", "a"), Planned("r", "b")}));
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_EQ(files[0].request, "r");
  EXPECT_THAT(files[0].text, EndsWith("}\n"));
  const auto device = [](const std::string& name) {
    return json{{"driver", "patchbay.dev"},
                {"pool", test::kThings},
                {"name", name},
                {"attributes",
                 {{"id", {{"string", name}}}, {"resource", {{"string", "example.com/thing"}}}}}};
  };
  EXPECT_EQ(json::parse(files[0].text),
            (json{{"apiVersion", "metadata.resource.k8s.io/v1alpha1"},
                  {"kind", "DeviceMetadata"},
                  {"metadata",
                   {{"name", "mine"},
                    {"namespace", "default"},
                    {"uid", Key("mine").uid},
                    {"generation", 1}}},
                  {"requests", {{{"name", "r"}, {"devices", {device("a"), device("b")}}}}}}));
  EXPECT_EQ(files[1].request, "s");
}

TEST_F(ClaimMetadataTest, NamesTheSubrequestAndTheClaimOfThePodInItsContentAndItsPath) {
  PreparedClaim plan = Plan({Planned("r", "a")});
  EXPECT_EQ(MetadataPathInContainer(plan, "r", "patchbay.dev"),
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/mine/r/"
            "patchbay.dev-metadata.json");
  plan.pod_claim_name = "serial";
  plan.requests[0].subrequest = "r/second";
  const json file = json::parse(FilesOf(plan).at(0).text);
  EXPECT_EQ(file["podClaimName"], "serial");
  EXPECT_EQ(file["requests"][0]["name"], "r/second");
  EXPECT_EQ(MetadataPathInContainer(plan, "r", "patchbay.dev"),
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/serial/r/"
            "patchbay.dev-metadata.json");
}

TEST_F(ClaimMetadataTest, HasTheInterfaceAsTheContainerGetsIt) {
  Device device{"a", {}, {{"INTERFACE", "eth1"}}, {}};
  device.interface = NetInterface{.bus_device = "/sys/devices/x", .address = "02:00:00:00:00:01"};
  Serve(test::kThings, spec_, {{std::make_shared<const Device>(device), Health::kHealthy, ""}});
  ContainerResponse response;
  response.networks.push_back({});
  NetMove& move = response.networks[0].move;
  move.interface = *device.interface;
  const auto network = [&] {
    const auto files =
        MetadataOf(Plan({Planned("r", "a")}), "patchbay.dev", resources_, std::vector{response});
    return json::parse(files.at(0).text)["requests"][0]["devices"][0].value("networkData", json());
  };
  EXPECT_EQ(network(), (json{{"interfaceName", "eth1"}, {"hardwareAddress", "02:00:00:00:00:01"}}));
  move.name = "lan0";
  move.addresses = {"192.0.2.7/24"};
  move.interface.address.clear();
  EXPECT_EQ(network(), (json{{"interfaceName", "lan0"}, {"ips", {"192.0.2.7/24"}}}));
  response.networks.clear();
  EXPECT_EQ(network(), json());
}

TEST_F(ClaimMetadataTest, HasNoFileForARequestThatCannotBePartOfAPath) {
  EXPECT_THAT(FilesOf(Plan({Planned("../r", "a"), Planned("", "b")})), IsEmpty());
}

TEST_F(ClaimMetadataTest, IsMountedOnceForEachRequestAndRemovedWithTheClaim) {
  spec_.env = {{test::MakeTemplate("THING_{slot}"), test::MakeTemplate("{id}")}};
  Restart();
  Allocate("mine", {Thing("a", "r"), Thing("b", "s")});
  ASSERT_TRUE(Prepare("mine"));
  const auto file = CdiFromJson(TextOf(FileOf("mine")));
  ASSERT_TRUE(file);
  ASSERT_THAT(file->devices, SizeIs(2));
  for (const CdiDevice& device : file->devices) {
    ASSERT_THAT(device.edits.mounts, SizeIs(1));
    const CdiMount& mount = device.edits.mounts[0];
    EXPECT_THAT(mount.options, ElementsAre("bind", "ro"));
    std::ifstream source(mount.host_path);
    const json metadata = json::parse(source);
    EXPECT_THAT(
        mount.container_path,
        HasSubstr("/resourceclaims/mine/" + metadata["requests"][0]["name"].get<std::string>()));
  }
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(FileOfRequest("mine", "r") + FileOfRequest("mine", "s"), "");
}

TEST_F(ClaimMetadataTest, ALostFileIsWrittenAgainWhenTheClaimIsPreparedAgain) {
  Allocate("mine", "a");
  ASSERT_TRUE(Prepare("mine"));
  const std::string text = FileOfRequest("mine");
  EXPECT_THAT(text, HasSubstr("DeviceMetadata"));
  tree_.Remove("data/metadata/" + MetadataFileName(Key("mine").uid, "r"));
  Restart();
  ASSERT_TRUE(Prepare("mine"));
  EXPECT_EQ(FileOfRequest("mine"), text);
}

}  // namespace
}  // namespace patchbay
