#include "dra/claim_preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <fstream>
#include <future>
#include <semaphore>

#include "base/format.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClaimPreparerTest : public test::ClaimPreparerFixture {
 protected:
  using Method = void (ClaimPreparer::*)(std::vector<ClaimKey>, ClaimCall,
                                         std::function<void(ClaimResults)>);
  /// Calls Prepare or Unprepare, and ends the process while a hook waits at the gate.
  void EndDuringTheHookOf(Method method) {
    std::optional<ClaimResults> results;
    (*preparer_.*method)({Key("mine")}, Call(),
                         [&](ClaimResults got) { results = std::move(got); });
    ASSERT_TRUE(AwaitGate());
    EXPECT_EQ(TextOf(FileOf("mine")), "") << "a container could start during the hook";
    preparer_->BeginEnd();
    OpenGate();
    ASSERT_TRUE(loop_.RunUntil([&] { return results.has_value(); }));
    EXPECT_FALSE(results->at(Key("mine").uid));
  }
};

TEST_F(ClaimPreparerTest, PreparesOnceAndReleasesOnce) {
  Allocate("mine", "a");
  const auto first = Prepare("mine");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(AnswerOf(first),
              ElementsAre(Format("r {}/a  {}", test::kThings, CdiId("mine", "r"))));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  const std::vector<std::string> runs = {"allocate a", "pre_start a"};
  EXPECT_EQ(Runs(), runs);

  is_server_down_ = true;
  EXPECT_EQ(Prepare("mine").value(), *first);
  Restart();
  EXPECT_EQ(Prepare("mine").value(), *first);
  EXPECT_EQ(Runs(), runs) << "hooks ran again";
  EXPECT_EQ(gets_, 1);

  Restart();
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_TRUE(Unprepare("unknown"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "release a"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimPreparerTest, ReportsTheEndOfEachClaim) {
  Allocate("mine", "a");
  Allocate("unknown-device", "z");
  ASSERT_TRUE(Prepare("mine"));
  ASSERT_TRUE(Prepare("mine")) << "from its file";
  ASSERT_FALSE(Prepare("unknown-device"));
  ASSERT_FALSE(Prepare("gone"));
  ASSERT_TRUE(Unprepare("mine"));
  ASSERT_TRUE(Unprepare("gone"));
  tree_.Remove("data");
  tree_.File("data");
  ASSERT_FALSE(Unprepare("mine"));
  std::vector<std::string> ends;
  for (const ClaimPreparer::ClaimEnd& end : ends_) {
    std::string text = end.action == ClaimPreparer::Action::kRelease ? "release: " : "";
    text += end.success ? "success" : "failure";
    for (const std::string& pool : end.pools) text += " " + pool;
    ends.push_back(text);
  }
  EXPECT_THAT(ends,
              ElementsAre(Format("success {}", test::kThings), Format("success {}", test::kThings),
                          Format("failure {}", test::kThings), "failure",
                          Format("release: success {}", test::kThings), "release: success",
                          "release: failure"));
}

TEST_F(ClaimPreparerTest, ErrorsNameTheClaimAndDoNotAffectOthers) {
  Allocate("mine", "a");
  Allocate("unknown-device", "z");
  claims_["hostile"] = "[[[";
  const auto results = PrepareAll({"gone", "mine", "unknown-device", "hostile"});
  ASSERT_THAT(results, SizeIs(4));
  EXPECT_TRUE(results.at("uid-of-mine"));
  for (const char* name : {"gone", "unknown-device", "hostile"}) {
    const auto& result = results.at(Format("uid-of-{}", name));
    ASSERT_FALSE(result) << name;
    EXPECT_THAT(result.error().message, HasSubstr(Format("ResourceClaim default/{}: ", name)));
  }
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
  is_server_down_ = true;
  EXPECT_THAT(ErrorOf("other"), HasSubstr("the API server is down"));
}

TEST_F(ClaimPreparerTest, GivesADeviceToOneClaimUnlessForAdministration) {
  Allocate("mine", "a");
  Allocate("second", "a");
  Allocate("admin", {Admin(Thing("a"))});
  ASSERT_TRUE(Prepare("mine"));
  EXPECT_THAT(ErrorOf("second"), HasSubstr("default/mine"));
  EXPECT_EQ(ErrorOf("admin"), "prepared");
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a")) << "hooks ran for a device in use";
  EXPECT_TRUE(Unprepare("admin"));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(ErrorOf("second"), "prepared");
}

/// A hook that ran in part has its counterpart.
TEST_F(ClaimPreparerTest, AFailedHookRunsAgainAndIsReleased) {
  spec_.pre_start = HookThat("echo pre_start $0 >> {}; exit 1");
  Restart();
  Allocate("mine", "a");
  Allocate("second", "a");
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("pre_start hook"));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_FALSE(Prepare("mine"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "allocate a", "pre_start a"));
  EXPECT_THAT(ErrorOf("second"), HasSubstr("default/mine")) << "its hooks have run in part";
  Restart();
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "allocate a", "pre_start a", "release a"));
}

