// The publisher against the built-in API server of an older and a newer release.

#include <gmock/gmock.h>

#include <random>

#include "unit/dra/publisher_fixture.h"

namespace patchbay {
namespace {

using test::Listed;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class PublisherServerTest : public test::PublisherFixture {};

/// Properties of every release.
class PublisherReleaseTest : public PublisherServerTest,
                             public testing::WithParamInterface<api_sim::ApiProfile> {};

INSTANTIATE_TEST_SUITE_P(All, PublisherReleaseTest,
                         testing::Values(api_sim::ApiProfile::k1_34, api_sim::ApiProfile::k1_36),
                         [](const auto& release) {
                           return release.param == api_sim::ApiProfile::k1_34 ? "K134" : "K136";
                         });

TEST_P(PublisherReleaseTest, PublishesDevicesOfTheNode) {
  Serve(GetParam());
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("create 201"));
  EXPECT_THAT(Devices(), ElementsAre("a", "b"));
  const Json slice = Slices().at(0);
  EXPECT_EQ(slice["spec"]["nodeName"], "node-1");
  EXPECT_EQ(slice["spec"]["driver"], "patchbay.dev");
  const Json node = Json::parse(server_->Call("GET", "/api/v1/nodes/node-1").body);
  EXPECT_EQ(slice["metadata"]["ownerReferences"][0]["uid"], node["metadata"]["uid"]);
}

TEST_P(PublisherReleaseTest, RestartsWithoutAWrite) {
  Serve(GetParam());
  SetDevices({Listed("a"), Listed("b", Health::kUnhealthy, "probe failed")});
  ASSERT_TRUE(AwaitCurrent());
  const std::vector<Json> before = Slices();
  const std::size_t writes = Writes().size();
  Restart();
  ASSERT_TRUE(AwaitCurrent());
  Pass(std::chrono::minutes(2));
  EXPECT_THAT(Writes(), SizeIs(writes));
  EXPECT_EQ(Slices(), before);
}

TEST_P(PublisherReleaseTest, PublishesAgainAfterTheKubeletWipedAll) {
  Serve(GetParam());
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitCurrent());
  Wipe();
  publisher_->OnKubeletRegistered();
  EXPECT_TRUE(AwaitDevices({"a", "b"}));
  // A kubelet wipes also later, without another registration.
  ASSERT_TRUE(AwaitCurrent());
  Wipe();
  ASSERT_TRUE(AwaitNotice());
  EXPECT_TRUE(AwaitDevices({"a", "b"}));
}

TEST_P(PublisherReleaseTest, DeletesSlicesOfOthers) {
  Serve(GetParam());
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitCurrent());
  Json large = Slices().at(0);
  large["metadata"] = {{"name", "large"}};
  large["spec"]["pool"]["generation"] = 9;
  const Json device = large["spec"]["devices"][0];
  for (int i = 0; i < 100; ++i) {
    large["spec"]["devices"].push_back(device);
    large["spec"]["devices"].back()["name"] = "d" + std::to_string(i);
  }
  Json other = large;
  other["metadata"] = {{"name", "other"}};
  other["spec"]["pool"]["name"] = "other";
  const auto add = [&] {
    EXPECT_EQ(server_->Call("POST", kSlices, large).status, 201);
    EXPECT_EQ(server_->Call("POST", kSlices, other).status, 201);
  };
  add();
  ASSERT_TRUE(AwaitNotice());
  EXPECT_TRUE(AwaitDevices({"a"}));
  add();
  Restart();
  EXPECT_TRUE(AwaitDevices({"a"}));
  EXPECT_EQ(Logged("that Patchbay did not write"), 2U);
}

TEST_P(PublisherReleaseTest, TakesBackChangesOfOthers) {
  Serve(GetParam());
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitCurrent());
  const Json original = Slices().at(0)["spec"];
  const std::vector<std::function<void(Json&)>> edits = {
      [](Json& slice) { slice["spec"]["devices"][0]["name"] = "x"; },
      [](Json& slice) { slice["spec"]["devices"][0]["attributes"]["id"]["string"] = "x"; },
      [](Json& slice) { slice["spec"]["devices"][0]["capacity"]["x"]["value"] = "1"; },
      [](Json& slice) { slice["spec"]["devices"] = Json::array(); },
      [](Json& slice) { slice["spec"]["pool"]["resourceSliceCount"] = 2; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    EditSlice(edits[i]);
    ASSERT_TRUE(AwaitNotice()) << i;
    ASSERT_TRUE(AwaitCurrent()) << i;
    Json spec = Slices().at(0)["spec"];
    spec["pool"]["generation"] = original["pool"]["generation"];
    EXPECT_EQ(spec, original) << i;
  }
  DeleteSlice();
  ASSERT_TRUE(AwaitNotice());
  EXPECT_TRUE(AwaitDevices({"a"}));
  EXPECT_THAT(Slices(), SizeIs(1));
}

