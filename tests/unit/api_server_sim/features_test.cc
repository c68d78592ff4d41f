#include "api_server_sim/features.h"

#include <gtest/gtest.h>

#include "objects.h"

namespace patchbay::api_sim {
namespace {

Json SliceWithAllFields() {
  Json device = test::SharedDevice("d", "2");
  device["taints"] = {{{"key", "patchbay.dev/unhealthy"}, {"effect", "NoSchedule"}}};
  device["bindsToNode"] = true;
  device["consumesCounters"] = {{{"counterSet", "a"}}};
  device["attributes"]["numa"]["ints"] = {0, 1};
  return test::Slice("a", Json::array({device}));
}

TEST(Features, ReleasesBefore136DropFieldsOfSlices) {
  for (const ApiProfile profile : {ApiProfile::k1_34, ApiProfile::k1_35}) {
    Json slice = SliceWithAllFields();
    DropDisabledFields(Kind::kResourceSlice, slice, nullptr, FeaturesOf(profile));
    Json expected = test::Slice("a", Json::array({test::Device("d")}));
    expected["spec"]["devices"][0]["capacity"]["slots"]["value"] = "2";
    expected["spec"]["devices"][0]["attributes"]["numa"] = Json::object();
    EXPECT_EQ(slice, expected);
  }
}

TEST(Features, Release136KeepsAllButListAttributes) {
  Json slice = SliceWithAllFields();
  DropDisabledFields(Kind::kResourceSlice, slice, nullptr, FeaturesOf(ApiProfile::k1_36));
  Json expected = SliceWithAllFields();
  expected["spec"]["devices"][0]["attributes"]["numa"] = Json::object();
  EXPECT_EQ(slice, expected);
}

TEST(Features, EachGateDropsItsFieldsOnly) {
  Json slice = SliceWithAllFields();
  DropDisabledFields(Kind::kResourceSlice, slice, nullptr,
                     {.device_taints = false, .list_type_attributes = true});
  Json expected = SliceWithAllFields();
  expected["spec"]["devices"][0].erase("taints");
  EXPECT_EQ(slice, expected);
}

TEST(Features, KeepsFieldsThatTheStoredObjectUses) {
  Json slice = SliceWithAllFields();
  Json old = test::Slice("a", Json::array({test::Device("d")}));
  old["spec"]["devices"][0]["taints"] = slice["spec"]["devices"][0]["taints"];
  DropDisabledFields(Kind::kResourceSlice, slice, &old, FeaturesOf(ApiProfile::k1_34));
  EXPECT_TRUE(slice["spec"]["devices"][0].contains("taints"));
  EXPECT_FALSE(slice["spec"]["devices"][0].contains("allowMultipleAllocations"));
}

TEST(Features, ReleasesBefore136DropFieldsOfClassesAndClaims) {
  const ApiFeatures features = FeaturesOf(ApiProfile::k1_35);
  Json device_class = test::DeviceClass();
  DropDisabledFields(Kind::kDeviceClass, device_class, nullptr, features);
  EXPECT_FALSE(device_class["spec"].contains("extendedResourceName"));
  EXPECT_TRUE(device_class["spec"].contains("selectors"));

  Json claim = test::Claim();
  claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = {{{"operator", "Exists"}}};
  claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["slots"] = "2";
  claim["status"]["allocation"]["devices"]["results"] = {
      {{"device", "a"}, {"shareID", "x"}, {"consumedCapacity", {{"slots", "2"}}}}};
  DropDisabledFields(Kind::kResourceClaim, claim, nullptr, features);
  Json expected = test::Claim();
  expected["status"]["allocation"]["devices"]["results"] = {{{"device", "a"}}};
  EXPECT_EQ(claim, expected);
}

TEST(Features, SetsDefaults) {
  Json slice = test::Slice();
  slice["spec"]["pool"].erase("generation");
  slice["spec"]["devices"][0]["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  SetDefaults(Kind::kResourceSlice, slice, "2026-01-31T12:00:00Z");
  EXPECT_EQ(slice["spec"]["pool"]["generation"], 0);
  EXPECT_EQ(slice["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-01-31T12:00:00Z");
  SetDefaults(Kind::kResourceSlice, slice, "2027-01-01T00:00:00Z");
  EXPECT_EQ(slice["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-01-31T12:00:00Z");

  Json claim = test::Claim();
  Json& request = claim["spec"]["devices"]["requests"][0]["exactly"];
  request.erase("allocationMode");
  request.erase("count");
  SetDefaults(Kind::kResourceClaim, claim, "");
  EXPECT_EQ(claim, test::Claim());
}

}  // namespace
}  // namespace patchbay::api_sim
