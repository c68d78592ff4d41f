#include <gmock/gmock.h>

#include "api_fixture.h"

namespace patchbay::api_sim {
namespace {

using test::kSlices;
using testing::ElementsAre;
using testing::IsEmpty;

class ApiWatchTest : public test::ApiFixture {
 protected:
  ApiResult<WatchCursor> Open(const std::string& query) {
    const auto request = ParseRequest({.target = kSlices + "?watch=true&" + query});
    EXPECT_TRUE(request);
    EXPECT_EQ(request->verb, Verb::kWatch);
    return api_.OpenWatch(*request);
  }

  /// Returns the unread events as "ADDED a".
  std::vector<std::string> Read(WatchCursor& cursor) {
    std::vector<std::string> events;
    for (const std::string& line : api_.Read(cursor).lines) {
      EXPECT_EQ(line.find('\n'), line.size() - 1);
      const Json event = Json::parse(line);
      const Json& metadata = event["object"]["metadata"];
      events.push_back(event["type"].get<std::string>() + " " +
                       (metadata.contains("name") ? metadata["name"].get<std::string>()
                                                  : event["object"]["message"].get<std::string>()));
    }
    return events;
  }

  std::string Version() const { return std::to_string(api_.store().version()); }
};

TEST_F(ApiWatchTest, ReportsChangesAfterAVersion) {
  Create(kSlices, test::Slice("a"));
  auto cursor = Open("resourceVersion=" + Version()).value();
  EXPECT_THAT(Read(cursor), IsEmpty());
  Create(kSlices, test::Slice("b"));
  Send("PUT", kSlices + "/a", test::Slice("a", Json::array({test::Device("x")})));
  EXPECT_THAT(Read(cursor), ElementsAre("ADDED b", "MODIFIED a"));
  Send("DELETE", kSlices + "/a");
  EXPECT_THAT(Read(cursor), ElementsAre("DELETED a"));
  EXPECT_THAT(Read(cursor), IsEmpty());
}

TEST_F(ApiWatchTest, BeginsWithStoredObjectsWithoutAVersion) {
  Create(kSlices, test::Slice("a"));
  for (const char* query : {"", "resourceVersion=0"}) {
    auto cursor = Open(query).value();
    EXPECT_THAT(Read(cursor), ElementsAre("ADDED a"));
    EXPECT_THAT(Read(cursor), IsEmpty());
  }
}

TEST_F(ApiWatchTest, SelectsByFields) {
  auto cursor = Open("fieldSelector=spec.driver=patchbay.dev,metadata.name!=b").value();
  Read(cursor);
  Json other = test::Slice("c");
  other["spec"]["driver"] = "other.dev";
  Create(kSlices, other);
  Create(kSlices, test::Slice("a"));
  Create(kSlices, test::Slice("b"));
  EXPECT_THAT(Read(cursor), ElementsAre("ADDED a"));
}

TEST_F(ApiWatchTest, ReportsCompactedVersionsAsEvent) {
  Create(kSlices, test::Slice("a"));
  const std::string old = Version();
  Create(kSlices, test::Slice("b"));
  auto cursor = Open("resourceVersion=" + old).value();
  api_.Compact();
  const WatchEvents behind = api_.Read(cursor);
  EXPECT_TRUE(behind.has_ended);
  auto late = Open("resourceVersion=" + old).value();
  const WatchEvents events = api_.Read(late);
  EXPECT_TRUE(events.has_ended);
  EXPECT_EQ(events.lines, behind.lines);
  const WatchEvents after = api_.Read(late);
  EXPECT_TRUE(after.has_ended);
  EXPECT_THAT(after.lines, IsEmpty());
  const Json event = Json::parse(events.lines.at(0));
  EXPECT_EQ(event["type"], "ERROR");
  EXPECT_EQ(event["object"]["code"], 410);
  EXPECT_EQ(event["object"]["reason"], "Expired");
  EXPECT_EQ(event["object"]["message"], "too old resource version: 2 (3)");
}

TEST_F(ApiWatchTest, ReportsCompactedVersionsAsStatus) {
  Create(kSlices, test::Slice("a"));
  api_.Compact();
  api_.SetExpiredWatch(ExpiredWatch::kHttpStatus);
  const auto opened = Open("resourceVersion=1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, 410);
}

TEST_F(ApiWatchTest, BookmarksHaveTheVersionOnly) {
  Create(kSlices, test::Slice("a"));
  auto cursor = Open("").value();
  Read(cursor);
  EXPECT_EQ(Json::parse(Api::Bookmark(cursor)), Json::parse(R"({"type": "BOOKMARK", "object": {
      "kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1",
      "metadata": {"resourceVersion": "2"}}})"));
}

}  // namespace
}  // namespace patchbay::api_sim
