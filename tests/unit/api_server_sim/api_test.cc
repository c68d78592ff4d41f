#include "api_server_sim/api.h"

#include <gmock/gmock.h>

#include <set>

#include "api_fixture.h"

namespace patchbay::api_sim {
namespace {

using test::kClaims;
using test::kClasses;
using test::kNodes;
using test::kSlices;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

class ApiTest : public test::ApiFixture {};

TEST_F(ApiTest, StoresWhatIsCreated) {
  const Json created = Create(kSlices, test::Slice());
  EXPECT_EQ(created["spec"], test::Slice()["spec"]);
  const Json& metadata = created["metadata"];
  EXPECT_THAT(metadata["uid"].get<std::string>(),
              MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(metadata["creationTimestamp"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(metadata["generation"], 1);
  EXPECT_EQ(Get(kSlices + "/slice-1").body, created);
  EXPECT_EQ(Get(kSlices + "/other").status, 404);
}

TEST_F(ApiTest, ReportsErrorsAsStatusObjects) {
  const auto reply = Get(kSlices + "/other");
  EXPECT_EQ(reply.body, Json::parse(R"({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "resourceslices.resource.k8s.io \"other\" not found", "reason": "NotFound",
    "details": {"name": "other", "group": "resource.k8s.io", "kind": "resourceslices"}, "code": 404})"));

  Json slice = test::Slice();
  slice["spec"]["pool"]["resourceSliceCount"] = 0;
  slice["spec"].erase("driver");
  const auto invalid = Send("POST", kSlices, slice);
  EXPECT_EQ(invalid.status, 422);
  EXPECT_EQ(invalid.body, Json::parse(R"({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "ResourceSlice.resource.k8s.io \"slice-1\" is invalid: [spec.driver: Required value, spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero]",
    "reason": "Invalid",
    "details": {"name": "slice-1", "group": "resource.k8s.io", "kind": "ResourceSlice", "causes": [
      {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.driver"},
      {"reason": "FieldValueInvalid", "message": "Invalid value: 0: must be greater than zero",
       "field": "spec.pool.resourceSliceCount"}]}, "code": 422})"));
}

TEST_F(ApiTest, GeneratesNames) {
  Json slice = test::Slice();
  slice["metadata"] = {{"generateName", "00001-patchbay.dev-node-1-"}};
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) {
    const std::string name = Create(kSlices, slice)["metadata"]["name"];
    EXPECT_THAT(name, MatchesRegex("00001-patchbay.dev-node-1-[b-z2-9]{5}"));
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 20U);
  slice["metadata"]["generateName"] = std::string(100, 'a');
  EXPECT_EQ(Create(kSlices, slice)["metadata"]["name"].get<std::string>().size(), 63U);
}

TEST_F(ApiTest, RejectsAnExistingName) {
  Create(kSlices, test::Slice());
  const auto reply = Send("POST", kSlices, test::Slice());
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(reply.body["reason"], "AlreadyExists");
}

TEST_F(ApiTest, UpdatesOnlyTheVersionThatTheClientRead) {
  Json slice = Create(kSlices, test::Slice());
  const Json read = slice;
  slice["spec"]["devices"].push_back(test::Device("b"));
  const auto reply = Send("PUT", kSlices + "/slice-1", slice);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body["metadata"]["generation"], 2);
  EXPECT_EQ(reply.body["metadata"]["uid"], read["metadata"]["uid"]);
  EXPECT_NE(VersionOf(reply.body), VersionOf(read));

  const auto conflict = Send("PUT", kSlices + "/slice-1", slice);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.body["reason"], "Conflict");
  EXPECT_EQ(
      conflict.body["message"],
      "Operation cannot be fulfilled on resourceslices.resource.k8s.io \"slice-1\": the object "
      "has been modified; please apply your changes to the latest version and try again");
}

TEST_F(ApiTest, UpdateWithoutVersionReplacesTheObject) {
  Create(kSlices, test::Slice());
  EXPECT_EQ(
      Send("PUT", kSlices + "/slice-1", test::Slice("slice-1", Json::array({test::Device("b")})))
          .status,
      200);
  EXPECT_EQ(Get(kSlices + "/slice-1").body["spec"]["devices"][0]["name"], "b");
}

TEST_F(ApiTest, UpdateWithoutChangeKeepsTheVersion) {
  const Json slice = Create(kSlices, test::Slice());
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1", slice).body, slice);
  EXPECT_EQ(std::to_string(api_.store().version()), VersionOf(slice));
}

TEST_F(ApiTest, RejectsUpdatesOfAnotherObject) {
  Json slice = Create(kSlices, test::Slice());
  EXPECT_EQ(Send("PUT", kSlices + "/other", slice).status, 400);
  EXPECT_EQ(Send("PUT", kSlices + "/other", test::Slice("other")).status, 404);
  slice["metadata"]["uid"] = "8f14e45f-ceea-467f-a0e6-0123456789ab";
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1", slice).status, 409);
}

TEST_F(ApiTest, DeletesUnderPreconditions) {
  const Json slice = Create(kSlices, test::Slice());
  const auto other_uid =
      Send("DELETE", kSlices + "/slice-1", {{"preconditions", {{"uid", "other"}}}});
  EXPECT_EQ(other_uid.status, 409);
  EXPECT_THAT(other_uid.body["message"].get<std::string>(),
              HasSubstr("the UID in the precondition (other) does not match the UID in record"));
  EXPECT_EQ(
      Send("DELETE", kSlices + "/slice-1", {{"preconditions", {{"resourceVersion", "1"}}}}).status,
      409);
  const auto deleted =
      Send("DELETE", kSlices + "/slice-1",
           {{"preconditions",
             {{"uid", slice["metadata"]["uid"]}, {"resourceVersion", VersionOf(slice)}}}});
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body["status"], "Success");
  EXPECT_EQ(deleted.body["details"]["uid"], slice["metadata"]["uid"]);
  EXPECT_EQ(Send("DELETE", kSlices + "/slice-1").status, 404);
}

TEST_F(ApiTest, DeletesSlicesOfOneNode) {
  Create(kSlices, test::Slice("a"));
  Create(kSlices, test::Slice("b"));
  Json other = test::Slice("c");
  other["spec"]["nodeName"] = "node-2";
  Create(kSlices, other);
  const auto reply = Send("DELETE", kSlices + "?fieldSelector=spec.nodeName%3Dnode-1");
  EXPECT_EQ(reply.body["items"].size(), 2U);
  EXPECT_THAT(Names(kSlices), ElementsAre("c"));
}

TEST_F(ApiTest, ListsByFields) {
  Create(kSlices, test::Slice("a"));
  Json other = test::Slice("b");
  other["spec"]["driver"] = "other.dev";
  Create(kSlices, other);
  EXPECT_THAT(Names(kSlices), ElementsAre("a", "b"));
  EXPECT_THAT(Names(kSlices + "?fieldSelector=spec.driver=patchbay.dev,spec.nodeName=node-1"),
              ElementsAre("a"));
  EXPECT_THAT(Names(kSlices + "?fieldSelector=spec.driver!=patchbay.dev"), ElementsAre("b"));
  EXPECT_THAT(Names(kSlices + "?fieldSelector=metadata.name=b"), ElementsAre("b"));
  EXPECT_THAT(Names(kSlices + "?fieldSelector=spec.nodeName=node-2"), IsEmpty());
  const auto unknown = Get(kSlices + "?fieldSelector=spec.pool.name=a");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body["message"], "field label not supported: \"spec.pool.name\"");
}

TEST_F(ApiTest, ListsPagesOfOneVersion) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Create(kSlices, test::Slice(name));
  const auto first = Get(kSlices + "?limit=2");
  EXPECT_EQ(first.body["kind"], "ResourceSliceList");
  EXPECT_EQ(first.body["metadata"]["remainingItemCount"], 3);
  Send("DELETE", kSlices + "/c");
  Create(kSlices, test::Slice("cc"));
  const std::string next = first.body["metadata"]["continue"];
  const auto second = Get(kSlices + "?limit=2&continue=" + next);
  EXPECT_EQ(second.body["items"][0]["metadata"]["name"], "c");
  EXPECT_EQ(second.body["metadata"]["resourceVersion"], first.body["metadata"]["resourceVersion"]);
  const auto last =
      Get(kSlices + "?limit=2&continue=" + second.body["metadata"]["continue"].get<std::string>());
  EXPECT_EQ(last.body["items"].size(), 1U);
  EXPECT_FALSE(last.body["metadata"].contains("continue"));
  EXPECT_EQ(Get(kSlices + "?continue=abc").status, 400);

