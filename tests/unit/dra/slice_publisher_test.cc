// The publisher against the built-in API server. The clock is virtual, sockets are real.

#include "dra/slice_publisher.h"

#include <gmock/gmock.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include "base/format.h"
#include "support/sanitizer.h"
#include "unit/dra/slice_server.h"
#include "unit/kube/client_fixture.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JsonReply;
using test::Reply;
using test::ServerRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kSerialPool = "node-1/example.com/serial";

WantedPool PoolOf(const std::vector<std::string>& devices, const std::string& name = kSerialPool) {
  WantedPool pool{.name = name, .devices = {}, .problems = {}, .not_served = {}};
  for (const std::string& device : devices) pool.devices.push_back({.name = device});
  return pool;
}

WantedPool PoolOfSize(int size) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) names.push_back(Format("d{:05}", i));
  return PoolOf(names);
}

class SlicePublisherTest : public test::ClientFixture {
 protected:
  SlicePublisherTest() {
    Serve([this](const ServerRequest& request) {
      return api_.Handle(request, server_->MoreOnThisConnection());
    });
    Start();
  }

  /// Starts a publisher, after which another one has ended.
  void Start() {
    publisher_.reset();
    pools_.clear();
    Connect(Config());
    publisher_.emplace(
        SlicePublisher::Dependencies{*client_, loop_, log_},
        SlicePublisher::Options{.driver = "patchbay.dev", .node_name = "node-1", .seed = 3},
        SlicePublisher::Functions{.on_features = [this] { ++features_changed_; },
                                  .wanted = [this](const auto& name) -> std::optional<WantedPool> {
                                    ++wanted_[name];
                                    const auto found = pools_.find(name);
                                    if (found == pools_.end()) return std::nullopt;
                                    return found->second;
                                  }});
  }
  void Set(WantedPool pool) {
    const std::string name = pool.name;
    pools_[name] = std::move(pool);
    publisher_->Changed(name);
  }
  void Publish(WantedPool pool) {
    publisher_->SetNames({kSerialPool});
    Set(std::move(pool));
  }
  /// Waits until the API server has the pool, and the publisher knows it.
  bool AwaitCurrent(const std::string& pool = kSerialPool) {
    return loop_.RunUntil([&] {
      return publisher_->StateOf(pool).is_current && publisher_->watch_state().is_watching;
    });
  }
  /// Lets time pass until the API server has these devices, for at most some minutes.
  bool AwaitDevices(const std::vector<std::string>& names) {
    for (int i = 0; i < 3000 && api_.Devices() != names; ++i) Pass(milliseconds(100));
    return api_.Devices() == names;
  }
  /// Returns the writes to slices: "POST", "PUT", "DELETE". A dry run is not a write.
  std::vector<std::string> Writes() const {
    std::vector<std::string> writes;
    for (const ServerRequest& request : server_->requests()) {
      const bool is_dry = request.target().find("dryRun") != std::string_view::npos;
      if (request.method() == boost::beast::http::verb::get || is_dry) continue;
      writes.emplace_back(request.method_string());
    }
    return writes;
  }
  std::size_t Count(std::string_view part_of_target) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(server_->requests(), [&](const ServerRequest& request) {
          return request.target().find(part_of_target) != std::string_view::npos;
        }));
  }
  /// Returns the devices that the scheduler can allocate, if there is one pool: those of the
  /// highest generation, and none while that is incomplete.
  std::vector<std::string> Allocatable() {
    std::int64_t newest = 0, missing = 0;
    std::vector<std::string> names;
    for (const auto& [name, slice] : api_.slices()) {
      const auto& spec = slice["spec"];
      const auto generation = spec["pool"]["generation"].get<std::int64_t>();
      if (generation < newest) continue;
      if (std::exchange(newest, generation) < generation) {
        names.clear();
        missing = spec["pool"]["resourceSliceCount"].get<std::int64_t>();
      }
      --missing;
      for (const auto& device : spec["devices"]) names.push_back(device["name"]);
    }
    return missing == 0 ? names : std::vector<std::string>{"incomplete"};
  }
  /// Cuts off all lists from now on, before they have a slice of the node. Calls `before`.
  void CutLists(std::function<void()> before = [] {}) {
    std::string items;
    for (int i = 0; i < 10'000; ++i) {
      items += Format(R"({}{{"metadata":{{"name":"a{}","uid":"u","resourceVersion":"1"}},)",
                      i == 0 ? "" : ",", i);
      items += R"("spec":{"driver":"other.dev"}})";
    }
    api_.fault = [this, before, items](const ServerRequest& r) -> std::optional<Reply> {
      const bool is_list = r.method() == boost::beast::http::verb::get &&
                           r.target().starts_with(test::SliceServer::kSlices) &&
                           r.target().find("watch=true") == std::string_view::npos;
      if (!is_list) return std::nullopt;
      before();
      return JsonReply(200, Format(R"({{"metadata":{{"resourceVersion":{},"continue":"more"}},)"
                                   R"("items":[{}]}})",
                                   api_.List()["metadata"]["resourceVersion"].dump(), items));
    };
  }
  std::string OnlySlice() { return api_.slices().begin()->first; }
  /// Returns the only slice with more devices than Patchbay writes, which it does not read.
  test::SliceServer::Json TooLarge() {
    auto slice = api_.slices().begin()->second;
    for (std::size_t i = 0; i < kMaxDevicesPerSlice; ++i) {
      slice["spec"]["devices"].push_back({{"name", Format("foreign-{}", i)}});
    }
    return slice;
  }
  /// Lets everything happen that is due within `time`. The clock stands still during requests.
  void Pass(Loop::Duration time) {
    for (const Loop::Time end = loop_.Now() + time; loop_.Now() < end;) {
      loop_.Advance(std::min<Loop::Duration>(milliseconds(100), end - loop_.Now()));
      Settle();
    }
  }
  /// Runs until nothing is pending but the watch, and its events have arrived.
  void Settle() {
    do {
      while (loop_.RunPosted() || loop_.io().poll() > 0) {
      }
    } while (publisher_ && client_->pending() > (publisher_->watch_state().is_watching ? 1U : 0U) &&
             loop_.io().run_one_for(seconds(60)) > 0);
    if (!publisher_ || !publisher_->watch_state().is_watching) return;
    // On a busy machine, the kernel delivers them a moment after they were sent. Those of a watch
    // that broke never arrive.
    const auto missing = [&] {
      return api_.events_sent() - std::min(api_.events_sent(), publisher_->watch_state().events);
    };
    if (missing() == lost_events_) return;
    if (loop_.io().run_one_for(milliseconds(50)) > 0) return Settle();
    lost_events_ = missing();
  }
  std::size_t Logged(std::string_view part) const {
    const std::string text = log_text_.str();
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  std::uint64_t lost_events_ = 0;
  test::SliceServer api_;
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, log_text_};
  int features_changed_ = 0;
  std::map<std::string, WantedPool> pools_;  ///< as set last
  std::map<std::string, int> wanted_;        ///< how often each pool was asked for
  std::optional<SlicePublisher> publisher_;
};

