#include "sim/api_server/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "objects.h"

namespace patchbay::api_sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Change = std::function<void(Json&)>;

/// A change of a valid object, and a part of the only error that it causes; "" if it stays valid.
struct ValidationCase {
  std::string name;
  Change change;
  std::string error = "";
};

void PrintTo(const ValidationCase& row, std::ostream* out) { *out << row.name; }

void Expect(Kind kind, Json object, const ValidationCase& row) {
  row.change(object);
  const std::vector<std::string> errors = Validate(InfoOf(kind), object, nullptr);
  if (row.error.empty()) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, ElementsAre(HasSubstr(row.error)));
  }
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

const std::string kDevice = "/spec/devices/0";

class SliceRules : public testing::TestWithParam<ValidationCase> {};

TEST_P(SliceRules, AreThoseOfTheServer) { Expect(Kind::kResourceSlice, test::Slice(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Validation, SliceRules,
    testing::Values(
        ValidationCase{"Valid", [](Json&) {}},
        ValidationCase{"NoDevices", Remove("/spec", "devices")},
        ValidationCase{"Devices128", Set("/spec/devices", Devices(128))},
        ValidationCase{"Devices129", Set("/spec/devices", Devices(129)),
                       "spec.devices: Too many: 129: must have at most 128 items"},
        ValidationCase{"Taint64", Set("/spec/devices", Tainted(Devices(64)))},
        ValidationCase{"Taint65", Set("/spec/devices", Tainted(Devices(65))),
                       "spec.devices: Too many: 65: must have at most 64 items"},
        ValidationCase{"DuplicateDevice",
                       Set("/spec/devices", Json::array({test::Device("a"), test::Device("a")})),
                       "spec.devices[1]: Duplicate value: \"a\""},
        ValidationCase{"NoDeviceName", Remove(kDevice, "name"), "spec.devices[0].name: Required"},
        ValidationCase{"UpperDeviceName", Set(kDevice + "/name", "A"),
                       "spec.devices[0].name: Invalid value: \"A\": must be a DNS label"},
        ValidationCase{"DeviceName63", Set(kDevice + "/name", std::string(63, 'a'))},
        ValidationCase{"DeviceName64", Set(kDevice + "/name", std::string(64, 'a')),
                       "spec.devices[0].name: Too long: may not be more than 63 bytes"},
        ValidationCase{"NoDriver", Remove("/spec", "driver"), "spec.driver: Required value"},
        ValidationCase{"Driver63", Set("/spec/driver", std::string(61, 'a') + ".B")},
        ValidationCase{"Driver64", Set("/spec/driver", std::string(64, 'a')),
                       "spec.driver: Too long"},
        ValidationCase{"DriverUnderscore", Set("/spec/driver", "a_b"), "spec.driver: Invalid"},
        ValidationCase{"PoolWithSlashes", Set("/spec/pool/name", "a/b.example.com/c")},
        ValidationCase{"PoolEmptyPart", Set("/spec/pool/name", "a//b"), "spec.pool.name: Invalid"},
        ValidationCase{"Pool254", Set("/spec/pool/name", std::string(254, 'a')),
                       "spec.pool.name: Too long: may not be more than 253 bytes"},
        ValidationCase{"NoSliceCount", Remove("/spec/pool", "resourceSliceCount"),
                       "spec.pool.resourceSliceCount: Invalid value: 0"},
        ValidationCase{"Generation", Set("/spec/pool/generation", -1),
                       "spec.pool.generation: Invalid value: -1"},
        ValidationCase{"NoNode", Remove("/spec", "nodeName"), "spec.nodeName: Required"},
        ValidationCase{"UpperNode", Set("/spec/nodeName", "N"), "spec.nodeName: Invalid"},
        ValidationCase{"Attributes32", SetAttributes(30, 2)},
        ValidationCase{"Attributes33", SetAttributes(31, 2),
                       "spec.devices[0]: Invalid value: 33: the total number of attributes and "
                       "capacities must not exceed 32"},
        ValidationCase{"DomainAttribute",
                       SetAttribute("resource.kubernetes.io/numaNode", {{"int", 0}})},
        ValidationCase{"DashAttribute", SetAttribute("usb-vendor", {{"string", "a"}}),
                       "spec.devices[0].attributes: Invalid value: \"usb-vendor\""},
        ValidationCase{"Name32", SetAttribute(std::string(32, 'a'), {{"int", 1}})},
        ValidationCase{"Name33", SetAttribute(std::string(33, 'a'), {{"int", 1}}),
                       "attributes: Too long: may not be more than 32 bytes"},
        ValidationCase{"NoDomain", SetAttribute("/a", {{"int", 1}}), "attributes: Invalid"},
        ValidationCase{"TwoSlashes", SetAttribute("a/b/c", {{"int", 1}}), "attributes: Invalid"},
        ValidationCase{"String64", SetAttribute("s", {{"string", std::string(64, '\n')}})},
        ValidationCase{"String65", SetAttribute("s", {{"string", std::string(65, 'x')}}),
                       "attributes[s].string: Too long: may not be more than 64 bytes"},
        ValidationCase{"EmptyString", SetAttribute("s", {{"string", ""}})},
        ValidationCase{"NoValue", SetAttribute("s", Json::object()),
                       "attributes[s]: Invalid value: {}: exactly one value must be specified"},
        ValidationCase{"TwoValues", SetAttribute("s", {{"string", "a"}, {"int", 1}}),
                       "exactly one value must be specified"},
        ValidationCase{"Version", SetAttribute("v", {{"version", "1.2.3-rc.1+b"}})},
        ValidationCase{"NoVersion", SetAttribute("v", {{"version", "1.2"}}),
                       "attributes[v].version: Invalid"},
        ValidationCase{"ZeroVersion", SetAttribute("v", {{"version", "01.2.3"}}),
                       "attributes[v].version: Invalid"},
        ValidationCase{"Taints16", Set(kDevice + "/taints", Taints(16))},
        ValidationCase{"Taints17", Set(kDevice + "/taints", Taints(17)),
                       "spec.devices[0].taints: Too many: 17"},
        ValidationCase{"TaintKey",
                       Set(kDevice + "/taints", {{{"key", "a b"}, {"effect", "NoExecute"}}}),
                       "taints[0].key: Invalid"},
        ValidationCase{"LongTaintKey",
                       Set(kDevice + "/taints", {{{"key", "example.com/" + std::string(64, 'a')},
                                                  {"effect", "NoExecute"}}}),
                       "taints[0].key: Invalid"},
        ValidationCase{"TaintValue",
                       Set(kDevice + "/taints",
                           {{{"key", "a"}, {"value", "b c"}, {"effect", "NoExecute"}}}),
                       "taints[0].value: Invalid"},
        ValidationCase{"NoEffect", Set(kDevice + "/taints", {{{"key", "a"}}}),
                       "taints[0].effect: Required"},
        ValidationCase{"UnknownEffect",
                       Set(kDevice + "/taints", {{{"key", "a"}, {"effect", "PreferNoSchedule"}}}),
                       "taints[0].effect: Invalid"},
        ValidationCase{"Shared", Set(kDevice, test::SharedDevice("a", "2"))},
        ValidationCase{"OneSlot", Set(kDevice, test::SharedDevice("a", "1")),
                       "capacity[slots].requestPolicy.validRange.step: Invalid value: \"1\": one "
                       "step is larger than capacity value"},
        ValidationCase{"PolicyOfExclusive",
                       [](Json& slice) {
                         Json device = test::SharedDevice("a", "2");
                         device.erase("allowMultipleAllocations");
                         slice["spec"]["devices"][0] = device;
                       },
                       "requestPolicy: Forbidden: allowMultipleAllocations must be true"},
        ValidationCase{"ValidValues",
                       [](Json& slice) {
                         Json device = test::SharedDevice("a", "2");
                         device["capacity"]["slots"]["requestPolicy"] = {
                             {"default", "1"}, {"validValues", {"1", "3"}}};
                         slice["spec"]["devices"][0] = device;
                       },
                       "validValues[1]: Invalid value: \"3\": option is larger"},
        ValidationCase{"UpperName", Set("/metadata/name", "Slice"), "metadata.name: Invalid"},
        ValidationCase{"NoName", Remove("/metadata", "name"), "metadata.name: Required"},
        ValidationCase{"Namespace", Set("/metadata/namespace", "default"),
                       "metadata.namespace: Forbidden: not allowed on this type"},
        ValidationCase{"OwnerWithoutUid",
                       Set("/metadata/ownerReferences",
                           {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node-1"}}}),
                       "metadata.ownerReferences[0].uid: Invalid"}),
    [](const auto& row) { return row.param.name; });

class ClaimRules : public testing::TestWithParam<ValidationCase> {};

TEST_P(ClaimRules, FindErrorsInDocumentedClaims) {
  Expect(Kind::kResourceClaim, test::Claim(), GetParam());
}

const std::string kRequest = "/spec/devices/requests/0";

INSTANTIATE_TEST_SUITE_P(
    Validation, ClaimRules,
    testing::Values(
        ValidationCase{"Valid", [](Json&) {}},
        ValidationCase{"NoClass", Remove(kRequest + "/exactly", "deviceClassName"),
                       "requests[0].exactly.deviceClassName: Required"},
        ValidationCase{"Count0", Set(kRequest + "/exactly/count", 0), "exactly.count: Invalid"},
        ValidationCase{"UnknownMode", Set(kRequest + "/exactly/allocationMode", "Some"),
                       "exactly.allocationMode: Invalid"},
        ValidationCase{"NoExactly", Remove(kRequest, "exactly"), "requests[0]: Required"},
        ValidationCase{"UnknownRequest",
                       Set("/spec/devices/config",
                           {{{"requests", {"t"}}, {"opaque", {{"driver", "patchbay.dev"}}}}}),
                       "spec.devices.config[0].requests: Invalid value: \"t\""},
        ValidationCase{"NoDriver", Set("/spec/devices/config", {{{"opaque", Json::object()}}}),
                       "spec.devices.config[0].opaque.driver: Required"}),
    [](const auto& row) { return row.param.name; });

TEST(Validation, RejectsUpdatesOfImmutableFields) {
  const Json old = test::Slice();
  Json slice = old;
  slice["spec"]["driver"] = "other.dev";
  slice["spec"]["nodeName"] = "node-2";
  slice["spec"]["pool"]["name"] = "other";
  EXPECT_THAT(Validate(InfoOf(Kind::kResourceSlice), slice, &old),
              ElementsAre("spec.pool.name: Invalid value: \"other\": field is immutable",
                          "spec.driver: Invalid value: \"other.dev\": field is immutable",
                          "spec.nodeName: Invalid value: \"node-2\": field is immutable"));
}

TEST(Validation, ChecksExtendedResourceNameOfClass) {
  EXPECT_THAT(Validate(InfoOf(Kind::kDeviceClass), test::DeviceClass(), nullptr), IsEmpty());
  Json device_class = test::DeviceClass();
  device_class["spec"]["extendedResourceName"] = "serial";
  EXPECT_THAT(Validate(InfoOf(Kind::kDeviceClass), device_class, nullptr),
              ElementsAre(HasSubstr("spec.extendedResourceName: Invalid")));
}

}  // namespace
}  // namespace patchbay::api_sim