  api_.Compact();
  const auto expired = Get(kSlices + "?limit=2&continue=" + next);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.body["reason"], "Expired");
}

TEST_F(ApiTest, RejectsListsOfLaterVersions) {
  const auto reply = Get(kSlices + "?resourceVersion=99");
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

TEST_F(ApiTest, RemovesSlicesWithTheirNode) {
  const Json node = Create(kNodes, test::Node("node-1"));
  const Json other = Create(kNodes, test::Node("node-2"));
  for (const Json& owner : {node, other}) {
    Json slice = test::Slice("of-" + owner["metadata"]["name"].get<std::string>());
    slice["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                             {"kind", "Node"},
                                             {"name", owner["metadata"]["name"]},
                                             {"uid", owner["metadata"]["uid"]},
                                             {"controller", true}}};
    Create(kSlices, slice);
  }
  EXPECT_EQ(Send("DELETE", kNodes + "/node-1").status, 200);
  EXPECT_THAT(Names(kSlices), ElementsAre("of-node-2"));
}

TEST_F(ApiTest, DeletesACollectionWhoseObjectsOwnEachOther) {
  const Json owner = Create(kSlices, test::Slice("a"));
  Json owned = test::Slice("b");
  owned["metadata"]["ownerReferences"] = {{{"apiVersion", "resource.k8s.io/v1"},
                                           {"kind", "ResourceSlice"},
                                           {"name", "a"},
                                           {"uid", owner["metadata"]["uid"]}}};
  Create(kSlices, owned);
  EXPECT_EQ(Send("DELETE", kSlices).status, 200);
  EXPECT_THAT(Names(kSlices), IsEmpty());
}

