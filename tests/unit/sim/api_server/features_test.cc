#include "sim/api_server/features.h"

#include <gtest/gtest.h>

#include "objects.h"

namespace patchbay::api_sim {
namespace {

Json TaintedSharedDevice() {
  Json device = test::SharedDevice("d", "2");
  device["taints"] = {{{"key", "patchbay.dev/unhealthy"}, {"effect", "NoSchedule"}}};
  return device;
}

Json Kept(Kind kind, Json object, ApiProfile profile, const Json* old = nullptr) {
  DropDisabledFields(kind, object, old, profile);
  return object;
}

TEST(Features, ReleasesBefore136DropFieldsOfSlices) {
  const Json slice = test::Slice("a", Json::array({TaintedSharedDevice()}));
  Json expected = test::Slice("a", Json::array({test::Device("d")}));
  expected["spec"]["devices"][0]["capacity"]["slots"]["value"] = "2";
  EXPECT_EQ(Kept(Kind::kResourceSlice, slice, ApiProfile::k1_34), expected);
  EXPECT_EQ(Kept(Kind::kResourceSlice, slice, ApiProfile::k1_36), slice);
}

TEST(Features, KeepsFieldsOfAFeatureThatTheStoredObjectUses) {
  Json old = test::Slice("a", Json::array({test::Device("d")}));
  old["spec"]["devices"][0]["taints"] = TaintedSharedDevice()["taints"];
  const Json kept =
      Kept(Kind::kResourceSlice, test::Slice("a", Json::array({TaintedSharedDevice()})),
           ApiProfile::k1_34, &old);
  EXPECT_TRUE(kept["spec"]["devices"][0].contains("taints"));
  EXPECT_FALSE(kept["spec"]["devices"][0].contains("allowMultipleAllocations"));
}

TEST(Features, ReleasesBefore136DropFieldsOfClassesAndClaims) {
  Json device_class = test::DeviceClass();
  device_class["spec"].erase("extendedResourceName");
  EXPECT_EQ(Kept(Kind::kDeviceClass, test::DeviceClass(), ApiProfile::k1_34), device_class);
  Json claim = test::Claim();
  Json& exactly = claim["spec"]["devices"]["requests"][0]["exactly"];
  exactly["tolerations"] = {{{"operator", "Exists"}}};
  exactly["capacity"]["requests"]["slots"] = "2";
  EXPECT_EQ(Kept(Kind::kResourceClaim, claim, ApiProfile::k1_34), test::Claim());
}

TEST(Features, SetsDefaults) {
  Json slice = test::Slice();
  slice["spec"]["pool"].erase("generation");
  slice["spec"]["devices"][0]["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  SetDefaults(Kind::kResourceSlice, slice, "2026-01-31T12:00:00Z");
  SetDefaults(Kind::kResourceSlice, slice, "2027-01-01T00:00:00Z");
  EXPECT_EQ(slice["spec"]["pool"]["generation"], 0);
  EXPECT_EQ(slice["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-01-31T12:00:00Z");

  Json claim = test::Claim();
  Json& exactly = claim["spec"]["devices"]["requests"][0]["exactly"];
  exactly.erase("allocationMode");
  exactly.erase("count");
  SetDefaults(Kind::kResourceClaim, claim, "");
  EXPECT_EQ(claim, test::Claim());
}

}  // namespace
}  // namespace patchbay::api_sim
