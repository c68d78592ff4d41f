// Dynamic Resource Allocation: what several claims, pods, resources and both APIs share.

#include <gmock/gmock.h>

#include "integration/dra_fixture.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPluginName = "example.com/plugin";

class DraSharing : public Dra {
 protected:
  /// An entry for the first serial port.
  static std::string Port(std::string_view name, std::string_view keys = "") {
    return Resource(name, "/dev/ttyUSB0", keys);
  }
  bool AwaitAllocatable(const std::string& resource, std::size_t count) {
    return plugin_side_->Await(
        [&] {
          const auto view = plugin_side_->View(resource);
          return view && view->known && view->allocatable == count;
        },
        kPatience);
  }
};

TEST_F(DraSharing, PodsOfOneClaimGetTheSameAndTheLastOneReleasesIt) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  CreateClass();
  const SimClaim claim = CreateClaim("shared");
  const auto first = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(first) << first.error().message;
  const auto second = kubelet_->PrepareClaims("pod-2", {claim});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*first, *second);
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 1U);
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-2"));
  EXPECT_EQ(Files(), 0U);
}

TEST_F(DraSharing, ClaimsOfASharedDeviceGetDifferentSlots) {
  tree_.Remove("dev/ttyUSB1");
  StartDaemon(Serial("api = \"dra\"\nreplicas = 3", "[resource.env]\nUNIT = \"{id}\""));
  ASSERT_TRUE(daemon_->AwaitReady());
  CreateClass();
  for (const std::string pod : {"0", "1", "2"}) {
    const SimClaim claim = CreateClaim("claim-" + pod);
    const auto prepared = kubelet_->PrepareClaims(pod, {claim});
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_EQ(EditsFor(prepared->at(claim.uid)).env.at("UNIT"), "ttyUSB0::" + pod);
  }
}

TEST_F(DraSharing, ClaimsTakeSharesOfTheCapacityOfADevice) {
  tree_.Remove("dev/ttyUSB1");
  StartDaemon(
      Serial("api = \"dra\"\nreplicas = 4",
             "[resource.capacity]\nlanes = \"16\"\n"
             "memory = { value = \"16Gi\", default = \"1Gi\", max = \"8Gi\", step = \"1Gi\" }"));
  ASSERT_TRUE(daemon_->AwaitReady());
  CreateClass();
  const auto create = [&](const std::string& name, const Json& capacity) {
    return cluster_->CreateClaim(name, std::string(kSerialName), 1, Json::array(), capacity);
  };
  const auto consumed = [&](const Result<SimClaim>& created) {
    const SimClaim claim = Allocated(created);
    const auto prepared = kubelet_->PrepareClaims(claim.name, {claim});
    EXPECT_TRUE(prepared) << prepared.error().message;
    const std::string path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/";
    const Json object = Json::parse(server_->Call("GET", path + claim.name).body);
    const Json& result = object["status"]["allocation"]["devices"]["results"][0];
    EXPECT_NE(result.value("shareID", ""), "");
    return result["consumedCapacity"];
  };
  EXPECT_EQ(consumed(create("default", {})),
            Json({{"lanes", "4"}, {"memory", "1Gi"}, {"slots", "1"}}));
  EXPECT_EQ(consumed(create("rounded", {{"memory", "7000Mi"}, {"lanes", "3"}})),
            Json({{"lanes", "3"}, {"memory", "7Gi"}, {"slots", "1"}}));
  const auto is_refused = [&](const std::string& name, const Json& capacity) {
    return !cluster_->Allocate(create(name, capacity).value());
  };
  EXPECT_TRUE(is_refused("above-max", {{"memory", "9Gi"}}));
  EXPECT_TRUE(is_refused("unknown", {{"bandwidth", "1"}}));
  EXPECT_EQ(consumed(create("rest", {{"memory", "8Gi"}})),
            Json({{"lanes", "4"}, {"memory", "8Gi"}, {"slots", "1"}}));
  EXPECT_TRUE(is_refused("too-much", {})) << "all memory is used, and one slot is free";
}

