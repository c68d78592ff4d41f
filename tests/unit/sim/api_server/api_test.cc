// The fake as an API: what clients send, and what is stored, listed and watched.

#include "sim/api_server/api.h"

#include <gmock/gmock.h>

#include <set>

#include "api_fixture.h"
#include "base/format.h"

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

class ApiTest : public test::ApiFixture {
 protected:
  /// Creates a slice that belongs to a node.
  void CreateOwned(const std::string& name, const Json& node) {
    Json slice = test::Slice(name);
    slice["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                             {"kind", "Node"},
                                             {"name", node["metadata"]["name"]},
                                             {"uid", node["metadata"]["uid"]}}};
    Create(kSlices, slice);
  }
};

TEST_F(ApiTest, StoresWhatIsCreated) {
  const Json created = Create(kSlices, test::Slice());
  EXPECT_EQ(created["spec"], test::Slice()["spec"]);
  const Json& metadata = created["metadata"];
  EXPECT_THAT(metadata["uid"].get<std::string>(),
              MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(metadata["creationTimestamp"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(metadata["generation"], 1);
  EXPECT_EQ(Get(kSlices + "/slice-1").body, created);
  EXPECT_EQ(Create(kClasses, test::DeviceClass())["spec"], test::DeviceClass()["spec"]);
  EXPECT_EQ(Create(kClaims, test::Claim())["spec"], test::Claim()["spec"]);
  EXPECT_THAT(Names("/apis/resource.k8s.io/v1/resourceclaims"), ElementsAre("claim-1"));
  EXPECT_EQ(Send("POST", kSlices, test::Slice()).body["reason"], "AlreadyExists");
}

TEST_F(ApiTest, ReportsErrorsAsStatusObjects) {
  EXPECT_EQ(Get(kSlices + "/other").body, Json::parse(R"({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "resourceslices.resource.k8s.io \"other\" not found", "reason": "NotFound",
    "code": 404})"));
  Json slice = test::Slice();
  slice["spec"]["pool"]["resourceSliceCount"] = 0;
  slice["spec"].erase("driver");
  const auto invalid = Send("POST", kSlices, slice);
  EXPECT_EQ(invalid.status, 422);
  EXPECT_EQ(invalid.body["reason"], "Invalid");
  EXPECT_EQ(invalid.body["message"],
            "ResourceSlice.resource.k8s.io \"slice-1\" is invalid: [spec.driver: Required value, "
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero]");
}

TEST_F(ApiTest, DropsUnknownFieldsAndEmptyValues) {
  Json slice = test::Slice();
  slice["spec"]["devices"][0]["color"] = "red";
  slice["spec"]["devices"][0]["taints"] = Json::array();
  slice["spec"]["allNodes"] = nullptr;
  slice["metadata"]["managedFields"] = Json::array({1});
  slice["spec"]["devices"][0]["capacity"]["slots"]["value"] = 2;
  slice["spec"]["devices"][0]["attributes"]["empty"]["string"] = "";
  Json expected = test::Slice();
  expected["spec"]["devices"][0]["capacity"]["slots"]["value"] = "2";
  expected["spec"]["devices"][0]["attributes"]["empty"]["string"] = "";
  EXPECT_EQ(Create(kSlices, slice)["spec"], expected["spec"]);
}

TEST_F(ApiTest, RejectsWrongTypes) {
  const std::pair<const char*, Json> kCases[] = {
      {"/spec", 1},
      {"/spec/driver", 1},
      {"/spec/devices", Json::object()},
      {"/spec/devices/0/attributes", Json::array()},
      {"/spec/devices/0/attributes/id/int", 1.5},
      {"/spec/devices/0/attributes/id/int", UINT64_MAX},
      {"/spec/devices/0/attributes/id/bool", "true"},
      {"/spec/devices/0/capacity/c/value", "many"},
      {"/spec/devices/0/taints", {{{"timeAdded", "now"}}}},
      {"/kind", "Pod"},
      {"/apiVersion", "v2"},
      {"/metadata/resourceVersion", "1"},
  };
  for (const auto& [pointer, value] : kCases) {
    Json slice = test::Slice();
    slice[Json::json_pointer(pointer)] = value;
    EXPECT_EQ(Send("POST", kSlices, slice).status, 400) << pointer;
  }
  EXPECT_EQ(Send("POST", kSlices, Json::array()).status, 400);
  EXPECT_EQ(Send("POST", kSlices).status, 400);
  Json claim = test::Claim();
  claim["metadata"]["namespace"] = "other";
  EXPECT_EQ(Send("POST", kClaims, claim).status, 400);
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
  EXPECT_THAT(conflict.body["message"].get<std::string>(), HasSubstr("has been modified"));

  slice = test::Slice();
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1", slice).status, 200) << "of any version";
  slice["metadata"]["uid"] = "other";
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1", slice).status, 409);
  EXPECT_EQ(Send("PUT", kSlices + "/other", slice).status, 400);
  EXPECT_EQ(Send("PUT", kSlices + "/other", test::Slice("other")).status, 404);
}

TEST_F(ApiTest, UpdateWithoutChangeKeepsTheVersion) {
  const Json slice = Create(kSlices, test::Slice());
  EXPECT_EQ(Send("PUT", kSlices + "/slice-1", slice).body, slice);
  EXPECT_EQ(std::to_string(api_.store().version()), VersionOf(slice));
}

TEST_F(ApiTest, DeletesUnderPreconditions) {
  const Json slice = Create(kSlices, test::Slice());
  const auto status_of = [&](const Json& preconditions) {
    return Send("DELETE", kSlices + "/slice-1", {{"preconditions", preconditions}}).status;
  };
  EXPECT_EQ(status_of({{"uid", "other"}}), 409);
  EXPECT_EQ(status_of({{"uid", slice["metadata"]["uid"]}, {"resourceVersion", "1"}}), 409);
  EXPECT_EQ(status_of({{"uid", slice["metadata"]["uid"]}, {"resourceVersion", VersionOf(slice)}}),
            200);
  EXPECT_EQ(status_of({}), 404);
}

TEST_F(ApiTest, SelectsSlicesByNodeAndDriver) {
  Create(kSlices, test::Slice("a"));
  Json other = test::Slice("b");
  other["spec"]["driver"] = "other.dev";
  Create(kSlices, other);
  other = test::Slice("c");
  other["spec"]["nodeName"] = "node-2";
  Create(kSlices, other);
  EXPECT_THAT(Names(kSlices), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(kSlices + "?fieldSelector=spec.driver%3Dpatchbay.dev,spec.nodeName=node-1"),
              ElementsAre("a"));
  EXPECT_EQ(Get(kSlices + "?fieldSelector=spec.pool.name=a").body["message"],
            "field label not supported: \"spec.pool.name\"");
  EXPECT_EQ(Send("DELETE", kSlices + "?fieldSelector=spec.nodeName%3Dnode-1").status, 200);
  EXPECT_THAT(Names(kSlices), ElementsAre("c"));
}

TEST_F(ApiTest, ListsPagesOfOneVersionWhileSlicesChange) {
  constexpr int kCount = 501;
  const auto name_of = [](int i) { return Format("slice-{:05}", i); };
  for (int i = 0; i < kCount; ++i) Create(kSlices, test::Slice(name_of(i)));
  std::string version, next;
  int pages = 0, listed = 0;
  do {
    const auto page = Get(kSlices + "?limit=25" + (pages == 0 ? "" : "&continue=" + next));
    ASSERT_EQ(page.status, 200) << page.body;
    const Json& metadata = page.body["metadata"];
    if (pages == 0) version = VersionOf(page.body);
    EXPECT_EQ(VersionOf(page.body), version);
    for (const Json& slice : page.body["items"]) {
      ASSERT_EQ(slice["metadata"]["name"], name_of(listed++));
      ASSERT_EQ(slice["metadata"]["generation"], 1);
    }
    next = metadata.value("continue", "");
    Send("DELETE", kSlices + "/" + name_of(20 * pages + 7));
    Send("PUT", kSlices + "/" + name_of(450 + pages),
         test::Slice(name_of(450 + pages), Json::array({test::Device("x")})));
    Create(kSlices, test::Slice(name_of(kCount + pages)));
    ++pages;
  } while (!next.empty());
  EXPECT_EQ(pages, 21);
  EXPECT_EQ(listed, kCount);

  const std::string first = Get(kSlices + "?limit=1").body["metadata"]["continue"];
  Create(kSlices, test::Slice("later"));
  api_.Compact();
  const auto expired = Get(kSlices + "?limit=1&continue=" + first);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.body["reason"], "Expired");
}

TEST_F(ApiTest, RemovesSlicesWithTheirNode) {
  for (const char* name : {"node-1", "node-2"}) {
    CreateOwned(Format("of-{}", name), Create(kNodes, test::Node(name)));
  }
  Create(kSlices, test::Slice("of-none"));
  EXPECT_EQ(Send("DELETE", kNodes + "/node-1").status, 200);
  EXPECT_THAT(Names(kSlices), ElementsAre("of-node-2", "of-none"));
}

TEST_F(ApiTest, AllocatesAClaim) {
  Create(kClasses, test::DeviceClass());
  Create(kSlices, test::Slice("a"));
  const auto allocate = [&](const std::string& name) {
    const Status status = api_.AllocateClaim("default", name, "node-1");
    return status ? std::nullopt : std::optional(status.error().kind);
  };
  EXPECT_EQ(allocate("claim-1"), ErrorKind::kNotFound);
  Create(kClaims, test::Claim("claim-1"));
  Create(kClaims, test::Claim("claim-2"));
  EXPECT_EQ(allocate("claim-1"), std::nullopt);
  EXPECT_EQ(allocate("claim-1"), std::nullopt) << "it keeps its devices";
  const Json claim = Get(kClaims + "/claim-1").body;
  EXPECT_EQ(claim["status"]["allocation"]["devices"]["results"][0]["device"], "a");
  EXPECT_EQ(allocate("claim-2"), ErrorKind::kPrecondition);
  EXPECT_EQ(Send("DELETE", kClaims + "/claim-1").status, 200);
  EXPECT_EQ(allocate("claim-2"), std::nullopt) << "its device is free again";
}

TEST_F(ApiTest, DropsFieldsOfAnOlderRelease) {
  Json devices = Json::array();
  for (int i = 0; i < 128; ++i) {
    devices.push_back(test::Device("d" + std::to_string(i)));
    devices.back()["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  }
  EXPECT_EQ(Send("POST", kSlices, test::Slice("a", devices)).status, 422);
  api_.SetProfile(ApiProfile::k1_34);
  const auto reply = Send("POST", kSlices, test::Slice("a", devices));
  EXPECT_EQ(reply.status, 201) << "dropped taints do not limit the number of devices";
  EXPECT_EQ(reply.body["spec"]["devices"][0], test::Device("d0"));
}

/// A client learns from it which fields the server keeps.
TEST_F(ApiTest, ADryRunReturnsWhatACreationWouldStore) {
  const std::uint64_t before = api_.store().version();
  Json slice = test::Slice();
  slice["metadata"] = {{"generateName", "node-1-"}};
  slice["spec"]["devices"][0]["taints"] = {{{"key", "a"}, {"effect", "NoExecute"}}};
  const auto reply = Send("POST", kSlices + "?dryRun=All", slice);
  EXPECT_EQ(reply.status, 201);
  const Json& metadata = reply.body["metadata"];
  EXPECT_THAT(metadata["name"].get<std::string>(), MatchesRegex("node-1-[b-z2-9]{5}"));
  EXPECT_TRUE(metadata.contains("uid"));
  EXPECT_FALSE(metadata.contains("resourceVersion")) << "only stored objects have one";
  EXPECT_EQ(reply.body["spec"]["devices"][0]["taints"][0]["timeAdded"], "2026-01-31T12:00:00Z");
  api_.SetProfile(ApiProfile::k1_34);
  EXPECT_FALSE(
      Send("POST", kSlices + "?dryRun=All", slice).body["spec"]["devices"][0].contains("taints"));
  slice["spec"].erase("driver");
  EXPECT_EQ(Send("POST", kSlices + "?dryRun=All", slice).status, 422);
  EXPECT_EQ(api_.store().version(), before);
}

TEST_F(ApiTest, RejectsWhatItDoesNotSupport) {
  Create(kSlices, test::Slice("a"));
  const struct {
    const char* method;
    std::string target;
    int status;
  } kCases[] = {
      {"GET", "/", 404},
      {"GET", "/version", 404},
      {"GET", "/apis/resource.k8s.io/v1beta1/resourceslices", 404},
      {"GET", "/apis/resource.k8s.io/v1/resourceclaims/claim-1", 404},
      {"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceslices", 404},
      {"GET", kClaims + "/a/status", 404},
      {"PATCH", kSlices + "/a", 405},
      {"PUT", kSlices, 405},
      {"PUT", kClaims + "/a", 405},
      {"POST", kSlices + "/a", 405},
      {"POST", "/apis/resource.k8s.io/v1/resourceclaims", 405},
      {"GET", kSlices + "/a?watch=true", 405},
      {"GET", kSlices + "?limit=x", 400},
      {"GET", kSlices + "?resourceVersion=1", 400},
      {"GET", kSlices + "?labelSelector=a", 400},
      {"GET", kSlices + "?continue=abc", 400},
      {"DELETE", kSlices + "/a?dryRun=All", 400},
      {"POST", kSlices + "?dryRun=x", 400},
      {"GET", kSlices + "/%ff", 404},
  };
  for (const auto& [method, target, status] : kCases) {
    EXPECT_EQ(Send(method, target).status, status) << method << ' ' << target;
  }
  EXPECT_EQ(Send("POST", kSlices, test::Slice(), "application/yaml").status, 415);
}

class ApiWatchTest : public test::ApiFixture {
 protected:
  ApiResult<WatchCursor> Open(const std::string& query) {
    return api_.OpenWatch(ParseRequest({.target = kSlices + "?watch=true&" + query}).value());
  }

  /// Returns the unread events as "ADDED a" or "ERROR 410".
  std::vector<std::string> Read(WatchCursor& cursor) {
    std::vector<std::string> events;
    for (const std::string& line : api_.Read(cursor)) {
      EXPECT_EQ(line.find('\n'), line.size() - 1);
      const Json event = Json::parse(line);
      const Json& object = event["object"];
      events.push_back(Format(
          "{} {}", event["type"].get<std::string>(),
          object.contains("code") ? object["code"].dump() : object["metadata"].value("name", "")));
    }
    return events;
  }

  std::string Version() const { return std::to_string(api_.store().version()); }
};

TEST_F(ApiWatchTest, ReportsChangesOfSelectedObjectsAfterAVersion) {
  Create(kSlices, test::Slice("a"));
  auto cursor =
      Open("fieldSelector=spec.driver%3Dpatchbay.dev&resourceVersion=" + Version()).value();
  EXPECT_THAT(Read(cursor), IsEmpty());
  Create(kNodes, test::Node("node-1"));
  Json other = test::Slice("other");
  other["spec"]["driver"] = "other.dev";
  Create(kSlices, other);
  Create(kSlices, test::Slice("b"));
  Send("PUT", kSlices + "/a", test::Slice("a", Json::array({test::Device("x")})));
  Send("DELETE", kSlices + "/a");
  EXPECT_THAT(Read(cursor), ElementsAre("ADDED b", "MODIFIED a", "DELETED a"));
  EXPECT_THAT(Read(cursor), IsEmpty());
  EXPECT_EQ(Json::parse(Api::Bookmark(cursor)),
            Json({{"type", "BOOKMARK"},
                  {"object",
                   {{"kind", "ResourceSlice"},
                    {"apiVersion", "resource.k8s.io/v1"},
                    {"metadata", {{"resourceVersion", Version()}}}}}}));
}

TEST_F(ApiWatchTest, BeginsWithStoredObjectsWithoutAVersion) {
  Create(kSlices, test::Slice("a"));
  auto cursor = Open("").value();
  EXPECT_THAT(Read(cursor), ElementsAre("ADDED a"));
  EXPECT_THAT(Read(cursor), IsEmpty());
}

TEST_F(ApiWatchTest, ReportsVersionsThatAreUnknown) {
  Create(kSlices, test::Slice("a"));
  const std::string old = Version();
  auto behind = Open("resourceVersion=" + old).value();
  Create(kSlices, test::Slice("b"));
  api_.Compact();
  auto late = Open("resourceVersion=" + old).value();
  auto early = Open("resourceVersion=99").value();
  EXPECT_THAT(Read(early), ElementsAre("ERROR 504"));
  for (WatchCursor* cursor : {&behind, &late}) {
    EXPECT_THAT(Read(*cursor), ElementsAre("ERROR 410"));
    EXPECT_TRUE(cursor->has_ended);
    EXPECT_THAT(Read(*cursor), IsEmpty());
  }
  api_.SetExpiredWatch(ExpiredWatch::kHttpStatus);
  EXPECT_EQ(Open("resourceVersion=" + old).error().code, 410);
}

}  // namespace
}  // namespace patchbay::api_sim