TEST_F(SlicePublisherTest, WritesNothingBeforeThePoolsAreKnown) {
  ASSERT_TRUE(loop_.RunUntil([&] { return publisher_->watch_state().is_watching; }));
  Pass(seconds(10));
  EXPECT_THAT(Writes(), IsEmpty());
  EXPECT_EQ(Count("dryRun"), 0U);
}

TEST_F(SlicePublisherTest, PublishesAPool) {
  Publish(PoolOf({"a", "b"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("POST"));
  EXPECT_THAT(api_.Devices(), ElementsAre("a", "b"));
  const auto slice = api_.slices().begin()->second;
  const auto node = nlohmann::json::parse(api_.Call("GET", "/api/v1/nodes/node-1").body);
  EXPECT_EQ(slice["metadata"]["ownerReferences"][0]["uid"], node["metadata"]["uid"]);
  EXPECT_EQ(slice["spec"]["nodeName"], "node-1");
  EXPECT_THAT(slice["metadata"]["name"].get<std::string>(),
              testing::StartsWith("00000-patchbay.dev-node-1-"));
  const auto state = publisher_->StateOf(kSerialPool);
  EXPECT_EQ(state.slices, 1U);
  EXPECT_EQ(state.generation, 1);
  EXPECT_EQ(state.writes, 1U);
}

TEST_F(SlicePublisherTest, PublishesAnEmptyPool) {
  Publish(PoolOf({}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Writes(), ElementsAre("POST"));
  EXPECT_THAT(api_.Devices(), IsEmpty());
}

TEST_F(SlicePublisherTest, WritesNothingAfterARestartWithoutChanges) {
  Publish(PoolOfSize(200));
  ASSERT_TRUE(AwaitCurrent());
  const std::size_t writes = Writes().size();
  Start();
  Publish(PoolOfSize(200));
  ASSERT_TRUE(AwaitCurrent());
  Pass(seconds(60));
  EXPECT_EQ(Writes().size(), writes);
}

TEST_F(SlicePublisherTest, OneChangedDeviceIsOnePut) {
  Publish(PoolOfSize(130));
  ASSERT_TRUE(AwaitCurrent());
  const std::size_t before = Writes().size();
  WantedPool pool = PoolOfSize(130);
  pool.devices[70].attributes["port"] = std::string("3");
  Set(pool);
  Pass(seconds(5));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(Writes().size(), before + 1);
  EXPECT_EQ(Writes().back(), "PUT");
}

TEST_F(SlicePublisherTest, OwnWritesCauseNoOtherWrites) {
  Publish(PoolOfSize(1000));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(api_.slices(), SizeIs(16));
  Pass(seconds(60));
  EXPECT_EQ(Writes().size(), 16U);
  EXPECT_EQ(Count("/api/v1/nodes/"), 1U) << "before the creations";
}

TEST_F(SlicePublisherTest, WritesAPoolAtMostOnceASecond) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  for (int i = 0; i < 50; ++i) {
    Set(PoolOf({"a", i % 2 == 0 ? "b" : "c"}));
    Pass(milliseconds(100));
  }
  EXPECT_LE(Writes().size(), 7U);
  Pass(seconds(2));
  EXPECT_THAT(api_.Devices(), ElementsAre("a", "c"));
}

TEST_F(SlicePublisherTest, DeletesTheSlicesOfARemovedResource) {
  const std::string other = "node-1/example.com/other";
  publisher_->SetNames({kSerialPool, other});
  Set(PoolOf({"a"}));
  Set(PoolOf({"x"}, other));
  ASSERT_TRUE(AwaitCurrent(kSerialPool) && AwaitCurrent(other));
  publisher_->SetNames({kSerialPool});
  ASSERT_TRUE(AwaitDevices({"a"}));
  EXPECT_THAT(api_.slices(), SizeIs(1));
}

TEST_F(SlicePublisherTest, ForgetsTheErrorOfADeletionThatSucceedsLater) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  bool must_fail = true;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    const bool is_deletion = request.method() == boost::beast::http::verb::delete_;
    if (!is_deletion || !std::exchange(must_fail, false)) return std::nullopt;
    return JsonReply(500, R"({"kind":"Status","code":500,"message":"down"})");
  };
  publisher_->SetNames({});
  EXPECT_TRUE(AwaitDevices({}));
  EXPECT_FALSE(must_fail);
  EXPECT_EQ(publisher_->last_error(), "");
}