TEST_P(PublisherReleaseTest, ChangesAmongManySlicesAreOnePut) {
  Serve(GetParam());
  std::vector<ListedDevice> devices;
  devices.reserve(200);
  for (int i = 100; i < 300; ++i) devices.push_back(Listed("d" + std::to_string(i)));
  SetDevices(devices);
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Slices(), SizeIs(4));
  const std::size_t writes = Writes().size();
  devices.pop_back();
  SetDevices(devices);
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), SizeIs(writes + 1));
  EXPECT_THAT(Devices(), SizeIs(199));
}

TEST_F(PublisherServerTest, NeverPublishesASharedDeviceAsAnExclusiveOne) {
  Serve(Profile::k1_34);
  SetDevices({Listed("fuse")}, 2, "example.com/fuse");
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("create 201"));
  Restart();
  ASSERT_TRUE(AwaitCurrent());
  publisher_->OnKubeletRegistered();
  ASSERT_TRUE(AwaitCurrent());
  Pass(2 * SlicePublisher::kProbeInterval);
  EXPECT_THAT(Writes(), ElementsAre("create 201"));
  EXPECT_THAT(Devices(), ElementsAre("a"));
  EXPECT_EQ(Logged("resources with replicas are not published"), 2U) << "once per process";
}

TEST_F(PublisherServerTest, PublishesReplicasAsSlots) {
  Serve(Profile::k1_36);
  SetDevices({Listed("fuse")}, 2);
  ASSERT_TRUE(AwaitCurrent());
  const Json device = FullDevices().at(0);
  EXPECT_EQ(device["allowMultipleAllocations"], true);
  EXPECT_EQ(device["capacity"]["slots"]["value"], "2");
  EXPECT_TRUE(device["capacity"]["slots"].contains("requestPolicy"));
  EXPECT_EQ(Logged("the API server drops"), 0U);
}

TEST_F(PublisherServerTest, FollowsAnUpgradeAndADowngradeOfTheServer) {
  Serve(Profile::k1_34);
  SetDevices({Listed("a")});
  SetDevices({Listed("fuse")}, 2, "example.com/fuse");
  ASSERT_TRUE(AwaitCurrent());
  server_->SetProfile(Profile::k1_36);
  Pass(SlicePublisher::kProbeInterval);
  ASSERT_TRUE(AwaitCurrent("example.com/fuse"));
  EXPECT_THAT(FullDevices(), SizeIs(2));
  server_->SetProfile(Profile::k1_34);
  Pass(SlicePublisher::kProbeInterval);
  EXPECT_TRUE(AwaitDevices({"a"}));
}

TEST_F(PublisherServerTest, AnUnhealthyDeviceLeavesTheSliceOfAnOlderRelease) {
  Serve(Profile::k1_34);
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitCurrent());
  SetDevices({Listed("a"), Listed("b", Health::kUnhealthy, "probe failed")});
  EXPECT_TRUE(AwaitDevices({"a"}));
  SetDevices({Listed("a"), Listed("b")});
  EXPECT_TRUE(AwaitDevices({"a", "b"}));
  EXPECT_EQ(Logged("unhealthy devices leave"), 1U);
}

