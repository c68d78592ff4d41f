#include "os/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "support/fake_loop.h"
#include "support/hanging_mount.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeLoop;

/// Work that hangs until Release is called. It may outlive the pool.
class Hang {
 public:
  std::function<void()> Work() {
    return [state = state_] {
      state->begun.set_value();
      state->go_on.wait();
    };
  }
  void AwaitBegun() { state_->begun.get_future().wait(); }
  void Release() { go_on_.set_value(); }

 private:
  struct State {
    std::promise<void> begun;
    std::shared_future<void> go_on;
  };
  std::promise<void> go_on_;
  std::shared_ptr<State> state_ = std::make_shared<State>(State{{}, go_on_.get_future().share()});
};

TEST(ThreadPool, PostsTheResultToTheLoop) {
  FakeLoop loop;
  ThreadPool pool(loop);
  std::optional<int> result;
  std::thread::id worked_on, ran_on;
  pool.Run(
      [&] {
        worked_on = std::this_thread::get_id();
        return std::make_unique<int>(7);
      },
      [&](std::unique_ptr<int> value) {
        result = *value;
        ran_on = std::this_thread::get_id();
      });
  ASSERT_TRUE(loop.RunUntil([&] { return result.has_value(); }));
  EXPECT_EQ(*result, 7);
  EXPECT_NE(worked_on, std::this_thread::get_id());
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_EQ(loop.timers(), 0U);
}

TEST(ThreadPool, RunsJobsInOrderUpToItsLimit) {
  FakeLoop loop;
  ThreadPool pool(loop, {.max_running = 1});
  std::string seen;  // used by one thread after the other
  bool is_done = false;
  pool.Run([&] { seen += 'a'; });
  pool.Run([&] { seen += 'b'; });
  pool.Run([&] { return seen += 'c'; }, [&](const std::string&) { is_done = true; });
  ASSERT_TRUE(loop.RunUntil([&] { return is_done; }));
  EXPECT_EQ(seen, "abc");
}

TEST(ThreadPool, ResultsCanAddJobsAndDestroyThePool) {
  FakeLoop loop;
  auto pool = std::make_unique<ThreadPool>(loop, ThreadPool::Options{.max_running = 1});
  pool->Run([] { return 0; },
            [&](int) { pool->Run([] { return 0; }, [&](int) { pool.reset(); }); });
  EXPECT_TRUE(loop.RunUntil([&] { return pool == nullptr; }));
}

TEST(ThreadPool, DestructorWaitsForTheRunningJobAndDropsTheRest) {
  FakeLoop loop;
  auto pool = std::make_unique<ThreadPool>(
      loop, ThreadPool::Options{.max_running = 1, .end_patience = hours(1)});
  const auto finished = std::make_shared<std::atomic<bool>>(false);
  const auto held = std::make_shared<int>(1);
  bool is_done = false;
  pool->Run(
      [finished] {
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        return *finished = true;
      },
      [&](bool) { is_done = true; });
  pool->Run([held] { return *held; }, [](int) {});
  pool.reset();
  EXPECT_TRUE(*finished);
  EXPECT_EQ(held.use_count(), 1);
  loop.RunPosted();
  EXPECT_FALSE(is_done);
}

TEST(ThreadPool, AnOverdueJobIsReplaced) {
  FakeLoop loop;
  ThreadPool pool(loop, {.max_running = 1, .patience = seconds(1)});
  Hang hang;
  bool hang_ended = false, is_done = false;
  pool.Run([work = hang.Work()] { return work(), 0; }, [&](int) { hang_ended = true; });
  pool.Run([] { return 0; }, [&](int) { is_done = true; });
  hang.AwaitBegun();
  loop.Advance(milliseconds(999));
  EXPECT_FALSE(is_done);
  loop.Advance(milliseconds(1));
  ASSERT_TRUE(loop.RunUntil([&] { return is_done; }));
  hang.Release();
  EXPECT_TRUE(loop.RunUntil([&] { return hang_ended; })) << "its result counts";
}