/// Another instance may have changed it meanwhile.
TEST_F(SlicePublisherTest, DeletesASliceOnlyAsItWasRead) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const auto slices = api_.slices();
  ASSERT_THAT(slices, SizeIs(1));
  const nlohmann::json& metadata = slices.begin()->second["metadata"];
  publisher_->SetNames({});
  ASSERT_TRUE(AwaitDevices({}));
  const auto requests = server_->requests();
  const auto deletion = std::ranges::find_if(requests, [](const ServerRequest& request) {
    return request.method() == boost::beast::http::verb::delete_;
  });
  ASSERT_NE(deletion, requests.end());
  EXPECT_EQ(
      nlohmann::json::parse(deletion->body())["preconditions"],
      nlohmann::json({{"uid", metadata["uid"]}, {"resourceVersion", metadata["resourceVersion"]}}));
}

TEST_F(SlicePublisherTest, ADeletionThatFailsDoesNotHoldUpPools) {
  const std::string other = "node-1/example.com/other";
  publisher_->SetNames({kSerialPool, other});
  Set(PoolOf({"a"}));
  Set(PoolOf({"x"}, other));
  ASSERT_TRUE(AwaitCurrent(kSerialPool) && AwaitCurrent(other));
  api_.fault = [](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() != boost::beast::http::verb::delete_) return std::nullopt;
    return JsonReply(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})");
  };
  publisher_->SetNames({kSerialPool});
  Pass(seconds(2));
  EXPECT_THAT(publisher_->last_error(), HasSubstr("403"));
  Set(PoolOf({"b"}));
  Pass(seconds(2));
  EXPECT_THAT(api_.Devices(), testing::UnorderedElementsAre("b", "x"));
  api_.fault = nullptr;
  EXPECT_TRUE(AwaitDevices({"b"}));
  EXPECT_EQ(publisher_->last_error(), "");
}

