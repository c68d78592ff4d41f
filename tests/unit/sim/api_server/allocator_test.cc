#include "sim/api_server/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "objects.h"
#include "sim/api_server/device_selector.h"
#include "sim/api_server/field_errors.h"

namespace patchbay::api_sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AllocatorTest : public testing::Test {
 protected:
  void SetUp() override {
    store_.Put({.kind = Kind::kDeviceClass, .name = kClass}, test::DeviceClass());
  }
  void Publish(const Json& slice) {
    store_.Put({.kind = Kind::kResourceSlice, .name = slice["metadata"]["name"]}, slice);
  }

  Result<Json> Run(const Json& claim, const std::string& node = "node-1") {
    int shares = 0;
    return Allocate(claim, node, store_, [&] { return "share-" + std::to_string(++shares); });
  }

  /// Returns the results as "request=device", or the error.
  std::vector<std::string> Devices(const Json& claim, const std::string& node = "node-1") {
    const auto allocation = Run(claim, node);
    if (!allocation) return {allocation.error().message};
    std::vector<std::string> devices;
    for (const Json& result : (*allocation)["devices"]["results"]) {
      devices.push_back(Format("{}={}", Text(result, "request"), Text(result, "device")));
    }
    return devices;
  }

  /// Stores another claim that has the given result.
  void Use(const Json& result) {
    const std::string name = Format("other-{}", ++others_);
    Json claim = test::Claim(name);
    claim["status"]["allocation"]["devices"]["results"] = Json::array({result});
    store_.Put({Kind::kResourceClaim, "default", name}, claim);
  }

  inline static const std::string kClass = "serial.example.com";
  ObjectStore store_{10};
  int others_ = 0;
};

Json TwoDevices() { return Json::array({test::Device("a"), test::Device("b")}); }

TEST_F(AllocatorTest, WritesTheAllocationOfTheScheduler) {
  Publish(test::Slice());
  Json claim = test::Claim();
  const Json opaque{{"driver", "patchbay.dev"}, {"parameters", {{"env", "a"}}}};
  claim["spec"]["devices"]["config"] =
      Json::array({{{"opaque", opaque}}, {{"requests", {"other"}}, {"opaque", opaque}}});
  EXPECT_EQ(Run(claim).value(), Json::parse(R"({"devices": {
    "results": [{"request": "s", "driver": "patchbay.dev", "pool": "node-1/example.com/serial",
                 "device": "a"}],
    "config": [{"source": "FromClaim", "requests": ["s"],
                "opaque": {"driver": "patchbay.dev", "parameters": {"env": "a"}}}]}})"));
}

TEST_F(AllocatorTest, TakesTheFirstDevicesThatAreFree) {
  Publish(test::Slice("a", TwoDevices()));
  EXPECT_THAT(Devices(test::Claim()), ElementsAre("s=a"));
  EXPECT_THAT(Devices(test::Claim("c", 2)), ElementsAre("s=a", "s=b"));
  Use(Run(test::Claim()).value()["devices"]["results"][0]);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre("s=b"));
  EXPECT_THAT(Devices(test::Claim("c", 2)),
              ElementsAre(HasSubstr("request s: 1 of 2 devices of class serial.example.com")));
}

TEST_F(AllocatorTest, TakesAllDevices) {
  Publish(test::Slice("a", TwoDevices()));
  Json claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"] = {{"deviceClassName", "serial.example.com"},
                                                        {"allocationMode", "All"}};
  EXPECT_THAT(Devices(claim), ElementsAre("s=a", "s=b"));
}

TEST_F(AllocatorTest, RequestsOfAClaimShareTheDevices) {
  Publish(test::Slice("a", TwoDevices()));
  Json claim = test::Claim();
  Json second = claim["spec"]["devices"]["requests"][0];
  second["name"] = "t";
  claim["spec"]["devices"]["requests"].push_back(second);
  EXPECT_THAT(Devices(claim), ElementsAre("s=a", "t=b"));
}

