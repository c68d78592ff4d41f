#include "dra/claim_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/escape.h"

namespace patchbay {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr char kDriver[] = "patchbay.dev";

tl::unexpected<ApiError> FailedWith(unsigned status, std::string reason) {
  return tl::unexpected<ApiError>(ApiError{.kind = ApiErrorKind::kStatus,
                                           .message = "the message",
                                           .status = status,
                                           .reason = std::move(reason)});
}

json Claim() {
  return json::parse(R"({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "serial", "namespace": "default", "uid": "uid-1",
                 "managedFields": [{"manager": "kube-scheduler"}]},
    "spec": {"devices": {"requests": [{"name": "s", "exactly": {"deviceClassName": "serial"}}]}},
    "status": {
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-2"}],
      "allocation": {
        "allocationTimestamp": "2026-11-22T10:00:00Z",
        "nodeSelector": {"nodeSelectorTerms": []},
        "devices": {
          "results": [
            {"request": "s", "driver": "patchbay.dev", "pool": "n/a/b", "device": "tty0"},
            {"request": "gpu", "driver": "gpu.example.com", "pool": "n", "device": "gpu-0"},
            {"request": "f/second", "driver": "patchbay.dev", "pool": "n/a/f", "device": "fuse",
             "shareID": "share-1", "adminAccess": true, "consumedCapacity": {"slots": "2"}}]}}}})");
}

json& Devices(json& claim) { return claim["status"]["allocation"]["devices"]; }

/// Returns a claim with one configuration of the driver.
json WithParameters(const json& parameters, const char* source = "FromClaim") {
  json claim = Claim();
  Devices(claim)["config"] = json::array(
      {{{"source", source}, {"opaque", {{"driver", kDriver}, {"parameters", parameters}}}}});
  return claim;
}

Result<ResourceClaim> Parse(const json& claim) { return ParseClaim(claim.dump(), kDriver); }

TEST(ParseClaim, ReadsTheDevicesOfTheDriver) {
  const auto claim = Parse(Claim());
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->key, (ClaimKey{"uid-1", "default", "serial"}));
  EXPECT_TRUE(claim->is_allocated);
  EXPECT_THAT(claim->devices,
              ElementsAre(AllocatedDevice{.request = "s", .pool = "n/a/b", .device = "tty0"},
                          AllocatedDevice{.request = "f/second",
                                          .pool = "n/a/f",
                                          .device = "fuse",
                                          .share_id = "share-1",
                                          .admin_access = true,
                                          .slots = 2}));
  EXPECT_THAT(claim->configs, IsEmpty());
}

TEST(ParseClaim, ReadsTheNameOfTheClaimInItsPod) {
  json claim = Claim();
  EXPECT_EQ(Parse(claim)->pod_claim_name, "");
  json& annotation = claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"];
  annotation = "serial";
  EXPECT_EQ(Parse(claim)->pod_claim_name, "serial");
  for (const json& bad : {json("../x"), json("a/b"), json("A"), json(7)}) {
    annotation = bad;
    EXPECT_FALSE(Parse(claim)) << bad;
  }
}

TEST(ParseClaim, ReadsAClaimWithoutAllocation) {
  json claim = Claim();
  claim["status"].erase("allocation");
  EXPECT_FALSE(Parse(claim)->is_allocated);
  claim.erase("status");
  EXPECT_FALSE(Parse(claim)->is_allocated);
  claim["status"]["allocation"] = json::object();
  EXPECT_TRUE(Parse(claim)->is_allocated);
  EXPECT_THAT(Parse(claim)->devices, IsEmpty());
}

TEST(ParseClaim, FindsTolerationsOfUnhealthyDevices) {
  const struct {
    const char* toleration;
    bool tolerates;
  } kCases[] = {
      {R"({"operator":"Exists"})", true},
      {R"({"key":"patchbay.dev/unhealthy","operator":"Exists","effect":"NoSchedule"})", true},
      {R"({"key":"patchbay.dev/unhealthy"})", true},
      {R"({"key":"patchbay.dev/unhealthy","operator":"Equal","value":"other"})", false},
      {R"({"key":"patchbay.dev/gone","operator":"Exists"})", false},
      {R"({"key":"example.com/unhealthy","operator":"Exists"})", false},
      {R"({})", false},
  };
  for (const auto& [toleration, tolerates] : kCases) {
    json claim = Claim();
    Devices(claim)["results"][0]["tolerations"] = json::array({json::parse(toleration)});
    EXPECT_EQ(Parse(claim).value().devices[0].tolerates_unhealthy, tolerates) << toleration;
  }
}

