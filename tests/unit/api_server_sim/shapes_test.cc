#include "api_server_sim/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects.h"

namespace patchbay::api_sim {
namespace {

using testing::HasSubstr;

Json DecodeSlice(const Json& slice) { return Decode(slice, InfoOf(Kind::kResourceSlice)).value(); }

TEST(Shapes, KeepsKnownFields) {
  const Json slice = test::Slice("a", Json::array({test::SharedDevice("d", "2")}));
  EXPECT_EQ(DecodeSlice(slice), slice);
  EXPECT_EQ(Decode(test::Claim(), InfoOf(Kind::kResourceClaim)).value(), test::Claim());
  EXPECT_EQ(Decode(test::DeviceClass(), InfoOf(Kind::kDeviceClass)).value(), test::DeviceClass());
}

TEST(Shapes, DropsUnknownFieldsAndEmptyValues) {
  Json slice = test::Slice();
  slice["spec"]["devices"][0]["color"] = "red";
  slice["spec"]["devices"][0]["taints"] = Json::array();
  slice["spec"]["nodeSelector"] = nullptr;
  slice["metadata"]["managedFields"] = Json::array({1});
  slice["metadata"]["generateName"] = "";
  slice["status"] = Json::object();
  EXPECT_EQ(DecodeSlice(slice), test::Slice());
}

TEST(Shapes, KeepsEmptyValuesBehindPointers) {
  Json slice = test::Slice();
  slice["spec"]["nodeName"] = "";
  slice["spec"]["devices"][0]["attributes"]["id"]["string"] = "";
  EXPECT_EQ(DecodeSlice(slice), slice);
}

TEST(Shapes, WritesQuantitiesAsText) {
  Json slice = test::Slice("a", Json::array({test::SharedDevice("d", "2")}));
  slice["spec"]["devices"][0]["capacity"]["slots"]["value"] = 2;
  EXPECT_EQ(DecodeSlice(slice)["spec"]["devices"][0]["capacity"]["slots"]["value"], "2");
}

TEST(Shapes, RejectsWrongTypes) {
  const struct {
    const char* pointer;
    Json value;
    const char* message;
  } kCases[] = {
      {"/spec", 1, "field spec of type object"},
      {"/spec/driver", 1, "cannot unmarshal number into field spec.driver of type string"},
      {"/spec/devices", Json::object(), "field spec.devices of type list"},
      {"/spec/devices/0/attributes", Json::array(), "field spec.devices[0].attributes of type map"},
      {"/spec/devices/0/attributes/id/int", 1.5, "attributes[id].int of type int64"},
      {"/spec/devices/0/attributes/id/int", UINT64_MAX, "attributes[id].int of type int64"},
      {"/spec/devices/0/attributes/id/bool", "true", "attributes[id].bool of type bool"},
      {"/spec/devices/0/capacity/c/value", "many", "quantities must match"},
      {"/metadata/creationTimestamp", "now", "of type Time"},
  };
  for (const auto& row : kCases) {
    Json slice = test::Slice();
    slice[Json::json_pointer(row.pointer)] = row.value;
    const auto decoded = Decode(slice, InfoOf(Kind::kResourceSlice));
    ASSERT_FALSE(decoded) << row.pointer;
    EXPECT_EQ(decoded.error().code, 400);
    EXPECT_THAT(decoded.error().message,
                HasSubstr("ResourceSlice in version \"v1\" cannot be handled as a ResourceSlice"));
    EXPECT_THAT(decoded.error().message, HasSubstr(row.message));
  }
}

TEST(Shapes, ParsesOnlyObjectsOfLimitedDepth) {
  EXPECT_TRUE(ParseBody(R"({"a": [1, {"b": null}]})"));
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("{"), std::string("{\"a\": \"\xff\"}"),
        std::string(100'000, '['),
        "{\"a\":" + std::string(101, '[') + std::string(101, ']') + "}"}) {
    const auto parsed = ParseBody(body);
    ASSERT_FALSE(parsed) << body.substr(0, 10);
    EXPECT_EQ(parsed.error().code, 400);
  }
}

}  // namespace
}  // namespace patchbay::api_sim