TEST_F(AllocatorTest, SharesADeviceUntilItsSlotsAreUsed) {
  Publish(test::Slice("a", Json::array({test::SharedDevice("a", "3")})));
  const Json allocation = Run(test::Claim()).value();
  const Json& result = allocation["devices"]["results"][0];
  EXPECT_EQ(result["shareID"], "share-1");
  EXPECT_EQ(result["consumedCapacity"], Json({{"slots", "1"}}));
  Use(result);
  Use(result);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre("s=a"));
  Json two = test::Claim();
  two["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["slots"] = "2";
  EXPECT_THAT(Devices(two), ElementsAre(HasSubstr("0 of 1 devices")));
  Use(result);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre(HasSubstr("0 of 1 devices")));
}

TEST_F(AllocatorTest, ConsumesTheRequestedCapacity) {
  Publish(test::Slice("a", Json::array({test::SharedDevice("a", "3")})));
  Json claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["slots"] = "1500m";
  const Json allocation = Run(claim).value();
  EXPECT_EQ(allocation["devices"]["results"][0]["consumedCapacity"]["slots"], "2");
}

/// KEP-5075: a share is rounded up by the policy, and shares of all claims fit in the capacity.
TEST_F(AllocatorTest, SharesEachCapacityByItsPolicy) {
  Json device = test::SharedDevice("a", "9");
  device["capacity"]["memory"] = Json::parse(R"({"value": "16Gi", "requestPolicy": {
      "default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi", "max": "8Gi"}}})");
  device["capacity"]["profile"] = Json::parse(R"({"value": "100", "requestPolicy": {
      "default": "1", "validValues": ["1", "2", "4"]}})");
  device["capacity"]["plain"] = {{"value", "100"}, {"requestPolicy", {{"default", "0"}}}};
  Publish(test::Slice("a", Json::array({device})));
  const auto share = [&](const char* requests) {
    Json claim = test::Claim();
    claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"] =
        Json::parse(requests);
    const auto allocation = Run(claim);
    if (!allocation) return Json();
    const Json result = (*allocation)["devices"]["results"][0];
    Use(result);
    return result["consumedCapacity"];
  };
  EXPECT_EQ(share("{}"), Json::parse(R"({"memory": "1Gi", "plain": "0", "profile": "1",
                                         "slots": "1"})"));
  EXPECT_EQ(share(R"({"memory": "6500Mi", "profile": "3", "plain": "1500m"})"),
            Json::parse(R"({"memory": "7Gi", "plain": "1500m", "profile": "4", "slots": "1"})"));
  for (const char* requests : {R"({"memory": "9Gi"})", R"({"profile": "5"})", R"({"plain": "99"})",
                               R"({"plain": "-1"})", R"({"other": "1"})"}) {
    EXPECT_EQ(share(requests), Json()) << requests;
  }
  EXPECT_EQ(share(R"({"memory": "8Gi"})")["memory"], "8Gi");
  EXPECT_EQ(share("{}"), Json()) << "all memory is used";
}

/// Without a policy, a claim that requests nothing takes the whole capacity.
TEST_F(AllocatorTest, TakesACapacityWithoutPolicyAsAWhole) {
  Json device = test::SharedDevice("a", "9");
  device["capacity"]["memory"]["value"] = "16Gi";
  Publish(test::Slice("a", Json::array({device})));
  const Json result = Run(test::Claim()).value()["devices"]["results"][0];
  EXPECT_EQ(result["consumedCapacity"]["memory"], "16Gi");
  Use(result);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre(HasSubstr("0 of 1 devices")));
}

TEST_F(AllocatorTest, AvoidsTaintsThatAreNotTolerated) {
  Json devices = TwoDevices();
  devices[0]["taints"] = {{{"key", "patchbay.dev/unhealthy"}, {"effect", "NoSchedule"}}};
  Publish(test::Slice("a", devices));
  EXPECT_THAT(Devices(test::Claim()), ElementsAre("s=b"));
  Json claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = {
      {{"key", "patchbay.dev/unhealthy"}, {"operator", "Exists"}}};
  EXPECT_THAT(Devices(claim), ElementsAre("s=a"));
}