TEST_F(ClaimPreparerTest, TheLimitIsForAllHooksOfAClaimTogether) {
  hook_limit_ = std::chrono::milliseconds(1500);
  spec_.allocate = HookThat("sleep 1.2; echo allocate $0 >> {}");
  Restart();
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"),
              HasSubstr("the pre_start hook of example.com/thing was not run for \"a\""));
  EXPECT_THAT(Runs(), ElementsAre("allocate a"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimPreparerTest, AnswersBeforeTheDeadlineAndTheNextCallJoins) {
  spec_.pre_start = HookThat(WaitAtGate() + " echo pre_start $0 >> {}");
  Restart();
  Allocate("mine", "a");
  std::optional<ClaimResults> first;
  std::optional<ClaimResults> second;
  const ClaimCall call = Call();
  preparer_->Prepare({Key("mine")}, call, [&](ClaimResults got) { first = std::move(got); });
  ASSERT_TRUE(AwaitGate());
  loop_.Advance(call.deadline - loop_.Now() - ClaimPreparer::kReserve);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at("uid-of-mine").error().message,
            "ResourceClaim default/mine: still at this step: running the hook pre_start; the "
            "kubelet will try again");
  EXPECT_THAT(text_.str(), HasSubstr("call for a claim is not finished in time"));
  preparer_->Prepare({Key("mine")}, Call(), [&](ClaimResults got) { second = std::move(got); });
  OpenGate();
  ASSERT_TRUE(loop_.RunUntil([&] { return second.has_value(); }));
  EXPECT_TRUE(second->at("uid-of-mine"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

/// The last call can end after the driver, on another thread.
TEST_F(ClaimPreparerTest, KeepsNoSubscriptionOfTheLoopAfterItIsClosed) {
  spec_.pre_start = HookThat(WaitAtGate());
  Restart();
  Allocate("mine", "a");
  bool is_done = false;
  preparer_->Prepare({Key("mine")}, Call(), [&](const ClaimResults&) { is_done = true; });
  ASSERT_TRUE(AwaitGate());
  EXPECT_GT(loop_.timers(), 0U);
  preparer_->Close();
  EXPECT_EQ(loop_.timers(), 0U);
  preparer_->Prepare({Key("mine")}, Call(), [&](const ClaimResults&) { is_done = true; });
  loop_.RunPosted();
  EXPECT_FALSE(is_done);
  OpenGate();
  std::async(std::launch::async, [last = std::move(preparer_)]() mutable { last.reset(); }).get();
}

/// The node is what the hook made of it.
TEST_F(ClaimPreparerTest, ComparesNodesAfterTheHooks) {
  if (mknod(tree_.path("one").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "cannot make a device node here";
  }
  spec_.device_nodes.emplace_back().host_path = test::MakeTemplate("/one");
  spec_.allocate.reset();
  spec_.pre_start = HookThat(Format("rm {0}; mknod {0} c 1 5", tree_.path("one")));
  Restart();
  Allocate("mine", "a");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_EQ(EditsIn("mine").at(0).at("deviceNodes").at(0).at("minor"), 5);
  EXPECT_TRUE(Unprepare("mine"));
  spec_.pre_start = HookThat(Format("rm {}", tree_.path("one")));
  hook_limit_ = std::chrono::milliseconds(1500);
  Restart();
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("node /one is missing"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimPreparerTest, ARebootRunsTheHooksAgainAndKeepsTheDevices) {
  Allocate("mine", "a");
  Allocate("second", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  boot_ = "boot-2";
  Restart();
  preparer_->store()->RemoveOrphans();
  EXPECT_THAT(Files(), IsEmpty()) << "a file of the former boot";
  EXPECT_THAT(ErrorOf("second"), HasSubstr("default/mine"));
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "allocate a", "pre_start a"));
  boot_ = "boot-3";
  Restart();
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(Runs().back(), "release a");
}

TEST_F(ClaimPreparerTest, WaitsForALockForALimitedTime) {
  lock_limit_ = std::chrono::milliseconds(200);
  Restart();
  Allocate("mine", "a");
  const auto lock =
      ClaimLock::Open(tree_.path("data/serialize.lock"), std::make_shared<ClaimLock::Table>())
          .value();
  ASSERT_TRUE(lock->TryLock(std::vector<std::string>{"device node-1/example.com/thing/a"}).value());
  EXPECT_THAT(ErrorOf("mine"), HasSubstr("timed out; another call may still run hooks"));
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(ClaimPreparerTest, RunsNoHookForAClaimWhoseFileCouldNotBeRead) {
  listed_.clear();
  std::vector<AllocatedDevice> devices;
  for (int i = 0; i < 33; ++i) {
    listed_.push_back(test::Listed(Format("d{}", i)));
    devices.push_back(Thing(Format("d{}", i)));
  }
  Restart();
  Allocate("large", devices);
  EXPECT_THAT(ErrorOf("large"), HasSubstr("at most 32"));
  EXPECT_THAT(Runs(), IsEmpty());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimPreparerTest, StopsAHookAtTheLimitAndRunsItAgain) {
  hook_limit_ = std::chrono::seconds(2);
  spec_.pre_start =
      HookThat(Format("echo pre_start $0 >> {{}}; test -e {} || sleep 600", tree_.path("ready")));
  Restart();
  Allocate("mine", "a");
  EXPECT_THAT(ErrorOf("mine"),
              AllOf(HasSubstr("ResourceClaim default/mine: the pre_start hook of example.com/thing "
                              "failed for \"a\""),
                    HasSubstr("timed out")));
  EXPECT_THAT(Files(), IsEmpty());
  tree_.File("ready");
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerTest, AClaimWhoseHookIsStoppedByTheEndOfTheProcessIsReleased) {
  spec_.allocate = HookThat("echo allocate $0 >> {}; " + WaitAtGate() + " exit 1");
  Restart();
  Allocate("mine", "a");
  EndDuringTheHookOf(&ClaimPreparer::Prepare);
  Restart();
  EXPECT_TRUE(std::filesystem::exists(RecordOf("mine")));
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "release a"));
}

TEST_F(ClaimPreparerTest, AReleaseThatIsStoppedByTheEndOfTheProcessRunsAgain) {
  spec_.release = HookThat("echo release $0 >> {}; " + WaitAtGate() + " exit 1");
  Restart();
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  EndDuringTheHookOf(&ClaimPreparer::Unprepare);
  spec_.release = HookThat("echo release again $0 >> {}");
  Restart();
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_EQ(Runs().back(), "release again a");
}

TEST_F(ClaimPreparerTest, AwaitsTheCallsThatUseAPool) {
  spec_.release = HookThat(WaitAtGate() + " echo release $0 >> {}");
  Restart();
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  std::vector<std::string> unused;
  Subscription things;
  Subscription others;
  Subscription canceled;
  preparer_->Unprepare({Key("mine")}, Call(), [](const ClaimResults&) {});
  auto begun = AtGate([&] {
    things = preparer_->AwaitUnused(test::kThings, [&] { unused.emplace_back("things"); });
    canceled = preparer_->AwaitUnused(test::kThings, [&] { unused.emplace_back("canceled"); });
    others = preparer_->AwaitUnused("others", [&] { unused.emplace_back("others"); });
    canceled = Subscription();
  });
  ASSERT_TRUE(loop_.RunUntil([&] { return !unused.empty(); }));
  begun.get();
  EXPECT_THAT(unused, ElementsAre("others"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
  OpenGate();
  ASSERT_TRUE(loop_.RunUntil([&] { return unused.size() > 1; }));
  EXPECT_THAT(unused, ElementsAre("others", "things"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a", "release a"));
}

/// After a force-delete the claim is gone while its container can still run.
TEST_F(ClaimPreparerTest, OnlyUnprepareReleasesADevice) {
  Allocate("old", "a");
  Allocate("new", "a");
  ASSERT_EQ(ErrorOf("old"), "prepared");
  const std::string exists = claims_["old"];
  auto deallocated = nlohmann::json::parse(exists);
  deallocated.erase("status");
  std::string created_again = exists;
  created_again.replace(created_again.find(Key("old").uid), Key("old").uid.size(), "another-uid");
  Allocate("old", "b");
  for (const std::string& state :
       {exists, claims_["old"], std::string(), deallocated.dump(), created_again}) {
    claims_["old"] = state;
    if (state.empty()) claims_.erase("old");
    const std::string error = ErrorOf("new");
    EXPECT_THAT(error, HasSubstr("is already prepared for the ResourceClaim default/old"));
    EXPECT_THAT(error, HasSubstr(Format("does not know it any more, remove {}", RecordOf("old"))));
  }
  EXPECT_TRUE(AwaitUnused());
  EXPECT_THAT(Files(), ElementsAre(FileOf("old")));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a")) << "a device in use was released";
  EXPECT_TRUE(Unprepare("old"));
  EXPECT_EQ(ErrorOf("new"), "prepared");
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerTest, PreparesAClaimAgainThatIsBeingReleased) {
  spec_.release = HookThat(WaitAtGate() + "echo release $0 >> {}");
  Restart();
  Allocate("mine", "a");
  ASSERT_EQ(ErrorOf("mine"), "prepared");
  std::optional<ClaimResults> prepared;
  const auto opened = AtGate([&] {
    preparer_->Prepare({Key("mine")}, Call(), [&](ClaimResults got) { prepared = got; });
    loop_.Post([&] { OpenGate(); });
  });
  EXPECT_TRUE(Unprepare("mine"));
  EXPECT_TRUE(loop_.RunUntil([&] { return prepared.has_value(); }));
  EXPECT_TRUE(prepared->at(Key("mine").uid));
  EXPECT_THAT(Runs(),
              ElementsAre("allocate a", "pre_start a", "release a", "allocate a", "pre_start a"));
  EXPECT_THAT(Files(), ElementsAre(FileOf("mine")));
}

TEST_F(ClaimPreparerTest, TwoInstancesPrepareAClaimOnce) {
  Allocate("mine", "a");
  const auto other = Make();
  const auto results = PrepareAtOnce(*preparer_, "mine", *other, "mine");
  ASSERT_THAT(results, SizeIs(2));
  for (const ClaimResults& result : results) {
    ASSERT_TRUE(result.at("uid-of-mine")) << result.at("uid-of-mine").error().message;
  }
  EXPECT_EQ(*results[0].at("uid-of-mine"), *results[1].at("uid-of-mine"));
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerTest, TwoInstancesGiveADeviceToOneClaim) {
  Allocate("one", "a");
  Allocate("two", "a");
  const auto other = Make();
  std::size_t prepared = 0;
  for (const ClaimResults& results : PrepareAtOnce(*preparer_, "one", *other, "two")) {
    for (const auto& [uid, result] : results) {
      if (result) {
        ++prepared;
      } else {
        EXPECT_THAT(result.error().message, HasSubstr("is already prepared for the"));
      }
    }
  }
  EXPECT_EQ(prepared, 1U);
  EXPECT_THAT(Runs(), ElementsAre("allocate a", "pre_start a"));
}

TEST_F(ClaimPreparerTest, RefusesMoreClaimsThanItProcessesAtOnce) {
  std::vector<ClaimKey> keys;
  for (std::size_t i = 0; i < ClaimPreparer::kMaxClaims; ++i) {
    keys.push_back(Key(Format("gone-{}", i)));
  }
  Allocate("mine", "a");
  std::optional<ClaimResults> all;
  std::optional<ClaimResults> refused;
  std::optional<ClaimResults> not_released;
  preparer_->Prepare(keys, Call(), [&](ClaimResults got) { all = std::move(got); });
  preparer_->Prepare({Key("mine")}, Call(), [&](ClaimResults got) { refused = std::move(got); });
  preparer_->Unprepare({Key("old")}, Call(),
                       [&](ClaimResults got) { not_released = std::move(got); });
  ASSERT_TRUE(loop_.RunUntil([&] { return all && refused && not_released; }));
  EXPECT_THAT(*all, SizeIs(ClaimPreparer::kMaxClaims));
  for (const auto& [uid, result] : *all) {
    ASSERT_FALSE(result) << uid;
    EXPECT_THAT(result.error().message, HasSubstr("no longer exists")) << uid;
  }
  const auto& mine = refused->at("uid-of-mine");
  ASSERT_FALSE(mine);
  EXPECT_EQ(mine.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(mine.error().message,
            "ResourceClaim default/mine: 256 claims are processed already; the kubelet will try "
            "again");
  const auto& old = not_released->at("uid-of-old");
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("default/old: 256 claims are processed already"));
  EXPECT_EQ(ErrorOf("mine"), "prepared");
  EXPECT_TRUE(Unprepare("old"));
}

/// A canceled call does not end its runs, which keep their threads and devices.
TEST_F(ClaimPreparerTest, RunsThatNoCallAwaitsCountUntilTheyEnd) {
  struct Gate {
    std::counting_semaphore<> steps{0};
    std::atomic<bool> is_open = false;  ///< otherwise a run ends at its first step
  };
  const auto gate = std::make_shared<Gate>();
  preparer_->Close();
  preparer_ = Make([gate](std::string_view) {
    if (!gate->is_open) gate->steps.acquire();
    return gate->is_open.load();
  });
  std::size_t ended = 0;
  on_ended_ = [&] { ++ended; };
  std::vector<ClaimKey> keys;
  for (std::size_t i = 0; i < ClaimPreparer::kMaxClaims; ++i) {
    keys.push_back(Key(Format("gone-{}", i)));
  }
  Allocate("mine", "a");
  const ClaimCall call = Call();
  bool is_answered = false;
  preparer_->Prepare(keys, call, [&](const ClaimResults&) { is_answered = true; });
  loop_.Advance(call.deadline - loop_.Now());
  ASSERT_TRUE(is_answered);
  EXPECT_EQ(ended, 0U);
  const auto prepare = [&](const std::string& name, std::optional<ClaimResults>& results) {
    preparer_->Prepare({Key(name)}, Call(), [&](ClaimResults got) { results = std::move(got); });
    loop_.RunPosted();
  };
  std::optional<ClaimResults> refused;
  prepare("mine", refused);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->at(Key("mine").uid).error().message,
            "ResourceClaim default/mine: 256 claims are processed already; the kubelet will try "
            "again");

  gate->steps.release();
  ASSERT_TRUE(loop_.RunUntil([&] { return ended == 1; }));
  std::optional<ClaimResults> accepted;
  std::optional<ClaimResults> also_refused;
  prepare("mine", accepted);
  prepare("second", also_refused);
  EXPECT_FALSE(accepted);
  EXPECT_TRUE(also_refused) << "only one run has ended";
  gate->is_open = true;
  gate->steps.release(ClaimPreparer::kMaxThreads);
  ASSERT_TRUE(loop_.RunUntil([&] { return accepted.has_value(); }));
  EXPECT_TRUE(accepted->at(Key("mine").uid));
}

}  // namespace
}  // namespace patchbay
