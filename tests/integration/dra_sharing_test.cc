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
