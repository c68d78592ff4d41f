// A ListWatch against a server that follows a script. The clock is virtual.

#include "kube/list_watch.h"

#include <gmock/gmock.h>

#include <string>

#include "unit/kube/client_fixture.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::Chunk;
using test::JsonReply;
using test::kChunkedHeader;
using test::Reply;
using test::ServerRequest;
using test::Then;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string Object(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) +
         "\"}}";
}

Reply ListOf(const std::vector<std::string>& objects, int version, const std::string& next = "") {
  std::string items;
  for (const std::string& object : objects) items += (items.empty() ? "" : ",") + object;
  return JsonReply(200, R"({"metadata":{"resourceVersion":")" + std::to_string(version) +
                            R"(","continue":")" + next + R"("},"items":[)" + items + "]}");
}

std::string EventLine(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

const std::string kGone = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";

class ListWatchTest : public test::ClientFixture {
 protected:
  /// Starts the server. Replies to lists and watches are taken from the front
  /// of their scripts; the last one stays.
  void Start(std::vector<Reply> lists, std::vector<Reply> watches, ListWatchSpec spec = Spec()) {
    lists_ = std::move(lists);
    watches_ = std::move(watches);
    Serve([this](const ServerRequest& request) {
      const bool is_watch = request.target().find("watch=true") != std::string_view::npos;
      auto& script = is_watch ? watches_ : lists_;
      Reply reply = script.front();
      if (script.size() > 1) script.erase(script.begin());
      return reply;
    });
    list_watch_.emplace(*client_, loop_, std::move(spec),
                        ListWatchFunctions{.on_page =
                                               [this](const ListedObjects& listed) {
                                                 if (listed.is_first) pages_ = {};
                                                 for (const auto& object : listed.objects)
                                                   pages_.push_back(object.dump());
                                                 is_cut_ = listed.is_cut;
                                                 if (listed.is_last) got_lists_.push_back(pages_);
                                               },
                                           .on_events =
                                               [this](const std::vector<WatchEvent>& events) {
                                                 got_events_.insert(got_events_.end(),
                                                                    events.begin(), events.end());
                                               }},
                        7);
  }
  static ListWatchSpec Spec() {
    return {.path = "/apis/x/v1/slices", .field_selector = "spec.nodeName=a,spec.driver=b"};
  }

  bool AwaitWatching() {
    return loop_.RunUntil([&] { return list_watch_->state().is_watching; });
  }
  bool AwaitEvents(std::size_t number) {
    return loop_.RunUntil([&] { return got_events_.size() >= number; });
  }
  bool AwaitError() {
    return loop_.RunUntil([&] { return list_watch_->state().retry_at.has_value(); });
  }
  /// Advances the clock to the next attempt and waits until it has reached the
  /// server.
  bool AwaitRetry() {
    const std::size_t before = server_->requests().size();
    loop_.Advance(*list_watch_->state().retry_at - loop_.Now());
    return AwaitRequests(before + 1);
  }
  std::string Target(std::size_t request) const {
    return std::string(server_->requests().at(request).target());
  }
  std::string LastError() const {
    const auto& error = list_watch_->state().last_error;
    return error ? error->message : "no error";
  }

  std::vector<Reply> lists_, watches_;
  std::vector<std::string> pages_;
  std::vector<std::vector<std::string>> got_lists_;
  bool is_cut_ = false;
  std::vector<WatchEvent> got_events_;
  std::optional<ListWatch> list_watch_;
};

TEST_F(ListWatchTest, ListsThenWatchesFromTheVersionOfTheList) {
  Start({ListOf({Object("a", 3), Object("b", 4)}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_, ElementsAre(ElementsAre(Object("a", 3), Object("b", 4))));
  EXPECT_EQ(Target(0),
            "/apis/x/v1/"
            "slices?limit=25&fieldSelector=spec.nodeName%3Da%2Cspec.driver%3Db");
  EXPECT_THAT(Target(1), AllOf(HasSubstr("watch=true"), HasSubstr("allowWatchBookmarks=true"),
                               HasSubstr("resourceVersion=5&"), HasSubstr("timeoutSeconds="),
                               HasSubstr("fieldSelector=spec.nodeName%3Da%2Cspec.driver%3Db")));
  EXPECT_EQ(list_watch_->state().lists, 1u);
  EXPECT_EQ(list_watch_->state().watches, 1u);
}

TEST_F(ListWatchTest, JoinsThePagesOfAList) {
  Start({ListOf({Object("a", 1)}, 5, "t+1="), ListOf({Object("b", 2)}, 6)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_, ElementsAre(ElementsAre(Object("a", 1), Object("b", 2))));
  EXPECT_FALSE(is_cut_);
  EXPECT_THAT(Target(1), HasSubstr("&continue=t%2B1%3D"));
  EXPECT_THAT(Target(2), HasSubstr("resourceVersion=6&"));
}

TEST_F(ListWatchTest, RefusesATokenThatIsNotVisible) {
  Start({ListOf({Object("a", 1)}, 5, "to ken")}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitError());
  EXPECT_THAT(LastError(), HasSubstr("metadata.continue"));
}

TEST_F(ListWatchTest, PassesChangesOnInOrder) {
  Start({ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  const std::string first = EventLine("ADDED", Object("a", 6));
  server_->Write(Chunk(first.substr(0, 20)));
  server_->Write(Chunk(first.substr(20) + EventLine("MODIFIED", Object("a", 7))));
  server_->Write(Chunk(EventLine("DELETED", Object("a", 8))));
  ASSERT_TRUE(AwaitEvents(3));
  EXPECT_THAT(
      got_events_,
      ElementsAre(
          WatchEvent{WatchEventType::kAdded, nlohmann::json::parse(Object("a", 6)), "6"},
          WatchEvent{WatchEventType::kModified, nlohmann::json::parse(Object("a", 7)), "7"},
          WatchEvent{WatchEventType::kDeleted, nlohmann::json::parse(Object("a", 8)), "8"}));
  EXPECT_EQ(list_watch_->state().events, 3u);
}

TEST_F(ListWatchTest, ContinuesAWatchThatEndsFromTheLastBookmark) {
  Start({ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  server_->Write(Chunk(EventLine("ADDED", Object("a", 6)) + EventLine("BOOKMARK", Object("", 9))));
  ASSERT_TRUE(AwaitEvents(1));
  loop_.Advance(minutes(1));
  server_->Write(Chunk(""));
  ASSERT_TRUE(AwaitRequests(3));
  EXPECT_THAT(Target(2), HasSubstr("resourceVersion=9&"));
  EXPECT_EQ(list_watch_->state().lists, 1u);
  EXPECT_EQ(LastError(), "no error");
}

TEST_F(ListWatchTest, AWatchThatEndsAtOnceCausesNoBusyLoop) {
  Start({ListOf({}, 5)}, {{kChunkedHeader + Chunk("")}});
  loop_.Advance(seconds(0));
  // Ten attempts take longer and longer: the limits of their delays are 0.2 s,
  // 0.4 s, … 30 s.
  const auto begun = loop_.Now();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(AwaitError());
    ASSERT_TRUE(AwaitRetry());
  }
  EXPECT_GT(loop_.Now() - begun, minutes(2));
  EXPECT_EQ(list_watch_->state().lists, 1u);
  EXPECT_THAT(LastError(), HasSubstr("ended the watch at once"));
}

TEST_F(ListWatchTest, RepeatsAListSoonAlthoughWatchesHaveFailedOften) {
  Start({ListOf({}, 5), JsonReply(500, ""), ListOf({}, 6)}, {{kChunkedHeader + Chunk("")}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(AwaitError());
    ASSERT_TRUE(AwaitRetry());
  }
  ASSERT_TRUE(AwaitError());
  list_watch_->Relist();
  ASSERT_TRUE(AwaitError());
  EXPECT_LE(*list_watch_->state().retry_at - loop_.Now(), RetryPolicy::kFirst);
  ASSERT_TRUE(AwaitRetry());
  EXPECT_TRUE(loop_.RunUntil([&] { return list_watch_->state().lists == 2; }));
}

TEST_F(ListWatchTest, ListsAgainAfter410InTheStatusAndAsAnEvent) {
  Start({ListOf({Object("a", 1)}, 5), ListOf({Object("b", 1)}, 6), ListOf({}, 7)},
        {JsonReply(410, kGone), {kChunkedHeader}});
  ASSERT_TRUE(AwaitError());
  EXPECT_THAT(LastError(), HasSubstr("too old"));
  ASSERT_TRUE(AwaitRetry());
  ASSERT_TRUE(AwaitWatching());
  EXPECT_EQ(LastError(), "no error");
  server_->Write(Chunk(EventLine("ADDED", Object("c", 8)) + EventLine("ERROR", kGone) +
                       EventLine("ADDED", Object("d", 9))));
  ASSERT_TRUE(AwaitError());
  EXPECT_FALSE(list_watch_->state().is_watching);
  ASSERT_TRUE(AwaitRetry());
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_,
              ElementsAre(ElementsAre(Object("a", 1)), ElementsAre(Object("b", 1)), IsEmpty()));
  EXPECT_THAT(got_events_, ElementsAre(WatchEvent{WatchEventType::kAdded,
                                                  nlohmann::json::parse(Object("c", 8)), "8"}));
  EXPECT_THAT(Target(server_->requests().size() - 1), HasSubstr("resourceVersion=7&"));
}

TEST_F(ListWatchTest, ListsAgainIfAPageIsTooOld) {
  Start({ListOf({Object("a", 1)}, 5, "token"), JsonReply(410, kGone), ListOf({Object("b", 2)}, 6)},
        {{kChunkedHeader}});
  ASSERT_TRUE(AwaitError());
  ASSERT_TRUE(AwaitRetry());
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(Target(2), Not(HasSubstr("continue")));
  EXPECT_THAT(got_lists_, ElementsAre(ElementsAre(Object("b", 2))));
}

TEST_F(ListWatchTest, KeepsTheVersionAfterOtherErrors) {
  Start({ListOf({}, 5)}, {JsonReply(500, ""), {"HTTP/1.1 200", Then::kReset}, {kChunkedHeader}});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(AwaitError());
    ASSERT_TRUE(AwaitRetry());
  }
  ASSERT_TRUE(AwaitWatching());
  EXPECT_EQ(list_watch_->state().lists, 1u);
  server_->EndAll(Then::kReset);
  ASSERT_TRUE(AwaitError());
  ASSERT_TRUE(AwaitRetry());
  ASSERT_TRUE(AwaitWatching());
  EXPECT_EQ(list_watch_->state().lists, 1u);
}

// The server may not know the version and say so in another way, or not permit
// watches.
TEST_F(ListWatchTest, ListsAgainAfterThreeRejectedWatches) {
  for (const unsigned status : {403u, 504u}) {
    const auto refused = JsonReply(status, "");
    Start({ListOf({}, 5), ListOf({}, 6), ListOf({}, 7)}, {refused, refused, refused, refused});
    for (const std::size_t lists : {1u, 1u, 1u, 2u, 3u}) {
      ASSERT_TRUE(AwaitError()) << status;
      EXPECT_EQ(list_watch_->state().lists, lists) << status;
      ASSERT_TRUE(AwaitRetry()) << status;
    }
    list_watch_.reset();
  }
}

TEST_F(ListWatchTest, ListsAgainAfterAnInvalidEvent) {
  for (const std::string& line :
       {std::string("{\n"), EventLine("OTHER", Object("a", 6)), EventLine("ADDED", "{}"),
        EventLine("ERROR", "{}"), std::string(2000, ' ')}) {
    got_lists_.clear();
    ListWatchSpec spec = Spec();
    spec.max_event_bytes = 1000;
    list_watch_.reset();
    Start({ListOf({}, 5)}, {{kChunkedHeader}}, spec);
    ASSERT_TRUE(AwaitWatching());
    server_->Write(Chunk(line));
    ASSERT_TRUE(AwaitError()) << line;
    EXPECT_EQ(list_watch_->state().last_error->kind, ApiErrorKind::kResponse) << line;
    ASSERT_TRUE(AwaitRetry());
    ASSERT_TRUE(AwaitWatching());
    EXPECT_EQ(got_lists_.size(), 2u) << line;
  }
}

TEST_F(ListWatchTest, HonorsRetryAfter) {
  Start({JsonReply(429, "", "Retry-After: 17\r\n"), ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitError());
  EXPECT_EQ(*list_watch_->state().retry_at - loop_.Now(), seconds(17));
  ASSERT_TRUE(AwaitRetry());
  EXPECT_TRUE(AwaitWatching());
}

TEST_F(ListWatchTest, WaitsForAnAbsentServerAndFindsIt) {
  Start({ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  const unsigned short port = server_->port();
  server_.reset();
  const auto begun = loop_.Now();
  std::size_t attempts = 0;
  for (; loop_.Now() - begun < std::chrono::hours(1); ++attempts) {
    ASSERT_TRUE(AwaitError());
    loop_.Advance(*list_watch_->state().retry_at - loop_.Now());
    ASSERT_FALSE(list_watch_->state().retry_at);
  }
  EXPECT_LT(attempts, 600u);  // about one in 15 s
  server_.emplace(
      loop_.io(), authority_.Issue(), [this](const ServerRequest&) { return watches_[0]; }, port);
  while (!list_watch_->state().is_watching) {
    ASSERT_TRUE(loop_.RunUntil([&] {
      return list_watch_->state().is_watching || list_watch_->state().retry_at.has_value();
    }));
    if (const auto retry = list_watch_->state().retry_at) loop_.Advance(*retry - loop_.Now());
  }
  EXPECT_EQ(list_watch_->state().lists, 1u);
}

TEST_F(ListWatchTest, UsesARotatedToken) {
  Serve();
  lists_ = {ListOf({}, 5)};
  watches_ = {{kChunkedHeader}};
  server_->SetHandler([this](const ServerRequest& request) {
    if (request["Authorization"] != "Bearer token-2") return JsonReply(401, "");
    return request.target().find("watch=true") == std::string_view::npos ? lists_[0] : watches_[0];
  });
  list_watch_.emplace(*client_, loop_, Spec(),
                      ListWatchFunctions{[](const auto&) {}, [](const auto&) {}}, 7);
  ASSERT_TRUE(AwaitError());
  EXPECT_THAT(LastError(), StartsWith("HTTP status 401"));
  tree_.File("token", "token-2");
  ASSERT_TRUE(AwaitRetry());
  EXPECT_TRUE(AwaitWatching());
}

TEST_F(ListWatchTest, ListsAgainOnRequest) {
  Start({ListOf({}, 5), ListOf({Object("a", 6)}, 6), JsonReply(500, ""), ListOf({}, 7)},
        {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  list_watch_->Relist();
  EXPECT_FALSE(list_watch_->state().is_watching);
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_, ElementsAre(IsEmpty(), ElementsAre(Object("a", 6))));
  list_watch_->Relist();
  ASSERT_TRUE(AwaitError());
  list_watch_->Relist();  // ends the delay
  EXPECT_TRUE(AwaitWatching());
  EXPECT_EQ(got_lists_.size(), 3u);
}

TEST_F(ListWatchTest, ListsAgainDuringAList) {
  Start({{""}, ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitRequests(1));
  list_watch_->Relist();
  ASSERT_TRUE(AwaitWatching());
  EXPECT_EQ(got_lists_.size(), 1u);
  EXPECT_EQ(server_->requests().size(), 3u);
}

TEST_F(ListWatchTest, AnErrorEventDoesNotShowAToken) {
  Start({ListOf({}, 5)}, {{kChunkedHeader}});
  ASSERT_TRUE(AwaitWatching());
  server_->Write(Chunk(EventLine(
      "ERROR", R"({"kind":"Status","code":500,"message":"Bearer eyJhbGciOiJSUzI1NiIsInR5cCI6"})")));
  ASSERT_TRUE(AwaitError());
  EXPECT_EQ(LastError(), "HTTP status 500: Bearer (removed)");
}

TEST_F(ListWatchTest, RequestsSmallerPagesIfOneIsTooLarge) {
  ListWatchSpec spec = Spec();
  spec.max_page_bytes = 400;
  const Reply large = ListOf(std::vector<std::string>(8, Object("a", 1)), 5, "token");
  Start({ListOf({Object("a", 1)}, 5, "token"), large, large, ListOf({Object("b", 2)}, 6)},
        {{kChunkedHeader}}, spec);
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_, ElementsAre(ElementsAre(Object("a", 1), Object("b", 2))));
  EXPECT_THAT(Target(0), HasSubstr("limit=25&"));
  EXPECT_THAT(Target(2), AllOf(HasSubstr("limit=12&"), HasSubstr("continue=token")));
  EXPECT_THAT(Target(3), AllOf(HasSubstr("limit=6&"), HasSubstr("continue=token")));
}

TEST_F(ListWatchTest, RetriesLaterIfAPageOfOneObjectIsTooLarge) {
  ListWatchSpec spec = Spec();
  spec.max_page_bytes = 400;
  Start({ListOf(std::vector<std::string>(8, Object("a", 1)), 5)}, {{kChunkedHeader}}, spec);
  ASSERT_TRUE(AwaitError());
  EXPECT_THAT(LastError(), HasSubstr("body is longer"));
  EXPECT_THAT(Target(4), HasSubstr("limit=1&"));
  EXPECT_EQ(server_->requests().size(), 5u);
}

/// However many objects others create, the list ends, and changes are received.
TEST_F(ListWatchTest, CutsALongListOff) {
  ListWatchSpec spec = Spec();
  spec.max_objects = 4;
  const Reply page = ListOf({Object("a", 1)}, 5, "token");
  Start({page}, {{kChunkedHeader}}, spec);
  ASSERT_TRUE(AwaitWatching());
  EXPECT_THAT(got_lists_, ElementsAre(ElementsAre(Object("a", 1), Object("a", 1))));
  EXPECT_TRUE(is_cut_);
  EXPECT_THAT(Target(2), HasSubstr("watch=true"));
}

TEST_F(ListWatchTest, FunctionsMayDestroyIt) {
  Serve([](const ServerRequest& request) {
    return request.target().find("watch=true") == std::string_view::npos
               ? ListOf({}, 5)
               : Reply{kChunkedHeader +
                       Chunk(EventLine("ADDED", Object("a", 6)) + EventLine("ERROR", kGone))};
  });
  bool destroyed = false;
  const auto destroy = [&](const auto&) {
    list_watch_.reset();
    destroyed = true;
  };
  list_watch_.emplace(*client_, loop_, Spec(), ListWatchFunctions{destroy, [](const auto&) {}}, 7);
  ASSERT_TRUE(loop_.RunUntil([&] { return destroyed; }));
  destroyed = false;
  list_watch_.emplace(*client_, loop_, Spec(), ListWatchFunctions{[](const auto&) {}, destroy}, 7);
  ASSERT_TRUE(loop_.RunUntil([&] { return destroyed; }));
  const std::size_t requests = server_->requests().size();
  loop_.Advance(minutes(10));
  EXPECT_TRUE(Send());
  EXPECT_EQ(server_->requests().size(), requests + 1);
}

}  // namespace
}  // namespace patchbay
