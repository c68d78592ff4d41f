#include "health/probe_pool.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

#include "support/fake_loop.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// Jobs that go on until they are let go, on a loop whose clock stands still.
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
    bool AwaitBegun(std::size_t count) {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, seconds(10), [&] { return begun.size() >= count; });
    }
    std::vector<std::string> Begun() {
      const std::lock_guard lock(mutex);
      return begun;
    }
  };

  void TearDown() override {
    for (const auto& name : names_) gate_->Open(name);
  }

  void Run(const std::string& resource, const std::string& name) {
    names_.push_back(name);
    pool_->Run(
        resource, seconds(5), [gate = gate_, name] { return gate->Pass(name); },
        [this](const ProbeOutcome& outcome) {
          ended_.push_back(outcome.reason.substr(0, 9) + (outcome.hangs ? "~" : ""));
        });
  }
  /// Lets a job end and waits until that was told.
  void End(const std::string& name) {
    const std::size_t before = ended_.size();
    gate_->Open(name);
    ASSERT_TRUE(loop_.RunUntil([&] { return ended_.size() > before; }));
  }

  test::FakeLoop loop_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::vector<std::string> names_;
  std::vector<std::string> ended_;
  std::unique_ptr<ProbePool> pool_ = std::make_unique<ProbePool>(loop_, 2);
};

TEST_F(ProbePoolTest, SoManyRunAtOnceAndNoMore) {
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

TEST_F(ProbePoolTest, HowManyRunAtOnceCanChange) {
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

TEST_F(ProbePoolTest, WhatDoesNotComeBackLosesItsPlaceAndIsToldTwice) {
  for (const char* name : {"a1", "a2", "a3"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(2));
  loop_.Advance(seconds(5));
  EXPECT_THAT(ended_, ElementsAre("no answer~", "no answer~"));
  ASSERT_TRUE(gate_->AwaitBegun(3));
  End("a3");
  End("a1");
  EXPECT_EQ(ended_.back(), "a1");
  // The places are as many as before.
  for (const char* name : {"a4", "a5", "a6"}) Run("a", name);
  ASSERT_TRUE(gate_->AwaitBegun(5));
  EXPECT_EQ(gate_->Begun().size(), 5U);
  End("a4");
  ASSERT_TRUE(gate_->AwaitBegun(6));
}

TEST_F(ProbePoolTest, OfAResourceThatWasDroppedNothingIsHeard) {
  Run("a", "a1"), Run("a", "a2"), Run("a", "a3"), Run("b", "b1");
  ASSERT_TRUE(gate_->AwaitBegun(2));
  pool_->Drop("a");
  gate_->Open("a1"), gate_->Open("a2");
  End("b1");
  EXPECT_THAT(ended_, ElementsAre("b1"));
  EXPECT_EQ(gate_->Begun().size(), 3U);
}

TEST_F(ProbePoolTest, TheEndWaitsForNoneThatWasGivenUp) {
  Run("a", "a1"), Run("a", "a2"), Run("a", "a3");
  ASSERT_TRUE(gate_->AwaitBegun(2));
  loop_.Advance(seconds(5));
  gate_->Open("a3");
  ASSERT_TRUE(loop_.RunUntil([&] { return ended_.size() == 3; }));
  pool_.reset();
  loop_.Advance(minutes(1));
  EXPECT_EQ(ended_.size(), 3U);
}

TEST_F(ProbePoolTest, AfterTheEndNothingIsHeard) {
  Run("a", "a1");
  ASSERT_TRUE(gate_->AwaitBegun(1));
  gate_->Open("a1");
  pool_.reset();  // waits for it
  loop_.RunPosted();
  EXPECT_THAT(ended_, IsEmpty());
}

}  // namespace
}  // namespace patchbay