TEST_F(DraSharing, ACapacityOfAnExclusiveDeviceNeedsNoFeature) {
  StartCluster(api_sim::ApiProfile::k1_34);
  StartDaemon(Serial("api = \"dra\"", "[resource.capacity]\nmemory = \"16Gi\"\nbad = \"{name}\""));
  ASSERT_TRUE(AwaitPublished({"ttyusb0-8acffaeae38f2be1", "ttyusb1-fd2f95e15e15f216"}));
  const Json slice = Slices().at(0);
  for (const Json& device : slice["spec"]["devices"]) {
    EXPECT_EQ(device["capacity"], Json::parse(R"({"memory": {"value": "16Gi"}})"));
    EXPECT_FALSE(device.contains("allowMultipleAllocations"));
  }
  EXPECT_TRUE(daemon_->log().Await("capacities are not published"));
}

TEST_F(DraSharing, ParametersOfAClaimAddVariables) {
  const auto parameters = [](const Json& value) {
    return Json::array({{{"opaque", {{"driver", kDraDriver}, {"parameters", value}}}}});
  };
  StartDaemon(Serial("api = \"dra\"\nclaim_env = [\"BAUD_\"]",
                     "[resource.env]\nPORTS = \"/dev/serial{slot}\""));
  ASSERT_TRUE(daemon_->AwaitReady());
  CreateClass();
  const SimClaim good = CreateClaim("good", 1, parameters({{"env", {{"BAUD_RATE", "9600"}}}}));
  const auto prepared = kubelet_->PrepareClaims("pod-1", {good});
  ASSERT_TRUE(prepared) << prepared.error().message;
  const auto env = EditsFor(prepared->at(good.uid)).env;
  EXPECT_EQ(env.at("BAUD_RATE"), "9600");
  EXPECT_EQ(env.at("PORTS"), "/dev/serial0");

  const auto refused =
      kubelet_->PrepareClaims("pod-2", {CreateClaim("bad", 1, parameters({{"speed", 9600}}))});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("\"speed\""));
}

TEST_F(DraSharing, AnExclusiveDraResourceTakesTheDeviceOfADevicePlugin) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  StartDaemon(Port(kSerialName, "api = \"dra\"\nexclusive = true") + Port(kPluginName));
  ASSERT_TRUE(server_->Await([&] { return Published().size() == 1; }, kPatience));
  EXPECT_TRUE(AwaitAllocatable(kPluginName, 0));
  daemon_->Reload(Port(kSerialName, "api = \"dra\"") + Port(kPluginName));
  EXPECT_TRUE(AwaitAllocatable(kPluginName, 1));
  EXPECT_EQ(Published().size(), 1U);
}

TEST_F(DraSharing, AnExclusiveDevicePluginTakesTheDeviceOfADraResource) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  StartDaemon(Port(kSerialName, "api = \"dra\"") + Port(kPluginName, "exclusive = true"));
  ASSERT_TRUE(AwaitAllocatable(kPluginName, 1));
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(Published(), IsEmpty());
  daemon_->Reload(Port(kSerialName, "api = \"dra\"") + Port(kPluginName));
  EXPECT_TRUE(server_->Await([&] { return Published().size() == 1; }, kPatience));
}

TEST_F(DraSharing, AReloadMovesADeviceFromOneApiToTheOther) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  StartDaemon(Port(kSerialName));
  ASSERT_TRUE(AwaitAllocatable(kSerialName, 1));
  EXPECT_THAT(Published(), IsEmpty());
  daemon_->Reload(Port(kSerialName, "api = \"dra\""));
  ASSERT_TRUE(server_->Await([&] { return Published().size() == 1; }, kPatience));
  EXPECT_TRUE(AwaitAllocatable(kSerialName, 0));
  daemon_->Reload(Port(kSerialName));
  ASSERT_TRUE(server_->Await([&] { return Slices().empty(); }, kPatience));
  EXPECT_TRUE(AwaitAllocatable(kSerialName, 1));
}

}  // namespace
}  // namespace patchbay::test