TEST_F(AllocatorTest, UsesOnlyCompletePoolsOfTheNode) {
  Json slice = test::Slice("a");
  slice["spec"]["pool"]["resourceSliceCount"] = 2;
  Publish(slice);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre(HasSubstr("0 of 1 devices")));
  Json second = test::Slice("b", Json::array({test::Device("b")}));
  second["spec"]["pool"]["resourceSliceCount"] = 2;
  Publish(second);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre("s=a"));
  second["spec"]["pool"]["generation"] = 2;
  Publish(second);
  EXPECT_THAT(Devices(test::Claim()), ElementsAre(HasSubstr("0 of 1 devices")));
  Publish(test::Slice("c"));
  EXPECT_THAT(Devices(test::Claim(), "node-2"), ElementsAre(HasSubstr("available on node node-2")));
}

TEST_F(AllocatorTest, RejectsWhatItDoesNotSupport) {
  Publish(test::Slice());
  Json claim = test::Claim();
  claim["spec"]["devices"]["constraints"] = {{{"matchAttribute", "a/b"}}};
  EXPECT_EQ(Run(claim).error().kind, ErrorKind::kInvalid);
  claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "other";
  EXPECT_EQ(Run(claim).error().kind, ErrorKind::kNotFound);
  claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = {
      {{"cel", {{"expression", "device.driver.startsWith('a')"}}}}};
  EXPECT_EQ(Run(claim).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(Run(claim).error().message, HasSubstr("does not evaluate CEL"));
}

TEST(DeviceSelector, ComparesDriverAndAttributes) {
  Json device = test::Device("a");
  device["attributes"]["resource.kubernetes.io/numaNode"]["int"] = 1;
  device["attributes"]["fast"]["bool"] = true;
  device["attributes"]["v"]["version"] = "1.2.3";
  const struct {
    const char* expression;
    bool matches;
  } kCases[] = {
      {R"(device.driver == "patchbay.dev")", true},
      {R"(device.driver == 'other.dev')", false},
      {R"( device.attributes [ "patchbay.dev" ] . id == "a" )", true},
      {R"(device.attributes["patchbay.dev"].id == "b")", false},
      {R"(device.attributes["other.dev"].id == "a")", false},
      {R"(device.attributes["resource.kubernetes.io"].numaNode == 1)", true},
      {R"(device.attributes["resource.kubernetes.io"].numaNode == -1)", false},
      {R"(device.attributes["patchbay.dev"].fast == true)", true},
      {R"(device.attributes["patchbay.dev"].fast == false)", false},
      {R"(device.attributes["patchbay.dev"].v == "1.2.3")", true},
      {R"(device.driver == "patchbay.dev" && device.attributes["patchbay.dev"].id == "b")", false},
  };
  for (const auto& [expression, matches] : kCases) {
    const auto selector = ParseSelector(expression);
    ASSERT_TRUE(selector) << expression;
    EXPECT_EQ(Matches(*selector, "patchbay.dev", device), matches) << expression;
  }
}

TEST(DeviceSelector, RejectsOtherExpressions) {
  for (const char* expression :
       {"", "true", "device.driver", "device.driver ==", "device.driver == \"a",
        "device.driver == \"a\" ||", "device.driver == \"a\" &&", "device.driver != \"a\"",
        "device.driver == \"a\\n\"", "device.attributes[\"a\"].b == c",
        "device.attributes[\"a\"].b", "device.driver == \"a\" device.driver == \"a\"",
        "device.attributes[\"a\"].b == 99999999999999999999"}) {
    EXPECT_FALSE(ParseSelector(expression)) << expression;
  }
}

}  // namespace
}  // namespace patchbay::api_sim
