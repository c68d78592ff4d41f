#include "os/loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "support/fake_loop.h"

namespace patchbay {
namespace {

using std::chrono::seconds;

TEST(Subscription, CancelsOnce) {
  int cancelled = 0;
  {
    Subscription first([&] { ++cancelled; });
    EXPECT_TRUE(first);
    const Subscription second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(second);
    EXPECT_EQ(cancelled, 0);
  }
  EXPECT_EQ(cancelled, 1);
}

TEST(Subscription, AssignmentCancelsTheOldOne) {
  std::string cancelled;
  Subscription subscription([&] { cancelled += 'a'; });
  subscription = Subscription([&] { cancelled += 'b'; });
  EXPECT_EQ(cancelled, "a");
  subscription = Subscription();
  EXPECT_EQ(cancelled, "ab");
  EXPECT_FALSE(subscription);
}

TEST(Lifetime, GuardedFunctionDoesNothingAfterDestruction) {
  std::string seen;
  std::optional<Lifetime> life(std::in_place);
  auto guarded = life->Guard([&](std::string text) { seen += text; });
  guarded("a");
  life.reset();
  guarded("b");
  EXPECT_EQ(seen, "a");
}

TEST(Lifetime, PassesMoveOnlyArguments) {
  const Lifetime life;
  int seen = 0;
  auto guarded = life.Guard([&](std::unique_ptr<int> value) { seen = *value; });
  guarded(std::make_unique<int>(7));
  EXPECT_EQ(seen, 7);
}

TEST(FakeLoop, FiresTimersInOrderWithStableTies) {
  test::FakeLoop loop;
  std::string seen;
  const auto start = loop.Now();
  const Subscription c = loop.After(seconds(2), [&] { seen += 'c'; });
  const Subscription a = loop.After(seconds(1), [&] {
    seen += 'a';
    EXPECT_EQ(loop.Now() - start, seconds(1));
    loop.Post([&] { seen += 'p'; });
  });
  const Subscription b = loop.After(seconds(1), [&] { seen += 'b'; });
  const Subscription e = loop.After(seconds(4), [&] { seen += 'e'; });
  loop.Advance(seconds(3));
  EXPECT_EQ(seen, "apbc");
  EXPECT_EQ(loop.Now() - start, seconds(3));
  EXPECT_EQ(loop.UntilNextTimer(), seconds(1));
}

TEST(FakeLoop, FiresTimersSetDuringAnAdvance) {
  test::FakeLoop loop;
  int ticks = 0;
  Subscription timer;
  std::function<void()> tick = [&] {
    ++ticks;
    timer = loop.After(seconds(1), tick);
  };
  tick();
  loop.Advance(seconds(5));
  EXPECT_EQ(ticks, 6);
  timer = Subscription();
  EXPECT_EQ(loop.timers(), 0u);
}

// A failure is a use after free, which AddressSanitizer reports.
TEST(FakeLoop, SubscriptionMayOutliveIt) {
  std::optional<test::FakeLoop> loop(std::in_place);
  const Subscription timer = loop->After(seconds(1), [] {});
  const Subscription reader = loop->OnReadable(0, [] {});
  loop.reset();
}

}  // namespace
}  // namespace patchbay