TEST_F(SlicePublisherTest, KeepsTheSlicesOfAResourceThatWasNotScannedYet) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  Start();
  publisher_->SetNames({kSerialPool});
  Pass(seconds(60));
  EXPECT_THAT(Writes(), ElementsAre("POST"));
}

/// A node can have many resources whose first scan hangs.
TEST_F(SlicePublisherTest, AsksForAPoolThatIsNotKnownOnlyAfterAChange) {
  const std::string hangs = "node-1/example.com/hangs";
  publisher_->SetNames({kSerialPool, hangs});
  Set(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const int before = wanted_[hangs];
  for (int i = 0; i < 5; ++i) {
    Set(PoolOf({Format("a{}", i)}));
    Pass(seconds(2));
  }
  EXPECT_EQ(wanted_[hangs], before);
  Set(PoolOf({"b"}, hangs));
  EXPECT_TRUE(AwaitCurrent(hangs));
}

TEST_F(SlicePublisherTest, AResourceThatIsNotServedHasNoSlices) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  WantedPool pool = PoolOf({});
  pool.not_served = "why";
  Set(pool);
  Pass(seconds(2));
  EXPECT_THAT(api_.slices(), IsEmpty());
}

TEST_F(SlicePublisherTest, LeavesItsSlicesAtTheEnd) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  publisher_.reset();
  Pass(seconds(5));
  EXPECT_THAT(Writes(), ElementsAre("POST"));
}

TEST_F(SlicePublisherTest, PutsForeignChangesRight) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  api_.Edit(OnlySlice(), [](auto& slice) { slice["spec"]["devices"][0]["name"] = "x"; });
  EXPECT_TRUE(AwaitDevices({"a"}));
  api_.Delete(OnlySlice());
  EXPECT_TRUE(AwaitDevices({"a"}));
}

TEST_F(SlicePublisherTest, PublishesAgainWithinASecondAfterTheKubeletDeletedAll) {
  Publish(PoolOfSize(100));
  ASSERT_TRUE(AwaitCurrent());
  Pass(seconds(5));
  api_.DeleteAll();
  publisher_->OnKubeletRegistered();
  Pass(seconds(1));
  EXPECT_THAT(api_.Devices(), SizeIs(100));
}

// As of a kubelet that crashes again and again. Only clients that disagree wait for each other.
TEST_F(SlicePublisherTest, PublishesAgainWithinASecondAfterEachRestartOfTheKubelet) {
  Publish(PoolOfSize(100));
  ASSERT_TRUE(AwaitCurrent());
  for (int i = 0; i < 8; ++i) {
    Pass(seconds(1));
    api_.DeleteAll();
    Settle();
    publisher_->OnKubeletRegistered();
    Pass(seconds(1));
    EXPECT_THAT(api_.Devices(), SizeIs(100)) << "restart " << i;
  }
}

