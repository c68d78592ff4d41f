#include "os/threads.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "support/thread_limit.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

TEST(JobThreads, RunEachJobOnAThreadOfItsOwn) {
  JobThreads threads;
  std::promise<void> first_runs, second_runs;
  ASSERT_TRUE(threads.Run([&](const JobThreads::Owner&) {
    first_runs.set_value();
    second_runs.get_future().wait();
  }));
  first_runs.get_future().wait();
  ASSERT_TRUE(threads.Run([&](const JobThreads::Owner&) { second_runs.set_value(); }));
  threads.End(60s, 0);
}

TEST(JobThreads, AJobOutlivesItsOwnerButDoesNotCallIt) {
  auto threads = std::make_unique<JobThreads>();
  std::promise<void> runs, destroyed;
  std::promise<bool> called;
  ASSERT_TRUE(threads->Run([&](const JobThreads::Owner& owner) {
    runs.set_value();
    destroyed.get_future().wait();
    bool was_called = false;
    owner.Call([&] { was_called = true; });
    called.set_value(was_called);
  }));
  runs.get_future().wait();
  threads.reset();
  destroyed.set_value();
  EXPECT_FALSE(called.get_future().get());
}

TEST(JobThreads, TheDestructorWaitsForACallOfTheOwner) {
  auto threads = std::make_unique<JobThreads>();
  std::promise<void> called;
  std::atomic<bool> is_over = false;
  ASSERT_TRUE(threads->Run([&](const JobThreads::Owner& owner) {
    owner.Call([&] {
      called.set_value();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      is_over = true;
    });
  }));
  called.get_future().wait();
  threads.reset();
  EXPECT_TRUE(is_over);
}

TEST(JobThreads, EndWaitsUntilEnoughJobsHaveEnded) {
  JobThreads threads;
  const auto hang = std::make_shared<std::promise<void>>();
  const auto held = std::make_shared<int>(1);
  ASSERT_TRUE(threads.Run(
      [until = hang->get_future().share(), hang](const JobThreads::Owner&) { until.wait(); }));
  ASSERT_TRUE(threads.Run([held](const JobThreads::Owner&) {}));
  threads.End(60s, 1);
  EXPECT_EQ(held.use_count(), 1) << "what a job owns is destroyed before it ends";
  threads.End(1ms, 0);  // returns although one hangs
  hang->set_value();
  threads.End(60s, 0);
}

int WithoutAThread() {
  if (!test::ForbidThreads()) return 0;
  JobThreads threads;
  const Status started = threads.Run([](const JobThreads::Owner&) {});
  if (started) return 2;
  const std::string wanted =
      "cannot start a thread: Resource temporarily unavailable; raise the limit of processes, "
      "which "
      "is pids.max of the cgroup, or ulimit -u";
  return started.error().message == wanted ? 0 : 3;
}

TEST(JobThreadsDeathTest, TheErrorNamesTheLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WithoutAThread()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
