#include "health/probe_pool.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>

#include "support/fake_loop.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// Jobs that run until they are released, on a loop with a stopped clock.
class ProbePoolTest : public testing::Test {
 protected:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> begun;
    std::set<std::string> open;

    ProbeOutcome Pass(const std::string& name) {
      std::unique_lock lock(mutex);
      begun.push_back(name);
      changed.notify_all();
      changed.wait(lock, [&] { return open.contains(name); });
      return {.result = ProbeResult::kSuccess, .reason = name};
    }
    void Open(const std::string& name) {
      const std::lock_guard lock(mutex);
      open.insert(name);
      changed.notify_all();
    }
    bool AwaitBegun(std::size_t count, std::chrono::milliseconds patience = seconds(10)) {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, patience, [&] { return begun.size() >= count; });
    }
    std::vector<std::string> Begun() {
      const std::lock_guard lock(mutex);
      return begun;
    }
  };

  void TearDown() override {
    for (const auto& name : names_) gate_->Open(name);
  }

  void Run(const std::string& resource, const std::string& device, const std::string& name) {
    names_.push_back(name);
    pool_->Run(
        {resource, device}, seconds(5), [gate = gate_, name] { return gate->Pass(name); },
        [this, name](const ProbeOutcome& outcome) {
          ended_.push_back(name + (outcome.hangs                           ? "~"
                                   : outcome.over                          ? "."
                                   : outcome.result == ProbeResult::kError ? "!"
                                                                           : ""));
          reason_ = outcome.reason;
        });
  }
  void Run(const std::string& resource, const std::string& name) { Run(resource, name, name); }
  /// Ends a job and waits for its outcome.
  void End(const std::string& name) {
    const std::size_t before = ended_.size();
    gate_->Open(name);
    ASSERT_TRUE(loop_.RunUntil([&] { return ended_.size() > before; }));
  }

  /// Like AwaitBegun of the gate, and runs the loop meanwhile.
  bool RunUntilBegun(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + seconds(10);
    while (!gate_->AwaitBegun(count, std::chrono::milliseconds(1))) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.RunPosted();
    }
    return true;
  }

  test::FakeLoop loop_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::vector<std::string> names_;
  std::vector<std::string> ended_;
  std::string reason_;  ///< the last reported reason
  std::unique_ptr<ProbePool> pool_ = std::make_unique<ProbePool>(loop_, 2);
};

TEST_F(ProbePoolTest, LimitsConcurrentProbes) {
  for (const char* name : {"a1", "a2", "a3", "a4"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(2));
  EXPECT_THAT(gate_->Begun(), testing::UnorderedElementsAre("a1", "a2"));
  End("a2");
  ASSERT_TRUE(gate_->AwaitBegun(3));
  EXPECT_EQ(gate_->Begun().back(), "a3");
  End("a1");
  ASSERT_TRUE(gate_->AwaitBegun(4));
  End("a3");
  End("a4");
  EXPECT_THAT(ended_, ElementsAre("a2", "a1", "a3", "a4"));
}

TEST_F(ProbePoolTest, ChangesTheConcurrencyLimit) {
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(2));
  pool_->SetMostAtOnce(3);
  ASSERT_TRUE(gate_->AwaitBegun(3));
  pool_->SetMostAtOnce(1);
  End("a1");
  End("a2");
  EXPECT_EQ(pool_->running(), 1);
  EXPECT_THAT(gate_->Begun(), testing::SizeIs(3)) << "one is enough";
  End("a3");
  ASSERT_TRUE(gate_->AwaitBegun(4));
  End("a4");
  End("a5");
}

TEST_F(ProbePoolTest, ResourcesTakeTurns) {
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) Run("a", name);
  for (const char* name : {"b1", "b2"}) Run("b", name);
  Run("c", "c1");
  std::size_t begun = 2;
  for (const char* next : {"a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"}) {
    ASSERT_TRUE(gate_->AwaitBegun(begun));
    End(next);
    begun = std::min<std::size_t>(begun + 1, 8);
  }
  EXPECT_THAT(ended_, ElementsAre("a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"));
}

