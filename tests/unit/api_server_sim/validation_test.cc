#include "api_server_sim/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "objects.h"

namespace patchbay::api_sim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

using Change = std::function<void(Json&)>;

/// A change of a valid object, and the single error that it causes; no field if it stays valid.
struct ValidationCase {
  std::string name;
  Change change;
  std::string field = "";
  std::string reason = "";
  std::string message = "";
};

void PrintTo(const ValidationCase& row, std::ostream* out) { *out << row.name; }

std::vector<Cause> CausesOf(Kind kind, Json object, const Change& change) {
  change(object);
  return Validate(InfoOf(kind), object, nullptr);
}

void Expect(const std::vector<Cause>& causes, const ValidationCase& row) {
  if (row.field.empty()) {
    EXPECT_THAT(causes, IsEmpty());
    return;
  }
  EXPECT_THAT(causes, ElementsAre(AllOf(Field(&Cause::field, row.field),
                                        Field(&Cause::reason, "FieldValue" + row.reason),
                                        Field(&Cause::message, HasSubstr(row.message)))));
}

/// Sets the value at a JSON pointer.
Change Set(const std::string& pointer, Json value) {
  return [pointer, value = std::move(value)](Json& object) {
    object[Json::json_pointer(pointer)] = value;
  };
}

Change Remove(const std::string& parent, const std::string& name) {
  return [=](Json& object) { object[Json::json_pointer(parent)].erase(name); };
}

Json Devices(int count) {
  Json devices = Json::array();
  for (int i = 0; i < count; ++i) devices.push_back(test::Device("d" + std::to_string(i)));
  return devices;
}

Json Tainted(Json devices) {
  devices.back()["taints"] = {{{"key", "patchbay.dev/unhealthy"}, {"effect", "NoSchedule"}}};
  return devices;
}

Json Taints(int count) {
  Json taints = Json::array();
  for (int i = 0; i < count; ++i) {
    taints.push_back({{"key", "example.com/t" + std::to_string(i)}, {"effect", "NoExecute"}});
  }
  return taints;
}

Change SetAttributes(int attributes, int capacities) {
  return [=](Json& slice) {
    Json& device = slice["spec"]["devices"][0];
    device["attributes"] = Json::object();
    for (int i = 0; i < attributes; ++i) device["attributes"]["a" + std::to_string(i)]["int"] = i;
    for (int i = 0; i < capacities; ++i) device["capacity"]["c" + std::to_string(i)]["value"] = "1";
  };
}

Change SetAttribute(const std::string& name, Json value) {
  return [name, value = std::move(value)](Json& slice) {
    slice["spec"]["devices"][0]["attributes"][name] = value;
  };
}

Json Ints(int count) {
  Json ints = Json::array();
  for (int i = 0; i < count; ++i) ints.push_back(i);
  return {{"ints", ints}};
}

const std::string kDevice = "/spec/devices/0";
const std::string kAttributes = "spec.devices[0].attributes";

class SliceRules : public testing::TestWithParam<ValidationCase> {};