TEST(ThreadPool, OverdueJobsBeyondTheLimitAreNotReplaced) {
  FakeLoop loop;
  ThreadPool pool(loop, {.max_running = 1, .patience = seconds(1), .max_overdue = 1});
  Hang first, second;
  bool is_done = false;
  pool.Run(first.Work());
  pool.Run(second.Work());
  pool.Run([] { return 0; }, [&](int) { is_done = true; });
  first.AwaitBegun();
  loop.Advance(seconds(1));
  second.AwaitBegun();
  loop.Advance(hours(1));
  EXPECT_FALSE(is_done);
  first.Release();
  EXPECT_TRUE(loop.RunUntil([&] { return is_done; }));
  second.Release();
}

TEST(ThreadPool, DestructorDoesNotWaitForOverdueJobs) {
  FakeLoop loop;
  Hang hang;
  {
    ThreadPool pool(loop, {.patience = seconds(1), .end_patience = hours(1)});
    pool.Run(hang.Work());
    hang.AwaitBegun();
    loop.Advance(seconds(1));
  }
  hang.Release();
}

TEST(ThreadPool, ReturnsTheAgeOfTheOldestJob) {
  FakeLoop loop;
  ThreadPool pool(loop);
  EXPECT_EQ(pool.OldestAge(ThreadPool::Clock::now()), ThreadPool::Clock::duration::zero());
  Hang hang;
  bool is_done = false;
  const auto before = ThreadPool::Clock::now();
  pool.Run([work = hang.Work()] { return work(), 0; }, [&](int) { is_done = true; });
  const auto after = ThreadPool::Clock::now();
  EXPECT_GE(pool.OldestAge(after + hours(1)), hours(1));
  EXPECT_LE(pool.OldestAge(after + hours(1)), hours(1) + (after - before));
  hang.Release();
  ASSERT_TRUE(loop.RunUntil([&] { return is_done; }));
  EXPECT_EQ(pool.OldestAge(after + hours(1)), ThreadPool::Clock::duration::zero());
}

TEST(ThreadPool, AHangInTheKernelDoesNotBlockOtherJobs) {
  test::TempTree tree;
  tree.Dir("mnt");
  test::HangingMount mount(tree.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  FakeLoop loop;
  ThreadPool pool(loop, {.max_running = 1, .patience = seconds(1)});
  bool hang_ended = false, is_done = false;
  pool.Run(
      [path = tree.path("mnt/x")] {
        struct stat info;
        return stat(path.c_str(), &info);
      },
      [&](int result) { hang_ended = result != 0; });
  pool.Run([] { return 0; }, [&](int) { is_done = true; });
  ASSERT_TRUE(mount.AwaitHang(seconds(60)));
  loop.Advance(seconds(1));
  ASSERT_TRUE(loop.RunUntil([&] { return is_done; }));
  mount.End();
  EXPECT_TRUE(loop.RunUntil([&] { return hang_ended; }));
}

int WithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  FakeLoop loop;
  ThreadPool pool(loop, {.max_running = 1});
  const Status refused = pool.TryRun([] { return 0; }, [](int) {});
  if (refused ||
      refused.error().message.find("raise the limit of processes") == std::string::npos) {
    return 2;
  }
  int done = 0;
  for (int i = 0; i < 2; ++i) pool.Run([] { return 1; }, [&](int count) { done += count; });
  loop.Advance(ThreadPool::kThreadPause);
  test::AllowThreads();
  if (done != 0 || loop.timers() != 1) return 3;
  loop.Advance(ThreadPool::kThreadPause);
  if (!loop.RunUntil([&] { return done == 2; })) return 4;
  return loop.timers() == 0 ? 0 : 5;
}

TEST(ThreadPoolDeathTest, RunsJobsWhenAThreadCanStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