TEST_F(ProbePoolTest, HangingProbeFreesItsSlotAndReportsTwice) {
  for (const char* name : {"a1", "a2", "a3"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(2));
  loop_.Advance(seconds(5));
  EXPECT_THAT(ended_, UnorderedElementsAre("a1~", "a2~"));
  EXPECT_THAT(reason_, HasSubstr("hanging in the kernel since 20"));
  ASSERT_TRUE(gate_->AwaitBegun(3));
  End("a3");
  End("a1");
  EXPECT_EQ(ended_.back(), "a1.");
  // The maximum is unchanged.
  for (const char* name : {"a4", "a5", "a6"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(5));
  EXPECT_EQ(gate_->Begun().size(), 5U);
  End("a4");
  ASSERT_TRUE(gate_->AwaitBegun(6));
}

TEST_F(ProbePoolTest, NextProbeWaitsForADroppedProbeOfItsDevice) {
  Run("a", "device", "old");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  pool_->Drop("a");
  Run("a", "device", "new");
  Run("a", "other", "other");
  ASSERT_TRUE(gate_->AwaitBegun(2));
  EXPECT_THAT(gate_->Begun(), ElementsAre("old", "other"));
  gate_->Open("old");
  ASSERT_TRUE(RunUntilBegun(3));
  EXPECT_EQ(gate_->Begun().back(), "new");
  End("new");
  EXPECT_THAT(ended_, ElementsAre("new")) << "the result of the old job is dropped";
}

TEST_F(ProbePoolTest, NothingRunsForADeviceThatWasDroppedAgain) {
  Run("a", "device", "old");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  pool_->Drop("a");
  Run("a", "device", "new");
  pool_->Drop("a");
  gate_->Open("old");
  ASSERT_TRUE(loop_.RunUntil([&] { return pool_->running() == 0; }));
  Run("b", "b");
  End("b");
  EXPECT_THAT(gate_->Begun(), ElementsAre("old", "b"));
  EXPECT_THAT(ended_, ElementsAre("b"));
}

TEST_F(ProbePoolTest, RemembersAHangAfterDrop) {
  Run("a", "device", "old");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  loop_.Advance(seconds(5));
  EXPECT_THAT(ended_, ElementsAre("old~"));
  const std::string why = reason_;
  pool_->Drop("a");
  Run("a", "device", "new");
  EXPECT_THAT(ended_, ElementsAre("old~", "new~")) << "it was reported immediately";
  EXPECT_EQ(reason_, why);
  End("old");
  EXPECT_THAT(ended_, ElementsAre("old~", "new~", "new."));
  EXPECT_THAT(gate_->Begun(), ElementsAre("old"));
  Run("a", "device", "newer");
  ASSERT_TRUE(gate_->AwaitBegun(2));
}

TEST_F(ProbePoolTest, ReportsAHangOfADroppedProbeToTheNext) {
  Run("a", "device", "old");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  pool_->Drop("a");
  Run("a", "device", "new");
  loop_.Advance(seconds(5));
  EXPECT_THAT(ended_, ElementsAre("new~"));
  End("old");
  EXPECT_THAT(ended_, ElementsAre("new~", "new."));
  EXPECT_THAT(gate_->Begun(), ElementsAre("old"));
}

TEST_F(ProbePoolTest, FailsFurtherProbesIfTooManyHang) {
  for (int i = 0; i < 100; ++i) Run("a", "a" + std::to_string(i));
  // Two at a time; each abandoned job lets another one run.
  for (int hanging = 2; hanging <= 64; hanging += 2) {
    ASSERT_TRUE(gate_->AwaitBegun(static_cast<std::size_t>(hanging)));
    EXPECT_THAT(ended_, SizeIs(hanging - 2));
    loop_.Advance(seconds(5));
  }
  // Another job took the place of the last but one before the last one hung.
  EXPECT_THAT(ended_, SizeIs(99)) << "the running job continues";
  EXPECT_EQ(
      std::count_if(ended_.begin(), ended_.end(), [](const auto& e) { return e.back() == '!'; }),
      35);
  EXPECT_THAT(reason_, HasSubstr("64 probes"));
  Run("b", "b1");
  ASSERT_TRUE(gate_->AwaitBegun(66)) << "b is not affected";
  Run("a", "late");
  EXPECT_EQ(ended_.back(), "late!");
  End("a7");
  End("b1");
  Run("a", "again");
  ASSERT_TRUE(gate_->AwaitBegun(67));
}

/// A program that outlives the job of its probe, like one that cannot be killed.
TEST_F(ProbePoolTest, ReapsLeftoverPrograms) {
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  const auto run = [&] {
    pool_->Run(
        {"a", "device"}, seconds(5),
        [pid] {
          ProbeOutcome outcome{ProbeResult::kTimeout, "killed"};
          outcome.left_behind = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
          return outcome;
        },
        [this](const ProbeOutcome& outcome) {
          ended_.push_back(outcome.hangs ? "hangs" : outcome.over ? "over" : "ended");
        });
  };
  run();
  ASSERT_TRUE(loop_.RunUntil([&] { return !ended_.empty(); }));
  EXPECT_EQ(pool_->running(), 0);
  pool_->Drop("a");  // the resource is removed
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  ASSERT_TRUE(loop_.RunReadable(seconds(60)));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "it is a zombie";
  EXPECT_EQ(errno, ECHILD);
  EXPECT_THAT(ended_, ElementsAre("hangs"));
}

TEST_F(ProbePoolTest, ReportsNothingForADroppedResource) {
  Run("a", "a1"), Run("a", "a2"), Run("a", "a3"), Run("b", "b1");
  ASSERT_TRUE(gate_->AwaitBegun(2));
  pool_->Drop("a");
  gate_->Open("a1"), gate_->Open("a2");
  End("b1");
  EXPECT_THAT(ended_, ElementsAre("b1"));
  EXPECT_EQ(gate_->Begun().size(), 3U);
}

TEST_F(ProbePoolTest, DestructorDoesNotWaitForHangingProbes) {
  Run("a", "a1"), Run("a", "a2"), Run("a", "a3");
  ASSERT_TRUE(gate_->AwaitBegun(2));
  loop_.Advance(seconds(5));
  gate_->Open("a3");
  ASSERT_TRUE(loop_.RunUntil([&] { return ended_.size() == 3; }));
  pool_.reset();
  loop_.Advance(minutes(1));
  EXPECT_EQ(ended_.size(), 3U);
}

TEST_F(ProbePoolTest, ReportsNothingAfterDestruction) {
  Run("a", "a1");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  gate_->Open("a1");
  pool_.reset();  // waits for it
  loop_.RunPosted();
  EXPECT_THAT(ended_, IsEmpty());
}

int ProbeWithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  test::FakeLoop loop;
  ProbePool pool(loop, 2);
  std::vector<ProbeOutcome> outcomes;
  const auto run = [&] {
    pool.Run(
        {"r", "d"}, seconds(60), [] { return ProbeOutcome{.result = ProbeResult::kSuccess}; },
        [&](const ProbeOutcome& outcome) {
          outcomes.push_back({outcome.result, outcome.reason});
        });
  };
  run();
  if (outcomes.size() != 1 || outcomes[0].result != ProbeResult::kError) return 2;
  if (outcomes[0].reason.find("limit of processes") == std::string::npos) return 3;
  test::AllowThreads();
  run();
  if (!loop.RunUntil([&] { return outcomes.size() == 2; })) return 4;
  return outcomes[1].result == ProbeResult::kSuccess ? 0 : 5;
}

TEST(ProbePoolDeathTest, AProbeFailsOnlyAsLongAsNoThreadCanStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(ProbeWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