TEST_P(SliceRules, AreThoseOfTheServer) {
  Expect(CausesOf(Kind::kResourceSlice, test::Slice(), GetParam().change), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Validation, SliceRules,
    testing::Values(
        ValidationCase{"Valid", [](Json&) {}},
        ValidationCase{"NoDevices", Remove("/spec", "devices")},
        ValidationCase{"Devices128", Set("/spec/devices", Devices(128))},
        ValidationCase{"Devices129", Set("/spec/devices", Devices(129)), "spec.devices", "TooMany",
                       "Too many: 129: must have at most 128 items"},
        ValidationCase{"Taint64", Set("/spec/devices", Tainted(Devices(64)))},
        ValidationCase{"Taint65", Set("/spec/devices", Tainted(Devices(65))), "spec.devices",
                       "TooMany", "must have at most 64 items"},
        ValidationCase{"Lists65",
                       [](Json& slice) {
                         slice["spec"]["devices"] = Devices(65);
                         slice["spec"]["devices"][0]["attributes"]["numa"] = Ints(2);
                       },
                       "spec.devices", "TooMany", "must have at most 64 items"},
        ValidationCase{"DuplicateDevice",
                       Set("/spec/devices", Json::array({test::Device("a"), test::Device("a")})),
                       "spec.devices[1]", "Duplicate", "Duplicate value: \"a\""},
        ValidationCase{"NoDeviceName", Remove(kDevice, "name"), "spec.devices[0].name", "Required"},
        ValidationCase{"UpperDeviceName", Set(kDevice + "/name", "A"), "spec.devices[0].name",
                       "Invalid", "Invalid value: \"A\": a lowercase RFC 1123 label"},
        ValidationCase{"DeviceName63", Set(kDevice + "/name", std::string(63, 'a'))},
        ValidationCase{"DeviceName64", Set(kDevice + "/name", std::string(64, 'a')),
                       "spec.devices[0].name", "Invalid", "no more than 63 characters"},
        ValidationCase{"NoDriver", Remove("/spec", "driver"), "spec.driver", "Required"},
        ValidationCase{"Driver64", Set("/spec/driver", std::string(64, 'a')), "spec.driver",
                       "TooLong", "63 bytes"},
        ValidationCase{"DriverUnderscore", Set("/spec/driver", "a_b"), "spec.driver", "Invalid",
                       "RFC 1123 subdomain"},
        ValidationCase{"PoolWithSlashes", Set("/spec/pool/name", "a/b.example.com/c")},
        ValidationCase{"PoolEmptyPart", Set("/spec/pool/name", "a//b"), "spec.pool.name",
                       "Invalid", "RFC 1123 subdomain"},
        ValidationCase{"Pool254", Set("/spec/pool/name", std::string(254, 'a')), "spec.pool.name",
                       "TooLong", "253 bytes"},
        ValidationCase{"NoPoolName", Remove("/spec/pool", "name"), "spec.pool.name", "Required"},
        ValidationCase{"NoSliceCount", Remove("/spec/pool", "resourceSliceCount"),
                       "spec.pool.resourceSliceCount", "Invalid", "must be greater than zero"},
        ValidationCase{"Generation", Set("/spec/pool/generation", -1), "spec.pool.generation",
                       "Invalid", "greater than or equal to zero"},
        ValidationCase{"NoNode", Remove("/spec", "nodeName"), "spec", "Required",
                       "exactly one of `nodeName`, `nodeSelector`, `allNodes`"},
        ValidationCase{"TwoNodes", Set("/spec/allNodes", true), "spec", "Invalid",
                       "multiple fields are set"},
        ValidationCase{"Attributes32", SetAttributes(30, 2)},
        ValidationCase{"Attributes33", SetAttributes(31, 2), "spec.devices[0]", "Invalid",
                       "attributes and capacities must not exceed 32"},
        ValidationCase{"Values49",
                       [](Json& slice) {
                         SetAttributes(10, 0)(slice);
                         SetAttribute("list", Ints(39))(slice);
                       },
                       "spec.devices[0]", "Invalid", "attribute values must not exceed 48"},
        ValidationCase{"DomainAttribute", SetAttribute("resource.kubernetes.io/numaNode", {{"int", 0}})},
        ValidationCase{"DashAttribute", SetAttribute("usb-vendor", {{"string", "a"}}), kAttributes,
                       "Invalid", "C identifier"},
        ValidationCase{"Name32", SetAttribute(std::string(32, 'a'), {{"int", 1}})},
        ValidationCase{"Name33", SetAttribute(std::string(33, 'a'), {{"int", 1}}), kAttributes,
                       "TooLong", "32 bytes"},
        ValidationCase{"NoDomain", SetAttribute("/a", {{"int", 1}}), kAttributes, "Invalid",
                       "the domain must not be empty"},
        ValidationCase{"TwoSlashes", SetAttribute("a/b/c", {{"int", 1}}), kAttributes, "Invalid",
                       "more than one slash"},
        ValidationCase{"String64", SetAttribute("s", {{"string", std::string(64, 'x')}})},
        ValidationCase{"String65", SetAttribute("s", {{"string", std::string(65, 'x')}}),
                       kAttributes + "[s].string", "TooLong", "64 bytes"},
        ValidationCase{"EmptyString", SetAttribute("s", {{"string", ""}})},
        ValidationCase{"ControlCharacter", SetAttribute("s", {{"string", "a\x01"}})},
        ValidationCase{"NoValue", SetAttribute("s", Json::object()), kAttributes + "[s]", "Invalid",
                       "exactly one value must be specified"},
        ValidationCase{"TwoValues", SetAttribute("s", {{"string", "a"}, {"int", 1}}),
                       kAttributes + "[s]", "Invalid", "exactly one value must be specified"},
        ValidationCase{"Version", SetAttribute("v", {{"version", "1.2.3-rc.1+b"}})},
        ValidationCase{"NoVersion", SetAttribute("v", {{"version", "1.2"}}),
                       kAttributes + "[v].version", "Invalid", "semver.org spec 2.0.0"},
        ValidationCase{"Taints16", Set(kDevice + "/taints", Taints(16))},
        ValidationCase{"Taints17", Set(kDevice + "/taints", Taints(17)), "spec.devices[0].taints",
                       "TooMany", "at most 16 items"},
        ValidationCase{"TaintKey",
                       Set(kDevice + "/taints", {{{"key", "a b"}, {"effect", "NoExecute"}}}),
                       "spec.devices[0].taints[0].key", "Invalid", "qualified name"},
        ValidationCase{"NoEffect", Set(kDevice + "/taints", {{{"key", "a"}}}),
                       "spec.devices[0].taints[0].effect", "Required"},
        ValidationCase{"UnknownEffect",
                       Set(kDevice + "/taints", {{{"key", "a"}, {"effect", "PreferNoSchedule"}}}),
                       "spec.devices[0].taints[0].effect", "NotSupported", "\"NoExecute\""},
        ValidationCase{"Shared", Set(kDevice, test::SharedDevice("a", "2"))},
        ValidationCase{"OneSlot", Set(kDevice, test::SharedDevice("a", "1")),
                       "spec.devices[0].capacity[slots].requestPolicy.validRange.step", "Invalid",
                       "one step is larger than capacity value"},
        ValidationCase{"PolicyOfExclusive",
                       [](Json& slice) {
                         Json device = test::SharedDevice("a", "2");
                         device.erase("allowMultipleAllocations");
                         slice["spec"]["devices"][0] = device;
                       },
                       "spec.devices[0].capacity[slots].requestPolicy", "Forbidden",
                       "allowMultipleAllocations must be true"},
        ValidationCase{"CountersAndDevices",
                       Set("/spec/sharedCounters",
                           {{{"name", "a"}, {"counters", {{"c", {{"value", "1"}}}}}}}),
                       "spec", "Invalid", "only one of `sharedCounters` or `devices`"},
        ValidationCase{"UpperName", Set("/metadata/name", "Slice"), "metadata.name", "Invalid",
                       "RFC 1123 subdomain"},
        ValidationCase{"NoName", Remove("/metadata", "name"), "metadata.name", "Required",
                       "name or generateName is required"},
        ValidationCase{"Namespace", Set("/metadata/namespace", "default"), "metadata.namespace",
                       "Forbidden", "not allowed on this type"},
        ValidationCase{"OwnerWithoutUid",
                       Set("/metadata/ownerReferences",
                           {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node-1"}}}),
                       "metadata.ownerReferences[0].uid", "Invalid", "uid must not be empty"}),
    [](const auto& row) { return row.param.name; });

class ClaimRules : public testing::TestWithParam<ValidationCase> {};

TEST_P(ClaimRules, AreThoseOfTheServer) {
  Expect(CausesOf(Kind::kResourceClaim, test::Claim(), GetParam().change), GetParam());
}

const std::string kRequest = "/spec/devices/requests/0";
const std::string kRequestPath = "spec.devices.requests[0]";

INSTANTIATE_TEST_SUITE_P(
    Validation, ClaimRules,
    testing::Values(
        ValidationCase{"Valid", [](Json&) {}},
        ValidationCase{"NoNamespace", Set("/metadata/namespace", ""), "metadata.namespace",
                       "Invalid"},
        ValidationCase{"NoClass", Remove(kRequest + "/exactly", "deviceClassName"),
                       kRequestPath + ".exactly.deviceClassName", "Required"},
        ValidationCase{"Count0", Set(kRequest + "/exactly/count", 0),
                       kRequestPath + ".exactly.count", "Invalid", "greater than zero"},
        ValidationCase{"UnknownMode", Set(kRequest + "/exactly/allocationMode", "Some"),
                       kRequestPath + ".exactly.allocationMode", "NotSupported"},
        ValidationCase{"NoKindOfRequest", Remove(kRequest, "exactly"), kRequestPath, "Required"},
        ValidationCase{
            "UnknownRequest",
            Set("/spec/devices/config",
                {{{"requests", {"t"}},
                  {"opaque", {{"driver", "patchbay.dev"}, {"parameters", {{"a", 1}}}}}}}),
            "spec.devices.config[0].requests[0]", "Invalid"},
        ValidationCase{"Parameters",
                       Set("/spec/devices/config",
                           {{{"opaque",
                              {{"driver", "patchbay.dev"},
                               {"parameters", {{"a", std::string(10 * 1024, 'x')}}}}}}}),
                       "spec.devices.config[0].opaque.parameters", "TooLong"}),
    [](const auto& row) { return row.param.name; });

TEST(Validation, RejectsUpdatesOfImmutableFields) {
  const Json old = test::Slice();
  Json slice = old;
  slice["spec"]["driver"] = "other.dev";
  slice["spec"]["nodeName"] = "node-2";
  slice["spec"]["pool"]["name"] = "other";
  std::vector<std::string> fields;
  for (const Cause& cause : Validate(InfoOf(Kind::kResourceSlice), slice, &old)) {
    EXPECT_THAT(cause.message, HasSubstr("field is immutable"));
    fields.push_back(cause.field);
  }
  EXPECT_THAT(fields, ElementsAre("spec.pool.name", "spec.driver", "spec.nodeName"));
}

TEST(Validation, RejectsUpdateOfClaimSpec) {
  const Json old = test::Claim();
  EXPECT_THAT(Validate(InfoOf(Kind::kResourceClaim), test::Claim("claim-1", 2), &old),
              ElementsAre(Field(&Cause::field, "spec")));
}

TEST(Validation, ChecksStatusOfClaim) {
  const Json old = test::Claim();
  const auto causes_of = [&](Json status) {
    Json claim = old;
    claim["status"] = std::move(status);
    return Validate(InfoOf(Kind::kResourceClaim), claim, &old, WriteTarget::kStatus);
  };
  const Json result{{"request", "s"}, {"driver", "patchbay.dev"}, {"pool", "p"}, {"device", "a"}};
  const auto allocation = [](const Json& results) {
    return Json{{"allocation", {{"devices", {{"results", results}}}}}};
  };
  EXPECT_THAT(causes_of(allocation(Json::array({result}))), IsEmpty());
  Json unknown = result;
  unknown["request"] = "t";
  EXPECT_THAT(causes_of(allocation(Json::array({unknown}))),
              ElementsAre(Field(&Cause::field, "status.allocation.devices.results[0].request")));
  Json share = result;
  share["shareID"] = "1";
  EXPECT_THAT(causes_of(allocation(Json::array({share}))),
              ElementsAre(Field(&Cause::field, "status.allocation.devices.results[0].shareID")));
  EXPECT_THAT(causes_of(allocation(Json(33, result))),
              ElementsAre(Field(&Cause::reason, "FieldValueTooMany")));
  EXPECT_THAT(causes_of({{"reservedFor", {{{"resource", "pods"}, {"name", "p"}, {"uid", "u"}}}}}),
              ElementsAre(Field(&Cause::reason, "FieldValueForbidden")));
}

TEST(Validation, RejectsChangeOfAllocation) {
  Json old = test::Claim();
  old["status"]["allocation"]["devices"]["results"] = {
      {{"request", "s"}, {"driver", "patchbay.dev"}, {"pool", "p"}, {"device", "a"}}};
  Json claim = old;
  claim["status"]["allocation"]["devices"]["results"][0]["device"] = "b";
  EXPECT_THAT(Validate(InfoOf(Kind::kResourceClaim), claim, &old, WriteTarget::kStatus),
              ElementsAre(Field(&Cause::field, "status.allocation")));
  claim["status"].erase("allocation");
  EXPECT_THAT(Validate(InfoOf(Kind::kResourceClaim), claim, &old, WriteTarget::kStatus), IsEmpty());
}

TEST(Validation, ChecksExtendedResourceNameOfClass) {
  EXPECT_THAT(Validate(InfoOf(Kind::kDeviceClass), test::DeviceClass(), nullptr), IsEmpty());
  Json device_class = test::DeviceClass();
  device_class["spec"]["extendedResourceName"] = "serial";
  EXPECT_THAT(Validate(InfoOf(Kind::kDeviceClass), device_class, nullptr),
              ElementsAre(Field(&Cause::field, "spec.extendedResourceName")));
}

}  // namespace
}  // namespace patchbay::api_sim
