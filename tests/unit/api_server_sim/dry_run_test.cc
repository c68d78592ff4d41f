#include <gmock/gmock.h>

#include "api_fixture.h"

namespace patchbay::api_sim {
namespace {

using test::ApiReply;
using test::kClaims;
using test::kNodes;
using test::kSlices;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;

/// The query, and the body of a DELETE.
const std::string kDryRun = "?dryRun=All";
const Json kDryOptions = {{"dryRun", {"All"}}};

class DryRunTest : public test::ApiFixture {
 protected:
  /// Expects that the store is as it was at a version: no object, event or version was added.
  void ExpectUnchangedSince(std::uint64_t version) {
    EXPECT_EQ(api_.store().version(), version);
    EXPECT_THAT(api_.store().ChangesAfter(version), IsEmpty());
  }
};

TEST_F(DryRunTest, ReturnsWhatACreationWouldStore) {
  const std::uint64_t before = api_.store().version();
  Json slice = test::Slice();
  slice["metadata"] = {{"generateName", "node-1-"}};
  slice["spec"]["devices"][0]["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  const ApiReply reply = Send("POST", kSlices + kDryRun, slice);
  EXPECT_EQ(reply.status, 201);
  const Json& metadata = reply.body["metadata"];
  EXPECT_THAT(metadata["name"].get<std::string>(), MatchesRegex("node-1-[b-z2-9]{5}"));
  EXPECT_EQ(metadata["creationTimestamp"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(metadata["generation"], 1);
  EXPECT_TRUE(metadata.contains("uid"));
  EXPECT_FALSE(metadata.contains("resourceVersion")) << "only stored objects have one";
  EXPECT_EQ(reply.body["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-01-31T12:00:00Z");
  ExpectUnchangedSince(before);
}

TEST_F(DryRunTest, DropsTheFieldsOfDisabledFeatures) {
  api_.SetProfile(ApiProfile::k1_34);
  Json device = test::SharedDevice("a", "2");
  device["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  const ApiReply reply =
      Send("POST", kSlices + kDryRun, test::Slice("a", Json::array({std::move(device)})));
  EXPECT_EQ(reply.status, 201);
  const Json& returned = reply.body["spec"]["devices"][0];
  EXPECT_FALSE(returned.contains("taints"));
  EXPECT_FALSE(returned.contains("allowMultipleAllocations"));
  EXPECT_EQ(returned["capacity"]["slots"], Json({{"value", "2"}}));
}

TEST_F(DryRunTest, FailsLikeTheCreation) {
  Create(kSlices, test::Slice("a"));
  EXPECT_EQ(Send("POST", kSlices + kDryRun, test::Slice("a")).status, 409);
  Json invalid = test::Slice("b");
  invalid["spec"].erase("driver");
  EXPECT_EQ(Send("POST", kSlices + kDryRun, invalid).status, 422);
}

TEST_F(DryRunTest, ReturnsWhatAnUpdateWouldStore) {
  const Json stored = Create(kSlices, test::Slice());
  const std::uint64_t before = api_.store().version();
  Json changed = stored;
  changed["spec"]["devices"].push_back(test::Device("b"));
  const ApiReply reply = Send("PUT", kSlices + "/slice-1" + kDryRun, changed);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body["spec"], changed["spec"]);
  EXPECT_EQ(reply.body["metadata"]["generation"], 2);
  EXPECT_EQ(VersionOf(reply.body), VersionOf(stored));
  EXPECT_EQ(Get(kSlices + "/slice-1").body, stored);
  ExpectUnchangedSince(before);

  changed["metadata"]["resourceVersion"] = "1";
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1" + kDryRun, changed).status, 409);
  EXPECT_EQ(Send("PUT", kSlices + "/other" + kDryRun, test::Slice("other")).status, 404);
}

TEST_F(DryRunTest, KeepsAMarkedObjectThatAnUpdateWouldRemove) {
  Json claim = test::Claim();
  claim["metadata"]["finalizers"] = {"example.com/protection"};
  Create(kClaims, claim);
  Json marked = Send("DELETE", kClaims + "/claim-1").body;
  marked["metadata"].erase("finalizers");
  const std::uint64_t before = api_.store().version();
  EXPECT_EQ(Send("PUT", kClaims + "/claim-1" + kDryRun, marked).status, 200);
  ExpectUnchangedSince(before);
}

TEST_F(DryRunTest, DeletesNothing) {
  const Json node = Create(kNodes, test::Node("node-1"));
  Json owned = test::Slice();
  owned["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                           {"kind", "Node"},
                                           {"name", "node-1"},
                                           {"uid", node["metadata"]["uid"]}}};
  Create(kSlices, owned);
  const std::uint64_t before = api_.store().version();
  const ApiReply deleted = Send("DELETE", kNodes + "/node-1" + kDryRun);
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body["status"], "Success");
  EXPECT_EQ(deleted.body["details"]["uid"], node["metadata"]["uid"]);
  EXPECT_EQ(Send("DELETE", kSlices + "/slice-1", kDryOptions).status, 200);
  const ApiReply collection = Send("DELETE", kSlices + kDryRun);
  EXPECT_EQ(collection.body["items"].size(), 1U);
  EXPECT_EQ(Send("DELETE", kSlices, kDryOptions).body["items"].size(), 1U);
  EXPECT_EQ(Send("DELETE", kSlices + "/other" + kDryRun).status, 404);
  const Json other_uid = {{"dryRun", {"All"}}, {"preconditions", {{"uid", "other"}}}};
  EXPECT_EQ(Send("DELETE", kSlices + "/slice-1", other_uid).status, 409);
  ExpectUnchangedSince(before);
}

TEST_F(DryRunTest, ReturnsTheMarkThatADeletionWouldSet) {
  Json claim = test::Claim();
  claim["metadata"]["finalizers"] = {"example.com/protection"};
  const Json stored = Create(kClaims, claim);
  const std::uint64_t before = api_.store().version();
  const Json marked = Send("DELETE", kClaims + "/claim-1" + kDryRun).body;
  EXPECT_EQ(marked["metadata"]["deletionTimestamp"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(VersionOf(marked), VersionOf(stored));
  ExpectUnchangedSince(before);
}

/// The real server reads the options of a DELETE from its query only if there is no body.
TEST_F(DryRunTest, TheBodyOfADeletionReplacesItsQuery) {
  Create(kSlices, test::Slice("a"));
  EXPECT_EQ(Send("DELETE", kSlices + "/a" + kDryRun, Json::object()).status, 200);
  EXPECT_THAT(Names(kSlices), IsEmpty());
}

TEST_F(DryRunTest, RejectsOtherValues) {
  Create(kSlices, test::Slice("a"));
  const ApiReply reply = Send("POST", kSlices + "?dryRun=x", test::Slice("b"));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.body, Json::parse(R"({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\"",
    "reason": "Invalid",
    "details": {"group": "meta.k8s.io", "kind": "CreateOptions", "causes": [
      {"reason": "FieldValueNotSupported",
       "message": "Unsupported value: [\"x\"]: supported values: \"All\"", "field": "dryRun"}]},
    "code": 422})"));
  const struct {
    const char* method;
    std::string target;
    Json body;
    int status;
    const char* options;
  } kCases[] = {
      {"POST", kSlices + "?dryRun=", test::Slice("b"), 422, "CreateOptions"},
      {"POST", kSlices + "?dryRun=all", test::Slice("b"), 422, "CreateOptions"},
      {"POST", kSlices + "?dryRun=All&dryRun=x", test::Slice("b"), 422, "CreateOptions"},
      {"PUT", kSlices + "/a?dryRun=true", test::Slice("a"), 422, "UpdateOptions"},
      {"DELETE", kSlices + "/a?dryRun=x", {}, 422, "DeleteOptions"},
      {"DELETE", kSlices + "?dryRun=x", {}, 422, "DeleteOptions"},
      {"DELETE", kSlices + "/a", {{"dryRun", {"x"}}}, 422, "DeleteOptions"},
      {"DELETE", kSlices + "/a", {{"dryRun", {1}}}, 400, ""},
      {"DELETE", kSlices + "/a", {{"dryRun", "All"}}, 400, ""},
      {"DELETE", kSlices + "/a", Json::array(), 400, ""},
  };
  for (const auto& [method, target, body, status, options] : kCases) {
    const ApiReply rejected = Send(method, target, body);
    EXPECT_EQ(rejected.status, status) << method << ' ' << target << ' ' << body;
    EXPECT_EQ(Text(Member(rejected.body, "details"), "kind"), options) << target;
  }
  EXPECT_THAT(Names(kSlices + "?dryRun=x"), ElementsAre("a")) << "no parameter of a read";
}

}  // namespace
}  // namespace patchbay::api_sim