TEST_F(SlicePublisherTest, NoticesADeletionDuringItsOwnRequests) {
  Publish(PoolOfSize(100));
  ASSERT_TRUE(AwaitCurrent());
  Pass(seconds(5));
  const std::vector<std::string> all = api_.Devices();
  bool must_delete = true;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    const bool is_node = request.target().find("/nodes/") != std::string_view::npos;
    if (is_node && std::exchange(must_delete, false)) api_.Delete(OnlySlice());
    return std::nullopt;
  };
  api_.Delete(OnlySlice());
  EXPECT_TRUE(AwaitDevices(all));
  EXPECT_FALSE(must_delete);
}

TEST_F(SlicePublisherTest, PublishesAgainAfterTheNodeCouldNotBeRead) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  Pass(seconds(5));
  bool must_fail = true;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    const bool is_node = request.target().find("/nodes/") != std::string_view::npos;
    if (!is_node || !std::exchange(must_fail, false)) return std::nullopt;
    return test::JsonReply(500, R"({"kind":"Status","code":500,"message":"down"})");
  };
  api_.DeleteAll();
  EXPECT_TRUE(AwaitDevices({"a"}));
  EXPECT_FALSE(must_fail);
  EXPECT_EQ(publisher_->last_error(), "");
}

TEST_F(SlicePublisherTest, KeepsPoolsOfAnotherConfigurationForATime) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  auto other = api_.slices().begin()->second;
  other["spec"]["pool"]["name"] = "node-1/example.com/other";
  other["spec"]["devices"][0]["name"] = "b";
  api_.Add("other", other);
  Pass(SlicePublisher::kUnknownPoolLimit - seconds(2));
  EXPECT_THAT(api_.Devices(), testing::UnorderedElementsAre("a", "b"));
  Pass(seconds(4));
  EXPECT_THAT(api_.Devices(), ElementsAre("a"));
}

TEST_F(SlicePublisherTest, OverwritesAnotherClientMoreAndMoreSlowly) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const std::size_t before = Writes().size();
  for (int i = 0; i < 120; ++i) {
    if (api_.Devices() == std::vector<std::string>{"a"}) {
      api_.Edit(OnlySlice(), [](auto& slice) { slice["spec"]["devices"][0]["name"] = "x"; });
    }
    Set(PoolOf({"a"}));  // the same content is no change
    Pass(seconds(1));
  }
  EXPECT_LE(Writes().size() - before, 9U);
  Pass(seconds(30));
  EXPECT_THAT(api_.Devices(), ElementsAre("a"));
}

/// Otherwise changes of the daemon would be a way around the pause, or never be published.
TEST_F(SlicePublisherTest, AChangeInADisputeIsPublishedWithTheNextCorrection) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const auto edit = [&](const std::string& device) {
    api_.Edit(OnlySlice(), [&](auto& slice) { slice["spec"]["devices"][0]["name"] = device; });
  };
  for (int i = 0; i < 8; ++i) {
    edit("x");
    ASSERT_TRUE(AwaitDevices({"a"}));
  }
  const std::size_t before = Writes().size();
  for (auto waited = seconds(1); waited < SlicePublisher::kMaxCorrection; ++waited) {
    edit(Format("x{}", waited.count()));
    Set(PoolOf({Format("b{}", waited.count())}));
    Pass(seconds(1));
    ASSERT_THAT(Writes(), SizeIs(before)) << "after " << waited.count() << " s";
  }
  Pass(seconds(1));
  EXPECT_THAT(api_.Devices(), ElementsAre("b29"));
  EXPECT_THAT(Writes(), SizeIs(before + 1));
}

/// In a rolling update, the other process may have a configuration without the resource.
TEST_F(SlicePublisherTest, ReplacesDeletedSlicesMoreAndMoreSlowlyAfterATime) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const std::size_t before = Writes().size();
  for (int i = 0; i < 120; ++i) {
    api_.DeleteAll();
    Pass(seconds(1));
  }
  EXPECT_LE(Writes().size() - before, 30U);
  Pass(seconds(30));
  EXPECT_THAT(api_.Devices(), ElementsAre("a"));
}

