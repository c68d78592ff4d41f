// The publisher against a built-in API server that fails, and networks that do.

#include <gmock/gmock.h>

#include "unit/dra/publisher_fixture.h"

namespace patchbay {
namespace {

using api_sim::Fault;
using api_sim::FaultType;
using test::Listed;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PublisherFaultsTest : public test::PublisherFixture {
 protected:
  void ServeDevices(std::vector<ListedDevice> devices) {
    Serve(Profile::k1_36);
    SetDevices(std::move(devices));
    ASSERT_TRUE(AwaitCurrent());
  }
  /// Waits until the watch has ended.
  bool AwaitWatchEnd() {
    return loop_.RunUntil([&] { return !IsWatching(); });
  }
};

struct FaultCase {
  const char* name;
  Fault fault;
};

class PublisherFaultTest : public PublisherFaultsTest,
                           public testing::WithParamInterface<FaultCase> {
 protected:
  /// The fault of three requests with this verb.
  static std::vector<Fault> FaultsOf(api_sim::Verb verb) {
    Fault fault = GetParam().fault;
    fault.verb = verb;
    fault.times = 3;
    return {fault};
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, PublisherFaultTest,
    testing::Values(FaultCase{"TooManyRequests",
                              {.code = 429, .retry_after = std::chrono::seconds(7)}},
                    FaultCase{"InternalError", {.code = 500}},
                    FaultCase{"Unavailable", {.code = 503}}, FaultCase{"Conflict", {.code = 409}},
                    FaultCase{"Forbidden", {.code = 403}},
                    FaultCase{"Reset", {.type = FaultType::kReset}},
                    FaultCase{"LostResponse", {.type = FaultType::kLoseResponse}},
                    FaultCase{"MalformedJson", {.type = FaultType::kMalformedJson}},
                    FaultCase{"CutBody", {.type = FaultType::kCutBody}},
                    FaultCase{"EndlessBody", {.type = FaultType::kEndlessBody}}),
    [](const auto& fault) { return fault.param.name; });

TEST_P(PublisherFaultTest, OfListsDelaysThePublication) {
  Serve(Profile::k1_36);
  server_->SetFaults(FaultsOf(api_sim::Verb::kList));
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(server_->FaultsLeft(), 0);
  EXPECT_THAT(Devices(), ElementsAre("a"));
}

TEST_P(PublisherFaultTest, OfWatchesDelaysTheNextOne) {
  ServeDevices({Listed("a")});
  server_->SetFaults(FaultsOf(api_sim::Verb::kWatch));
  server_->EndWatches(api_sim::WatchEnd::kClose);
  ASSERT_TRUE(AwaitWatchEnd());
  DeleteSlice();
  ASSERT_TRUE(Await([&] { return server_->FaultsLeft() == 0 && IsWatching(); }));
  EXPECT_EQ(publisher_->last_error(), "");
  EXPECT_TRUE(AwaitDevices({"a"}));
}

/// The first creation is the dry run of a sample.
TEST_P(PublisherFaultTest, OfCreationsLeavesOneSlice) {
  Serve(Profile::k1_36);
  server_->SetFaults(FaultsOf(api_sim::Verb::kCreate));
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(server_->FaultsLeft(), 0);
  EXPECT_THAT(Slices(), SizeIs(1));
  EXPECT_THAT(Devices(), ElementsAre("a"));
}

TEST_P(PublisherFaultTest, OfUpdatesIsRetried) {
  ServeDevices({Listed("a")});
  server_->SetFaults(FaultsOf(api_sim::Verb::kUpdate));
  SetDevices({Listed("a"), Listed("b")});
  ASSERT_TRUE(AwaitDevices({"a", "b"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_THAT(Slices(), SizeIs(1));
}

TEST_P(PublisherFaultTest, OfDeletionsIsRetried) {
  ServeDevices({Listed("a")});
  SetDevices({Listed("x")}, 1, "example.com/other");
  ASSERT_TRUE(AwaitCurrent("example.com/other"));
  server_->SetFaults(FaultsOf(api_sim::Verb::kDelete));
  RemoveResource("example.com/other");
  EXPECT_TRUE(AwaitDevices({"a"}));
}

/// The control plane and the kubelet start together: the first requests are forbidden, or fail.
TEST_F(PublisherFaultsTest, PublishesAtOnceWhenTheKubeletRegistersIt) {
  using api_sim::Verb;
  for (const Verb verb : {Verb::kList, Verb::kGet, Verb::kCreate}) {
    Serve(Profile::k1_36);
    server_->SetFaults({{.times = 0, .verb = verb, .code = 403}});
    SetDevices({Listed("a")});
    Pass(std::chrono::minutes(2));
    EXPECT_THAT(Devices(), IsEmpty());
    server_->SetFaults({});
    publisher_->OnKubeletRegistered();
    const Loop::Time before = loop_.Now();
    ASSERT_TRUE(AwaitDevices({"a"}));
    EXPECT_EQ(loop_.Now(), before) << NameOf(verb);
  }
}

TEST_F(PublisherFaultsTest, RetriesForbiddenRequestsSoon) {
  Serve(Profile::k1_36);
  server_->SetFaults({{.times = 3, .verb = api_sim::Verb::kList, .code = 403}});
  const Loop::Time before = loop_.Now();
  SetDevices({Listed("a")});
  ASSERT_TRUE(AwaitDevices({"a"}));
  EXPECT_LE(loop_.Now() - before, std::chrono::milliseconds(1'400));  // 200 + 400 + 800
}

TEST_F(PublisherFaultsTest, WaitsAsLongAsTheServerAsks) {
  ServeDevices({Listed("a")});
  server_->SetFaults(
      {{.verb = api_sim::Verb::kUpdate, .code = 429, .retry_after = std::chrono::seconds(17)}});
  const Loop::Time before = loop_.Now();
  SetDevices({Listed("b")});
  ASSERT_TRUE(AwaitDevices({"b"}));
  EXPECT_GE(loop_.Now() - before, std::chrono::seconds(17));
  EXPECT_THAT(Writes(), ElementsAre("create 201", "update 429", "update 200"));
}

TEST_F(PublisherFaultsTest, PublishesWhatChangedDuringARestartOfTheServer) {
  ServeDevices({Listed("a")});
  server_->Stop();
  ASSERT_TRUE(AwaitWatchEnd());
  SetDevices({Listed("b")});
  Pass(std::chrono::minutes(2));
  EXPECT_FALSE(StateOf().is_current);
  EXPECT_NE(StateOf().last_error, "");
  ASSERT_TRUE(server_->Start());
  ASSERT_TRUE(AwaitDevices({"b"}));
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(StateOf().last_error, "");
}

TEST_F(PublisherFaultsTest, RestoresSlicesThatWereDeletedWhileTheServerWasAway) {
  ServeDevices({Listed("a")});
  server_->Stop();
  ASSERT_TRUE(AwaitWatchEnd());
  Wipe();
  ASSERT_TRUE(server_->Start());
  EXPECT_TRUE(AwaitDevices({"a"}));
}

/// The slice is deleted while the watch reports nothing, and its version is compacted.
TEST_F(PublisherFaultsTest, RestoresSlicesThatWereDeletedBeforeTheResponseToTheirCreation) {
  ServeDevices({Listed("a")});
  server_->SetFaults({{.type = FaultType::kSlowBody, .verb = api_sim::Verb::kCreate}});
  Wipe();
  ASSERT_TRUE(Await([&] { return server_->FaultsLeft() == 0 && !Devices().empty(); }));
  // The slice exists, and the response has not arrived. The kubelet restarts.
  Wipe();
  publisher_->OnKubeletRegistered();
  EXPECT_TRUE(AwaitDevices({"a"}));
  Pass(std::chrono::seconds(5));
  EXPECT_THAT(Devices(), ElementsAre("a"));
}

TEST_F(PublisherFaultsTest, ListsAgainAfterItsVersionWasCompacted) {
  ServeDevices({Listed("a")});
  const auto dry_runs = [this] {
    return std::ranges::count_if(server_->Calls(), &api_sim::ApiCall::is_dry_run);
  };
  for (const auto form : {api_sim::ExpiredWatch::kErrorEvent, api_sim::ExpiredWatch::kHttpStatus}) {
    ASSERT_TRUE(AwaitCurrent());
    const auto before = dry_runs();
    server_->PauseWatches(true);
    DeleteSlice();
    server_->Compact(form);
    const auto lists = publisher_->watch_state().lists;
    server_->EndWatches(api_sim::WatchEnd::kReset);
    ASSERT_TRUE(AwaitWatchEnd());
    server_->PauseWatches(false);
    ASSERT_TRUE(AwaitDevices({"a"}));
    EXPECT_GT(publisher_->watch_state().lists, lists);
    EXPECT_GT(dry_runs(), before) << "the features may have changed meanwhile";
  }
}

TEST_F(PublisherFaultsTest, SurvivesDamagedEvents) {
  ServeDevices({Listed("a")});
  for (const FaultType type : {FaultType::kMalformedJson, FaultType::kCutBody}) {
    ASSERT_TRUE(AwaitCurrent());
    server_->SetFaults({{.type = type, .verb = api_sim::Verb::kWatch}});
    server_->EndWatches(api_sim::WatchEnd::kClose);
    ASSERT_TRUE(AwaitWatchEnd());
    DeleteSlice();
    ASSERT_TRUE(Await([&] { return server_->FaultsLeft() == 0; }));
    EXPECT_TRUE(AwaitDevices({"a"}));
  }
}

TEST_F(PublisherFaultsTest, ReadsARotatedToken) {
  ServeDevices({Listed("a")});
  RotateToken("second");
  SetDevices({Listed("b")});
  ASSERT_TRUE(AwaitDevices({"b"}));
  EXPECT_THAT(Writes(), Contains("update 401"));
}

TEST_F(PublisherFaultsTest, WaitsForItsNode) {
  Serve(Profile::k1_36);
  EXPECT_EQ(server_->Call("DELETE", "/api/v1/nodes/node-1").status, 200);
  SetDevices({Listed("a")});
  Pass(std::chrono::minutes(2));
  EXPECT_THAT(Writes(), IsEmpty());
  CreateNode();
  EXPECT_TRUE(AwaitDevices({"a"}));
}

/// The server deletes the slices of a deleted node, and the new node has another UID.
TEST_F(PublisherFaultsTest, BelongsToANodeThatWasCreatedAgain) {
  ServeDevices({Listed("a")});
  EXPECT_EQ(server_->Call("DELETE", "/api/v1/nodes/node-1").status, 200);
  EXPECT_THAT(Slices(), IsEmpty());
  ASSERT_TRUE(AwaitNotice());
  CreateNode();
  ASSERT_TRUE(AwaitDevices({"a"}));
  EXPECT_EQ(OwnerUid(Slices().at(0)), NodeUid());
}

/// Another process has published for the new node already: its slice stays as it is.
TEST_F(PublisherFaultsTest, DoesNotGiveSlicesBackToAFormerNode) {
  ServeDevices({Listed("a")});
  Json slice = Slices().at(0);
  EXPECT_EQ(server_->Call("DELETE", "/api/v1/nodes/node-1").status, 200);
  CreateNode();
  slice["metadata"] = {{"name", slice["metadata"]["name"]},
                       {"ownerReferences", slice["metadata"]["ownerReferences"]}};
  slice["metadata"]["ownerReferences"][0]["uid"] = NodeUid();
  EXPECT_EQ(server_->Call("POST", kSlices, slice).status, 201);
  ASSERT_TRUE(AwaitNotice());
  ASSERT_TRUE(AwaitCurrent());
  for (const Json& current : Slices()) EXPECT_EQ(OwnerUid(current), NodeUid());
  EXPECT_THAT(Devices(), ElementsAre("a"));
}

/// The kubelet deletes the slices one by one, slower than they come back.
TEST_F(PublisherFaultsTest, RestoresEachOfManyDeletedSlicesWithinASecond) {
  ServeDevices({Listed("a")});
  for (int i = 0; i < 6; ++i) {
    DeleteSlice();
    ASSERT_TRUE(AwaitNotice());
    const auto deleted = loop_.Now();
    ASSERT_TRUE(AwaitCurrent());  // also so that the next notice is of the next deletion
    EXPECT_THAT(Devices(), ElementsAre("a"));
    EXPECT_LE(loop_.Now() - deleted, std::chrono::seconds(1)) << i;
  }
}

/// Without their owner, slices would stay when the node is deleted.
TEST_F(PublisherFaultsTest, PutsARemovedOwnerRight) {
  ServeDevices({Listed("a")});
  EditSlice([](Json& slice) { slice["metadata"].erase("ownerReferences"); });
  ASSERT_TRUE(AwaitNotice());
  ASSERT_TRUE(AwaitCurrent());
  EXPECT_EQ(OwnerUid(Slices().at(0)), NodeUid());
  EXPECT_THAT(Writes(), ElementsAre("create 201", "update 200"));
}

}  // namespace
}  // namespace patchbay