TEST(ParseClaim, ReadsSixtyFourTolerations) {
  json claim = Claim();
  json& tolerations = Devices(claim)["results"][0]["tolerations"];
  tolerations = json(63, json::object());
  tolerations.push_back({{"operator", "Exists"}});
  EXPECT_TRUE(Parse(claim).value().devices[0].tolerates_unhealthy);
}

TEST(ParseClaim, ReadsParametersWithThoseOfTheClaimLast) {
  json claim = Claim();
  const auto config = [](const char* source, const char* driver, const char* value) {
    return json{{"source", source},
                {"requests", {"s"}},
                {"opaque", {{"driver", driver}, {"parameters", {{"env", {{"A", value}}}}}}}};
  };
  Devices(claim)["config"] = {config("FromClaim", kDriver, "3"), config("FromClass", kDriver, "1"),
                              config("FromClass", "gpu.example.com", "x"),
                              config("FromClass", kDriver, "2")};
  const auto parsed = Parse(claim);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto with = [](const char* value) {
    return DeviceConfig{.requests = {"s"}, .env = {{"A", value}}};
  };
  EXPECT_THAT(parsed->configs, ElementsAre(with("1"), with("2"), with("3")));
}

TEST(ParseClaim, IgnoresParametersOfOtherDrivers) {
  json claim = WithParameters({{"unknown", 1}});
  Devices(claim)["config"][0]["opaque"]["driver"] = "gpu.example.com";
  EXPECT_THAT(Parse(claim).value().configs, IsEmpty());
}

TEST(ParseClaim, AcceptsVariablesWithAnyText) {
  const auto claim = Parse(WithParameters({{"env", {{"_A1", ""}, {"B", "a b\n{id} $C ü"}}}}));
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_THAT(claim->configs[0].env, ElementsAre(Pair("B", "a b\n{id} $C ü"), Pair("_A1", "")));
  EXPECT_THAT(Parse(WithParameters(json::object())).value().configs, SizeIs(1));
}