TEST_F(SlicePublisherTest, CorrectionsDoNotSlowDownOwnChanges) {
  const std::string other = "node-1/example.com/other";
  publisher_->SetNames({kSerialPool, other});
  Set(PoolOf({"a"}));
  Set(PoolOf({"x"}, other));
  ASSERT_TRUE(AwaitCurrent(kSerialPool) && AwaitCurrent(other));
  const auto slice_of = [&](const std::string& pool) {
    for (const auto& [name, slice] : api_.slices()) {
      if (slice["spec"]["pool"]["name"] == pool) return name;
    }
    return std::string();
  };
  for (int i = 0; i < 60; ++i) {
    if (api_.Devices().front() != "foreign" && api_.Devices().back() != "foreign") {
      api_.Edit(slice_of(kSerialPool),
                [](auto& slice) { slice["spec"]["devices"][0]["name"] = "foreign"; });
    }
    Pass(seconds(1));
    // The other client does not change this pool.
    Set(PoolOf({Format("x{}", i)}, other));
    Pass(milliseconds(1100));
    EXPECT_THAT(api_.Devices(), testing::Contains(Format("x{}", i)));
  }
  Pass(seconds(40));
  Set(PoolOf({"b"}));
  Pass(milliseconds(1100));
  EXPECT_THAT(api_.Devices(), testing::UnorderedElementsAre("b", "x59"));
  Set(PoolOf({"c"}));
  Pass(milliseconds(1100));
  EXPECT_THAT(api_.Devices(), testing::UnorderedElementsAre("c", "x59")) << log_text_.str();
}

TEST_F(SlicePublisherTest, DecidesAgainAfterAConflict) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  bool conflict = true;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() != boost::beast::http::verb::put) return std::nullopt;
    if (!std::exchange(conflict, false)) return std::nullopt;
    return JsonReply(409, R"({"kind":"Status","code":409,"reason":"Conflict","message":"other"})");
  };
  Set(PoolOf({"b"}));
  EXPECT_TRUE(AwaitDevices({"b"}));
  EXPECT_FALSE(conflict);
}

TEST_F(SlicePublisherTest, RetriesAfterErrorsOfTheServer) {
  int failures = 0;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() != boost::beast::http::verb::post || failures == 8) return std::nullopt;
    switch (++failures % 4) {
      case 0: return JsonReply(500, "{}");
      case 1: return JsonReply(429, "{}", "Retry-After: 2\r\n");
      case 2: return Reply{"", test::Then::kReset};
      default: return Reply{"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{\"a\":1}  "};
    }
  };
  Publish(PoolOf({"a"}));
  EXPECT_TRUE(AwaitDevices({"a"}));
  EXPECT_EQ(failures, 8);
}

TEST_F(SlicePublisherTest, ARejectedPoolDoesNotHoldUpOthers) {
  api_.fault = [](const ServerRequest& request) -> std::optional<Reply> {
    if (request.body().find("example.com/bad") == std::string::npos) return std::nullopt;
    return JsonReply(422,
                     R"({"kind":"Status","code":422,"reason":"Invalid","message":"bad name"})");
  };
  const std::string bad = "node-1/example.com/bad";
  publisher_->SetNames({bad, kSerialPool});
  Set(PoolOf({"x"}, bad));
  Set(PoolOf({"a"}));
  ASSERT_TRUE(AwaitDevices({"a"}));
  Pass(seconds(120));
  EXPECT_THAT(publisher_->StateOf(bad).last_error, HasSubstr("bad name"));
  EXPECT_GE(publisher_->StateOf(bad).failures, 3U);
  EXPECT_LE(publisher_->StateOf(bad).failures, 12U) << "at most every 15 seconds";
  EXPECT_EQ(Logged("cannot publish a resource slice"), 1U);
}

TEST_F(SlicePublisherTest, ReportsDroppedFieldsOnce) {
  api_.drops_taints = true;
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(publisher_->features(), (ServerFeatures{.taints = false, .shared_devices = true}));
  EXPECT_EQ(features_changed_, 1);
  WantedPool pool = PoolOf({"a"});
  pool.devices[0].taints = {{.key = std::string(kUnhealthyTaint)}};
  Set(pool);
  Pass(seconds(60));
  EXPECT_EQ(Logged("the API server drops"), 1U);
  EXPECT_LE(Writes().size(), 2U) << "no loop";
}

