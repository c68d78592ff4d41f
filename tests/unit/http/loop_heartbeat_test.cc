#include "http/loop_heartbeat.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "os/asio_loop.h"

namespace patchbay {
namespace {

using std::chrono::seconds;

/// A loop that runs posted functions only on request.
class ManualLoop : public Loop {
 public:
  Time Now() const override { return {}; }
  void Post(std::function<void()> f) override { posted_.push_back(std::move(f)); }
  Subscription After(Duration, std::function<void()>) override { return {}; }
  Subscription OnReadable(int, std::function<void()>) override { return {}; }

  void Turn() {
    for (const auto& f : std::exchange(posted_, {})) f();
  }
  std::size_t waiting() const { return posted_.size(); }

 private:
  std::vector<std::function<void()>> posted_;
};

TEST(LoopHeartbeat, IsAliveWhileTheLoopRuns) {
  ManualLoop loop;
  LoopHeartbeat heartbeat(loop, seconds(10));
  for (int second = 0; second < 1000; second += 100) {
    EXPECT_TRUE(heartbeat.IsAlive(Loop::Time(seconds(second))));
    loop.Turn();
  }
}

TEST(LoopHeartbeat, HasAtMostOnePendingPing) {
  ManualLoop loop;
  LoopHeartbeat heartbeat(loop, seconds(10));
  EXPECT_EQ(loop.waiting(), 0u);
  for (int second = 0; second < 5; ++second) heartbeat.IsAlive(Loop::Time(seconds(second)));
  EXPECT_EQ(loop.waiting(), 1u);
}

TEST(LoopHeartbeat, DetectsAStalledLoopAndItsRecovery) {
  ManualLoop loop;
  LoopHeartbeat heartbeat(loop, seconds(10));
  EXPECT_TRUE(heartbeat.IsAlive(Loop::Time(seconds(100))));
  EXPECT_TRUE(heartbeat.IsAlive(Loop::Time(seconds(110))));
  EXPECT_FALSE(heartbeat.IsAlive(Loop::Time(seconds(111))));
  EXPECT_FALSE(heartbeat.IsAlive(Loop::Time(seconds(500))));
  loop.Turn();
  EXPECT_TRUE(heartbeat.IsAlive(Loop::Time(seconds(501))));
}

// A failure is a use after free, which AddressSanitizer reports.
TEST(LoopHeartbeat, MayBeDestroyedBeforeItsPingRuns) {
  ManualLoop loop;
  { LoopHeartbeat(loop).IsAlive(Loop::Time()); }
  loop.Turn();
}

TEST(LoopHeartbeat, WorksFromManyThreads) {
  AsioLoop loop;
  std::thread turning([&] { loop.Run(); });
  LoopHeartbeat heartbeat(loop);
  std::vector<std::thread> asking;
  for (int i = 0; i < 4; ++i) {
    asking.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) EXPECT_TRUE(heartbeat.IsAlive(Loop::Time()));
    });
  }
  for (std::thread& thread : asking) thread.join();
  loop.Stop();
  turning.join();
}

}  // namespace
}  // namespace patchbay
