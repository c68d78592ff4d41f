#include <gmock/gmock.h>

#include "server_fixture.h"

namespace patchbay::api_sim {
namespace {

using test::ApiClient;
using testing::StartsWith;

class ApiServerWatchTest : public test::ApiServerFixture {
 protected:
  const std::string kWatch = kPath + "?watch=true&allowWatchBookmarks=true";
};

TEST_F(ApiServerWatchTest, ReportsChanges) {
  Serve();
  CreateSlice("a");
  ApiClient watching(port()), other(port());
  const auto reply = watching.Watch(kWatch);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header.at("transfer-encoding"), "chunked");
  EXPECT_EQ(watching.ReadEvent(), "ADDED a");
  other.Send("POST", kPath, test::Slice("b"));
  EXPECT_EQ(watching.ReadEvent(), "ADDED b");
  other.Send("PUT", kPath + "/b", test::Slice("b", Json::array({test::Device("x")})));
  other.Send("DELETE", kPath + "/a");
  EXPECT_EQ(watching.ReadEvent(), "MODIFIED b");
  EXPECT_EQ(watching.ReadEvent(), "DELETED a");
}

TEST_F(ApiServerWatchTest, ReportsChangesSinceAList) {
  Serve();
  CreateSlice("a");
  ApiClient client(port());
  const std::string version =
      client.Get(kPath).json()["metadata"]["resourceVersion"].get<std::string>();
  CreateSlice("b");
  client.Watch(kWatch + "&resourceVersion=" + version);
  EXPECT_EQ(client.ReadEvent(), "ADDED b");
}

TEST_F(ApiServerWatchTest, EndsAfterItsTimeoutAndKeepsTheConnection) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch + "&timeoutSeconds=0");
  EXPECT_EQ(client.ReadEvent(), "BOOKMARK 1");
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_EQ(client.Get(kPath).status, 200);
  client.Watch(kPath + "?watch=true&timeoutSeconds=0");
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_EQ(client.Get(kPath).status, 200);
  EXPECT_EQ(server().Watches(), 0U);
}

TEST_F(ApiServerWatchTest, ServesARequestThatCameDuringTheWatch) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch);
  client.SendOnly("GET", kPath);
  CreateSlice("a");
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
  server().EndWatches(WatchEnd::kClose);
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(ApiServerWatchTest, SendsBookmarks) {
  Serve();
  ApiClient client(port()), without(port());
  client.Watch(kWatch);
  without.Watch(kPath + "?watch=true");
  CreateSlice("a");
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
  server().SendBookmarks();
  EXPECT_EQ(client.ReadEvent(), "BOOKMARK 2");
  CreateSlice("b");
  EXPECT_EQ(without.ReadEvent(), "ADDED a");
  EXPECT_EQ(without.ReadEvent(), "ADDED b");
}

TEST_F(ApiServerWatchTest, SendsBookmarksAtIntervals) {
  Serve({.bookmark_interval = std::chrono::milliseconds(1)});
  ApiClient client(port());
  client.Watch(kWatch);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ReadEvent(), "BOOKMARK 1");
}

TEST_F(ApiServerWatchTest, EndsWatches) {
  Serve();
  ApiClient closed(port());
  closed.Watch(kWatch);
  server().EndWatches(WatchEnd::kClose);
  EXPECT_EQ(closed.ReadEvent(), "");
  EXPECT_EQ(closed.Get(kPath).status, 200);
  ApiClient reset(port());
  reset.Watch(kWatch);
  ASSERT_TRUE(AwaitWatches(1));
  server().EndWatches(WatchEnd::kReset);
  EXPECT_EQ(reset.ReadEvent(), "");
  EXPECT_TRUE(reset.was_reset());
}

TEST_F(ApiServerWatchTest, ReportsNothingWhilePaused) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch);
  server().PauseWatches(true);
  CreateSlice("a");
  server().SendBookmarks();
  server().EndWatches(WatchEnd::kClose);
  EXPECT_EQ(client.ReadEvent(), "");

  client.Watch(kWatch + "&resourceVersion=1");
  CreateSlice("b");
  server().PauseWatches(false);
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
  EXPECT_EQ(client.ReadEvent(), "ADDED b");
}

TEST_F(ApiServerWatchTest, ExpiresWatchesThatAreBehind) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch + "&resourceVersion=1");
  server().PauseWatches(true);
  CreateSlice("a");
  server().Compact();
  server().PauseWatches(false);
  EXPECT_EQ(client.ReadEvent(), "ERROR 410");
  EXPECT_EQ(client.ReadEvent(), "");
}

TEST_F(ApiServerWatchTest, ExpiresCompactedVersions) {
  Serve();
  CreateSlice("a");
  server().Compact();
  ApiClient client(port());
  EXPECT_EQ(client.Watch(kWatch + "&resourceVersion=1").status, 200);
  EXPECT_EQ(client.ReadEvent(), "ERROR 410");
  EXPECT_EQ(client.ReadEvent(), "");
  server().Compact(ExpiredWatch::kHttpStatus);
  const auto gone = client.Watch(kWatch + "&resourceVersion=1");
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(gone.json()["reason"], "Expired");
}

TEST_F(ApiServerWatchTest, NoticesThatTheClientLeaves) {
  Serve();
  {
    ApiClient client(port());
    client.Watch(kWatch);
    EXPECT_TRUE(AwaitWatches(1));
  }
  EXPECT_TRUE(AwaitWatches(0));
  EXPECT_EQ(server().Connections(), 0U);
}

TEST_F(ApiServerWatchTest, AClientThatDoesNotReadDelaysNoOther) {
  Serve();
  ApiClient stuck(port()), client(port());
  stuck.Watch(kWatch);
  client.Watch(kWatch);
  Json slice = test::Slice("a");
  slice["metadata"]["annotations"]["large"] = std::string(200'000, 'x');
  // Far more than the buffers of two sockets.
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(server().Call("POST", kPath, slice).status, 201);
    ASSERT_EQ(server().Call("DELETE", kPath + "/a").status, 200);
    ASSERT_THAT(client.ReadLine().value_or(""), StartsWith(R"({"type":"ADDED")"));
    ASSERT_THAT(client.ReadLine().value_or(""), StartsWith(R"({"type":"DELETED")"));
  }
}

}  // namespace
}  // namespace patchbay::api_sim