TEST_F(SlicePublisherTest, NoticesAFeatureThatWasTurnedOffOrOn) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(publisher_->features(), ServerFeatures{});
  api_.drops_sharing = true;
  WantedPool pool = PoolOf({"a"});
  pool.devices[0].allow_multiple_allocations = true;
  Set(pool);
  Pass(seconds(5));
  EXPECT_EQ(publisher_->features(), (ServerFeatures{.taints = true, .shared_devices = false}));
  api_.drops_sharing = false;
  Pass(SlicePublisher::kProbeInterval + seconds(1));
  EXPECT_EQ(publisher_->features(), ServerFeatures{});
}

TEST_F(SlicePublisherTest, WaitsForTheNodeObject) {
  bool is_missing = true;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (!is_missing || !request.target().starts_with("/api/v1/nodes/")) return std::nullopt;
    return JsonReply(404,
                     R"({"kind":"Status","code":404,"reason":"NotFound","message":"no node"})");
  };
  Publish(PoolOf({"a"}));
  Pass(seconds(40));
  EXPECT_THAT(Writes(), IsEmpty());
  EXPECT_EQ(Logged("no node"), 1U);
  is_missing = false;
  EXPECT_TRUE(AwaitDevices({"a"}));
}

TEST_F(SlicePublisherTest, DeletesInvalidSlicesOfOthers) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  api_.Add("broken", TooLarge());
  Set(PoolOf({"b"}));
  Pass(seconds(5));
  EXPECT_EQ(api_.slices().begin()->second["spec"]["devices"][0]["name"], "b");
  EXPECT_THAT(api_.slices(), SizeIs(1));
  EXPECT_EQ(Logged("that Patchbay did not write"), 1U);
}

TEST_F(SlicePublisherTest, SlicesOfOthersThatComeBackAtOnceDoNotHoldUpAChange) {
  const std::string removed = "node-1/example.com/removed";
  publisher_->SetNames({kSerialPool, removed});
  Set(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  publisher_->SetNames({kSerialPool});
  auto foreign = api_.slices().begin()->second;
  foreign["spec"]["pool"]["name"] = removed;
  int deletions = 0;
  int deletions_before = -1;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() == boost::beast::http::verb::put) deletions_before = deletions;
    if (request.method() == boost::beast::http::verb::delete_ && ++deletions < 1000) {
      api_.Add(Format("foreign-{}", deletions), foreign);
    }
    return std::nullopt;
  };
  api_.Add("foreign-0", foreign);
  Set(PoolOf({"b"}));
  Pass(seconds(5));
  EXPECT_GT(deletions, 2);
  EXPECT_GE(deletions_before, 0) << "not written";
  EXPECT_LT(deletions_before, 10);
}

TEST_F(SlicePublisherTest, APoolOfOthersThatComesBackDuringItsDeletionIsDeletedAgain) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const auto own = *api_.slices().begin();
  auto foreign = own.second;
  foreign["spec"]["pool"]["name"] = "node-1/example.com/other";
  for (int i = 0; i < 3; ++i) api_.Add(Format("foreign-{}", i), foreign);
  int deletions = 0;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() != boost::beast::http::verb::delete_) return std::nullopt;
    ++deletions;
    if (deletions == 1) api_.Delete("foreign-2");
    if (deletions == 2) api_.Add("foreign-0", foreign);
    if (deletions != 3) return std::nullopt;
    // The response is older than the slice.
    api_.Add("foreign-2", foreign);
    return JsonReply(404, R"({"kind":"Status","code":404,"reason":"NotFound"})");
  };
  Pass(SlicePublisher::kUnknownPoolLimit + seconds(5));
  EXPECT_EQ(deletions, 5);
  EXPECT_THAT(api_.slices(), ElementsAre(own)) << "only our slice is left, unchanged";
  EXPECT_TRUE(publisher_->StateOf(kSerialPool).is_current);
}