TEST_F(PublisherServerTest, AnUnhealthyDeviceHasATaintInANewerRelease) {
  Serve(Profile::k1_36);
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitCurrent());
  SetDevices({Listed("a"), Listed("b", Health::kUnhealthy, "probe failed")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Devices(), ElementsAre("a", "b"));
  EXPECT_FALSE(FullDevices().at(0).contains("taints"));
  const Json taint = FullDevices().at(1)["taints"][0];
  EXPECT_EQ(taint["key"], kUnhealthyTaint);
  EXPECT_EQ(taint["effect"], "NoSchedule");
  // Another change keeps the taint as it is, with its time.
  SetDevices({Listed("a", Health::kUnhealthy, "probe failed"),
              Listed("b", Health::kUnhealthy, "probe failed")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(FullDevices().at(1)["taints"][0], taint);
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitCurrent());
  for (const Json& device : FullDevices()) EXPECT_FALSE(device.contains("taints")) << device;
}

/// Device text that an attacker chooses.
const std::vector<std::string> kHostileTexts = {
    "",
    " ",
    std::string(1, '\0'),
    "a\nb",
    "\x1b[31mred",
    "\x7f",
    "\xff\xfe",
    "\xc3(",
    "\xed\xa0\x80",
    "\xe2\x80\xae reversed",
    "ä",
    "..",
    "../../etc",
    "-",
    "a.b",
    "A",
    "${x} {{x}} {x}",
    "\"quoted\" \\ 'text'",
    std::string(63, 'a'),
    std::string(64, 'a'),
    std::string(65, 'a'),
    std::string(63, 'a') + "\xc3\xa4",
    std::string(10'000, 'x'),
    std::string(10'000, '\n'),
};

ListedDevice HostileDevice(const std::string& id, const std::string& text) {
  ListedDevice listed = Listed(id);
  Device device = *listed.device;
  device.nodes = {{.path = "/dev/" + text, .real_path = "/dev/" + text}};
  for (const char* name :
       {"usb_vendor", "usb_product", "usb_serial", "driver", "pci_address", "model"}) {
    device.values.emplace_back(name, text);
  }
  listed.device = std::make_shared<const Device>(std::move(device));
  return listed;
}

TEST_P(PublisherReleaseTest, TheServerAcceptsHostileDevices) {
  attributes_.reserve(40);
  for (int i = 0; i < 40; ++i) {
    attributes_.push_back({"a" + std::to_string(i), static_cast<AttributeType>(i % 4),
                           Template::Compile("{model}").value()});
  }
  Serve(GetParam());
  std::vector<ListedDevice> devices;
  devices.reserve(2 * kHostileTexts.size() + 300);
  for (std::size_t i = 0; i < kHostileTexts.size(); ++i) {
    devices.push_back(HostileDevice("plain-" + std::to_string(i), kHostileTexts[i]));
    devices.push_back(HostileDevice(kHostileTexts[i], kHostileTexts[i]));
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string text(random() % 80, ' ');
    for (char& c : text) c = static_cast<char>(random());
    devices.push_back(HostileDevice(text, text));
  }
  SetDevices(devices);
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), Each("create 201"));
  const std::vector<std::string> names = Devices();
  for (std::size_t i = 0; i < kHostileTexts.size(); ++i) {
    EXPECT_THAT(names, testing::Contains("plain-" + std::to_string(i)));
  }
  EXPECT_GT(names.size(), kHostileTexts.size() + 300) << "few IDs are not usable";
  for (const Json& device : FullDevices()) EXPECT_LE(device["attributes"].size(), kMaxAttributes);
  Restart();
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), Each("create 201")) << "the server returns them as they were sent";
}

/// The server checks that a policy fits the value of each device.
TEST_F(PublisherServerTest, TheServerAcceptsAnyShares) {
  const auto quantity = [](const char* text) { return ParseQuantity(text); };  // "" is none
  for (const char* by_default : {"", "0", "1500m", "2"}) {
    for (const char* max : {"", "2", "6"}) {
      for (const char* step : {"", "1", "2"}) {
        CapacitySpec spec{.name = "c" + std::to_string(capacity_.size()),
                          .value = Template::Compile("{model}").value(),
                          .by_default = quantity(by_default),
                          .max = quantity(max),
                          .step = quantity(step)};
        if (!ProblemWithShares(spec)) capacity_.push_back(std::move(spec));
      }
    }
  }
  ASSERT_GT(capacity_.size(), 15U);
  ASSERT_LT(capacity_.size(), 30U);
  Serve(Profile::k1_36);
  std::vector<ListedDevice> devices;
  for (const char* value :
       {"0", "1m", "1", "1.5", "2", "3", "3.999", "4", "7", "16Gi", "7Ei", "17163091968",
        "9223372036854775807", "8000000000.00001Gi", "-1", "x", "1e99", ""}) {
    devices.push_back(HostileDevice("d" + std::to_string(devices.size()), value));
  }
  SetDevices(devices, 3);
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("create 201"));
  EXPECT_THAT(FullDevices(), SizeIs(devices.size()));
  EXPECT_THAT(FullDevices().at(9)["capacity"], SizeIs(capacity_.size() + 1)) << "and the slots";
  Restart();
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("create 201")) << "the server returns them as they were sent";
}

TEST_P(PublisherReleaseTest, TheServerAcceptsTheLongestNames) {
  driver_ = std::string(47, 'd');
  node_name_ = std::string(63, 'n') + "." + std::string(63, 'o') + "." + std::string(63, 'd') +
               "." + std::string(61, 'e');
  ASSERT_THAT(node_name_, SizeIs(253));
  Serve(GetParam());
  const std::string resource = std::string(40, 'r') + ".dev/" + std::string(18, 's');
  SetDevices({Listed("a")}, 1, resource);
  ASSERT_TRUE(AwaitCurrent(resource));
  EXPECT_THAT(Devices(), ElementsAre("a"));
}

}  // namespace
}  // namespace patchbay