TEST_F(ApiTest, UpdatesStatusAndSpecSeparately) {
  Json claim = test::Claim();
  claim["status"]["reservedFor"] = {{{"resource", "pods"}, {"name", "p"}, {"uid", "u"}}};
  claim = Create(kClaims, claim);
  EXPECT_FALSE(claim.contains("status"));

  const Json result{{"request", "s"}, {"driver", "patchbay.dev"}, {"pool", "p"}, {"device", "a"}};
  claim["status"]["allocation"]["devices"]["results"] = Json::array({result});
  claim["metadata"]["labels"]["a"] = "b";
  EXPECT_FALSE(Send("PUT", kClaims + "/claim-1", claim).body.contains("status"));
  claim["metadata"].erase("resourceVersion");
  claim["metadata"]["labels"]["a"] = "c";
  const Json updated = Send("PUT", kClaims + "/claim-1/status", claim).body;
  EXPECT_EQ(updated["status"], claim["status"]);
  EXPECT_EQ(updated["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(Get(kClaims + "/claim-1/status").body, updated);
}

TEST_F(ApiTest, KeepsAnObjectWithFinalizersUntilTheyAreRemoved) {
  Json claim = test::Claim();
  claim["metadata"]["finalizers"] = {"resource.kubernetes.io/delete-protection"};
  Create(kClaims, claim);
  Json marked = Send("DELETE", kClaims + "/claim-1").body;
  EXPECT_EQ(marked["metadata"]["deletionTimestamp"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(Get(kClaims + "/claim-1").body, marked);
  marked["metadata"].erase("finalizers");
  EXPECT_EQ(Send("PUT", kClaims + "/claim-1", marked).status, 200);
  EXPECT_EQ(Get(kClaims + "/claim-1").status, 404);
}

TEST_F(ApiTest, DropsFieldsOfAnOlderRelease) {
  api_.SetProfile(ApiProfile::k1_35);
  Json device = test::SharedDevice("a", "2");
  device["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  const Json stored =
      Create(kSlices, test::Slice("slice-1", Json::array({device})))["spec"]["devices"][0];
  EXPECT_FALSE(stored.contains("taints"));
  EXPECT_FALSE(stored.contains("allowMultipleAllocations"));
  EXPECT_EQ(stored["capacity"]["slots"], Json({{"value", "2"}}));
  EXPECT_FALSE(Create(kClasses, test::DeviceClass())["spec"].contains("extendedResourceName"));
  EXPECT_EQ(Get("/version").body["minor"], "35");
}

TEST_F(ApiTest, DroppedTaintsDoNotLimitTheNumberOfDevices) {
  Json devices = Json::array();
  for (int i = 0; i < 128; ++i) {
    devices.push_back(test::Device("d" + std::to_string(i)));
    devices.back()["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  }
  EXPECT_EQ(Send("POST", kSlices, test::Slice("a", devices)).status, 422);
  api_.SetProfile(ApiProfile::k1_34);
  EXPECT_EQ(Send("POST", kSlices, test::Slice("a", devices)).status, 201);
}

TEST_F(ApiTest, RejectsOtherRequests) {
  const struct {
    const char* method;
    std::string target;
    int status;
  } kCases[] = {
      {"GET", "/", 404},
      {"GET", "/apis/resource.k8s.io/v1beta1/resourceslices", 404},
      {"GET", "/apis/resource.k8s.io/v1/resourceclaims", 200},
      {"GET", "/apis/resource.k8s.io/v1/resourceclaims/claim-1", 404},
      {"GET", kSlices + "/a/status", 404},
      {"GET", kClaims + "/a/status/b", 404},
      {"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceslices", 404},
      {"PATCH", kSlices + "/a", 405},
      {"PUT", kSlices, 405},
      {"POST", kSlices + "/a", 405},
      {"POST", "/apis/resource.k8s.io/v1/resourceclaims", 405},
      {"DELETE", kClaims + "/a/status", 405},
      {"GET", kSlices + "?limit=x", 400},
      {"GET", kSlices + "?resourceVersion=x", 400},
      {"GET", kSlices + "?labelSelector=a", 400},
      {"GET", kSlices + "/%ff", 404},
  };
  for (const auto& [method, target, status] : kCases) {
    EXPECT_EQ(Send(method, target).status, status) << method << ' ' << target;
  }
  EXPECT_EQ(Send("POST", kSlices, test::Slice(), "application/yaml").status, 415);
  Json other = test::Slice();
  other["kind"] = "Pod";
  EXPECT_EQ(Send("POST", kSlices, other).status, 400);
  EXPECT_EQ(Send("POST", kSlices, Json::array()).status, 400);
  EXPECT_EQ(
      Send("POST", kClaims, Json{{"metadata", {{"name", "a"}, {"namespace", "other"}}}}).status,
      400);
}

TEST_F(ApiTest, ListsItsResources) {
  EXPECT_EQ(Get("/api").body["versions"], Json::array({"v1"}));
  EXPECT_EQ(Get("/apis").body["groups"][0]["name"], "resource.k8s.io");
  EXPECT_EQ(Get("/api/v1").body["resources"][0]["name"], "nodes");
  const Json list = Get("/apis/resource.k8s.io/v1").body;
  std::vector<std::string> names;
  for (const Json& resource : list["resources"]) names.push_back(resource["name"]);
  EXPECT_THAT(names, ElementsAre("resourceslices", "resourceclaims", "resourceclaims/status",
                                 "deviceclasses"));
}

}  // namespace
}  // namespace patchbay::api_sim