TEST_F(SlicePublisherTest, ManySlicesOfOthersInAPoolDoNotHoldUpAChange) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  const auto foreign = TooLarge();
  for (int i = 0; i < 500; ++i) api_.Add(Format("foreign-{}", i), foreign);
  Set(PoolOf({"b"}));
  Pass(seconds(60));
  const std::vector<std::string> writes = Writes();
  const auto put = std::ranges::find(writes, "PUT");
  ASSERT_NE(put, writes.end());
  EXPECT_LE(put - writes.begin(), 201);
  EXPECT_EQ(std::ranges::count(writes, "DELETE"), 500);
  EXPECT_THAT(api_.Devices(), ElementsAre("b"));
}

/// The events of the other client arrive after the conflict, or never.
TEST_F(SlicePublisherTest, ConflictsCountAsCorrections) {
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  int conflicts = 0;
  api_.fault = [&](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() != boost::beast::http::verb::put) return std::nullopt;
    if (++conflicts % 2 == 0) return std::nullopt;
    return JsonReply(409, R"({"kind":"Status","code":409,"reason":"Conflict","message":"other"})");
  };
  for (int i = 0; i < 120; ++i) {
    Set(PoolOf({Format("a{}", i)}));
    Pass(seconds(1));
  }
  EXPECT_LE(conflicts, 30);
  Pass(seconds(40));
  EXPECT_THAT(api_.Devices(), ElementsAre("a119"));
}

/// A restart during a flood of slices of others.
TEST_F(SlicePublisherTest, AListThatIsCutOffHidesNoGeneration) {
  if (test::kHasAddressSanitizer || test::kHasThreadSanitizer) {
    GTEST_SKIP() << "lists of 10,000 objects take too long";
  }
  Publish(PoolOfSize(65));
  ASSERT_TRUE(AwaitCurrent());
  CutLists();
  Start();
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Allocatable(), ElementsAre("a"));
  EXPECT_THAT(api_.slices(), SizeIs(3)) << "two are hidden";
  // Further lists hide what was written since then, too.
  publisher_->OnKubeletRegistered();
  Pass(seconds(5));
  Set(PoolOf({"b"}));
  Pass(seconds(5));
  EXPECT_THAT(Allocatable(), ElementsAre("b"));
  EXPECT_THAT(api_.slices(), SizeIs(3));
  api_.fault = nullptr;
  publisher_->OnKubeletRegistered();
  Pass(seconds(5));
  EXPECT_THAT(api_.Devices(), ElementsAre("b"));
  EXPECT_THAT(api_.slices(), SizeIs(1));
}

TEST_F(SlicePublisherTest, AListThatIsCutOffHidesNoDeletion) {
  if (test::kHasAddressSanitizer || test::kHasThreadSanitizer) {
    GTEST_SKIP() << "lists of 10,000 objects take too long";
  }
  Publish(PoolOfSize(65));
  ASSERT_TRUE(AwaitCurrent());
  bool are_deleted = false;
  CutLists([&] {
    if (!std::exchange(are_deleted, true)) api_.DeleteAll();  // no watch is open
  });
  publisher_->OnKubeletRegistered();
  Pass(seconds(10));
  EXPECT_TRUE(are_deleted);
  EXPECT_THAT(Allocatable(), SizeIs(65));
}

TEST_F(SlicePublisherTest, PublishesTenThousandDevicesInOneGo) {
  Publish(PoolOfSize(10'000));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(api_.slices(), SizeIs(157));
  EXPECT_EQ(Writes().size(), 157U);
  EXPECT_EQ(api_.slices().begin()->second["spec"]["pool"]["resourceSliceCount"], 157);
}

TEST_F(SlicePublisherTest, CanEndDuringARequest) {
  api_.fault = [](const ServerRequest& request) -> std::optional<Reply> {
    if (request.method() == boost::beast::http::verb::get) return std::nullopt;
    return Reply{""};
  };
  Publish(PoolOf({"a"}));
  ASSERT_TRUE(loop_.RunUntil([&] { return Count("dryRun") == 1; }));
  publisher_.reset();
  Pass(seconds(60));
  EXPECT_THAT(Writes(), IsEmpty());
}

}  // namespace
}  // namespace patchbay