TEST(ParseClaim, RejectsParametersThatAreNotDocumented) {
  json many = json::object();
  for (int i = 0; i < 65; ++i) many["A" + std::to_string(i)] = "x";
  const struct {
    json parameters;
    std::string error;
  } kCases[] = {
      {{{"envs", json::object()}}, R"(unknown key "envs"; did you mean "env"?)"},
      {{{"mounts", json::array()}},
       R"(unknown key "mounts"; the only key is "env", an object of strings)"},
      {{{"a\x1b[31m", 1}}, R"(unknown key "a\x1b[31m")"},
      {{{"env", {"A=1"}}}, R"("env" must be an object)"},
      {{{"env", many}}, R"("env" has 65 variables; define at most 64)"},
      {{{"env", {{"A", 1}}}}, R"(in "env", "A" must be a string; write it in quotes)"},
      {{{"env", {{"A", nullptr}}}}, R"(in "env", "A" must be a string; write it in quotes)"},
      {{{"env", {{"A-B", "1"}}}}, R"(in "env", "A-B" is not a valid name of a variable)"},
      {{{"env", {{"", "1"}}}}, R"(in "env", "" is not a valid name of a variable)"},
      {{{"env", {{"A\x01", "1"}}}}, R"(in "env", "A\x01" is not a valid name of a variable)"},
      {{{"env", {{"LD_PRELOAD", "/x"}}}}, R"(in "env", "LD_PRELOAD" is reserved)"},
      {{{"env", {{"A", std::string(4097, 'x')}}}}, R"("A" has 4097 bytes; shorten it to 4096)"},
      {{{"env", {{"A", std::string("a\0b", 3)}}}}, R"("A" contains a NUL; remove it)"},
  };
  for (const auto& [parameters, error] : kCases) {
    for (const char* source : {"FromClaim", "FromClass"}) {
      const auto claim = Parse(WithParameters(parameters, source));
      ASSERT_FALSE(claim) << error;
      EXPECT_EQ(claim.error().kind, ErrorKind::kInvalid);
      EXPECT_THAT(claim.error().message, HasSubstr(error));
      EXPECT_THAT(claim.error().message, HasSubstr(source == std::string("FromClass")
                                                       ? "the parameters of its device class"
                                                       : "the parameters of the claim"));
      EXPECT_TRUE(IsPrintable(claim.error().message));
    }
  }
}

TEST(ParseClaim, RejectsHostileObjects) {
  const struct {
    const char* error;
    void (*change)(json& claim);
  } kCases[] = {
      {"not a resource.k8s.io/v1 ResourceClaim", [](json& c) { c["kind"] = "Pod"; }},
      {"not a resource.k8s.io/v1 ResourceClaim", [](json& c) { c["apiVersion"] = "v1"; }},
      {"\"metadata\" must be an object", [](json& c) { c.erase("metadata"); }},
      {"\"uid\" must be a string", [](json& c) { c["metadata"]["uid"] = 7; }},
      {"\"status\" must be an object", [](json& c) { c["status"] = json::array(); }},
      {"\"allocation\" must be an object", [](json& c) { c["status"]["allocation"] = "x"; }},
      {"\"results\" must be an array of at most 32 objects",
       [](json& c) { Devices(c)["results"] = json(33, json::object()); }},
      {"\"results\" must be an array", [](json& c) { Devices(c)["results"] = {1}; }},
      {"results[2]: \"device\" must be a string",
       [](json& c) { Devices(c)["results"][2]["device"] = std::string(513, 'x'); }},
      {"results[0]: \"request\", \"pool\" and \"device\" must not be empty",
       [](json& c) { Devices(c)["results"][0].erase("pool"); }},
      {"results[0]: \"adminAccess\" must be a boolean",
       [](json& c) { Devices(c)["results"][0]["adminAccess"] = "true"; }},
      {"\"tolerations\" must be an array",
       [](json& c) { Devices(c)["results"][0]["tolerations"] = json(65, json::object()); }},
      {"must be a positive integer",
       [](json& c) { Devices(c)["results"][2]["consumedCapacity"]["slots"] = "0"; }},
      {"must be a positive integer",
       [](json& c) { Devices(c)["results"][2]["consumedCapacity"]["slots"] = "-1"; }},
      {"\"requests\" must be an array of names",
       [](json& c) {
         c = WithParameters(json::object());
         Devices(c)["config"][0]["requests"] = {1};
       }},
      {"\"parameters\" must be an object", [](json& c) { c = WithParameters("A=1"); }},
      {"\"config\" must be an array", [](json& c) { Devices(c)["config"] = 7; }},
  };
  for (const auto& [error, change] : kCases) {
    json claim = Claim();
    change(claim);
    const auto parsed = Parse(claim);
    ASSERT_FALSE(parsed) << error;
    EXPECT_THAT(parsed.error().message, HasSubstr(error));
  }
  EXPECT_FALSE(ParseClaim("", kDriver));
  EXPECT_FALSE(ParseClaim("[]", kDriver));
}

/// "No longer exists" has another cure than a proxy that fails.
TEST(ClaimTextOf, IsNotFoundOnlyIfTheApiServerSaysSo) {
  const auto kind = [](const ApiResult& result) { return ClaimTextOf(result).error().kind; };
  EXPECT_EQ(kind(FailedWith(404, "NotFound")), ErrorKind::kNotFound);
  EXPECT_EQ(kind(FailedWith(404, "")), ErrorKind::kUnavailable) << "a proxy";
  EXPECT_EQ(kind(FailedWith(503, "NotFound")), ErrorKind::kUnavailable);
  EXPECT_EQ(ClaimTextOf(FailedWith(404, "")).error().message, "the message");
  EXPECT_EQ(ClaimTextOf(ApiResponse{200, "{}"}).value(), "{}");
}

}  // namespace
}  // namespace patchbay
