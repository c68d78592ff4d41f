#include "os/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "support/fake_loop.h"
#include "support/hanging_mount.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

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

TEST(ThreadPool, RunsJobsInOrderOnAnotherThread) {
  ThreadPool pool({.patience = hours(1)});
  std::string seen;  // used by the pool until `done` is set
  std::promise<std::thread::id> done;
  pool.Run({[&] { seen += 'a'; }});
  pool.Run({[&] { seen += 'b'; }});
  pool.Run({[&] { done.set_value(std::this_thread::get_id()); }});
  EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(seen, "ab");
}

TEST(ThreadPool, PostsTheResultToTheLoop) {
  test::FakeLoop loop;
  ThreadPool pool;
  std::optional<int> result;
  std::thread::id ran_on;
  pool.Run(
      loop, [] { return std::make_unique<int>(7); },
      [&](std::unique_ptr<int> value) {
        result = *value;
        ran_on = std::this_thread::get_id();
      });
  ASSERT_TRUE(loop.RunUntil([&] { return result.has_value(); }));
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(ThreadPool, DestructorWaitsForTheRunningJobAndDropsTheRest) {
  auto pool = std::make_unique<ThreadPool>(
      ThreadPool::Options{.patience = hours(1), .end_patience = hours(1)});
  Hang hang;
  const auto finished = std::make_shared<std::atomic<bool>>(false);
  const auto dropped_ran = std::make_shared<std::atomic<bool>>(false);
  const auto held = std::make_shared<int>(1);
  pool->Run({[work = hang.Work(), finished] {
    work();
    *finished = true;
  }});
  pool->Run({[dropped_ran, held] { *dropped_ran = true; }});
  hang.AwaitBegun();
  std::thread ends([&] { pool.reset(); });
  hang.Release();
  ends.join();
  EXPECT_TRUE(*finished);
  // The second job may have started just before the pool was destroyed.
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadPool, JobCanAddAnotherJob) {
  ThreadPool pool;
  std::promise<void> done;
  pool.Run({[&] { pool.Run({[&] { done.set_value(); }}); }});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

/// Runs three jobs at the same time. Returns the IDs of their threads.
std::vector<pid_t> RunThree(ThreadPool& pool) {
  std::vector<pid_t> threads(3);
  Hang hangs[3];
  for (std::size_t i = 0; i < threads.size(); ++i) {
    pool.Run({[&id = threads[i], work = hangs[i].Work()] {
      id = gettid();
      work();
    }});
  }
  for (Hang& hang : hangs) hang.AwaitBegun();
  for (Hang& hang : hangs) hang.Release();
  return threads;
}

/// Waits until only `count` of these threads exist.
bool AwaitThreads(const std::vector<pid_t>& threads, std::ptrdiff_t count) {
  const auto exists = [](pid_t thread) {
    return std::filesystem::exists("/proc/self/task/" + std::to_string(thread));
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::ranges::count_if(threads, exists) != count) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ThreadPool, IdleThreadsEnd) {
  ThreadPool pool({.max_running = 3, .patience = hours(1), .max_idle_time = milliseconds(1)});
  EXPECT_TRUE(AwaitThreads(RunThree(pool), 0));
  EXPECT_TRUE(AwaitThreads(RunThree(pool), 0)) << "threads start again";
}

TEST(ThreadPool, OneIdleThreadStaysIfThePoolStartsAtOnce) {
  ThreadPool pool({.max_running = 3,
                   .patience = hours(1),
                   .max_idle_time = milliseconds(1),
                   .starts_at_once = true});
  const std::vector<pid_t> threads = RunThree(pool);
  ASSERT_TRUE(AwaitThreads(threads, 1));
  std::promise<pid_t> next;
  pool.Run({[&] { next.set_value(gettid()); }});
  EXPECT_THAT(threads, testing::Contains(next.get_future().get()));
}

TEST(ThreadPool, OverdueJobFreesItsThread) {
  ThreadPool pool({.patience = milliseconds(20)});
  std::vector<Hang> hangs(5);
  for (Hang& hang : hangs) {
    pool.Run({hang.Work()});
    hang.AwaitBegun();  // starts although the jobs before it hang
  }
  std::promise<void> done;
  pool.Run({[&] { done.set_value(); }});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  for (Hang& hang : hangs) hang.Release();
}

TEST(ThreadPool, OverdueJobsBeyondTheLimitKeepTheirThreads) {
  ThreadPool pool({.patience = milliseconds(1), .max_overdue = 2, .end_patience = hours(1)});
  std::vector<Hang> hangs(3);
  for (Hang& hang : hangs) {
    pool.Run({hang.Work()});
    hang.AwaitBegun();
  }
  // The third is overdue, too, but keeps its place until one of the others has ended.
  std::promise<void> done;
  const auto ran = done.get_future().share();
  std::atomic<bool> let_go = false, began_before = false;
  pool.Run({[&] {
    began_before = !let_go;
    done.set_value();
  }});
  // The pool reports another job as late, long after the patience for the third has ended.
  std::promise<void> late;
  pool.Run({.work = [] {}, .on_late = [&] { late.set_value(); }, .limit = milliseconds(20)});
  late.get_future().wait();
  let_go = true;
  hangs[0].Release();
  ran.wait();
  EXPECT_FALSE(began_before);
  hangs[1].Release();
  hangs[2].Release();
}

TEST(ThreadPool, DestructorDoesNotWaitForOverdueJobs) {
  test::FakeLoop loop;
  Hang hang;
  bool called = false;
  const auto owned = std::make_shared<int>(1);
  {
    ThreadPool pool({.patience = milliseconds(1), .end_patience = hours(1)});
    pool.Run(
        loop,
        [work = hang.Work(), owned] {
          work();
          return 1;
        },
        [&called](int) { called = true; });
    hang.AwaitBegun();
  }
  hang.Release();
  while (owned.use_count() > 1) std::this_thread::yield();
  loop.RunPosted();
  EXPECT_FALSE(called) << "nothing is posted after the pool is destroyed";
}

// A failure is a destructor that waits for an hour.
TEST(ThreadPool, DestructorWaitsNoLongerThanEndPatience) {
  Hang hang;
  {
    ThreadPool pool({.patience = hours(1), .end_patience = milliseconds(1)});
    pool.Run({hang.Work()});
    hang.AwaitBegun();
  }
  hang.Release();
}

TEST(ThreadPool, ReportsAJobThatTakesLongerThanItsLimit) {
  ThreadPool pool({.patience = hours(1)});
  Hang hang;
  std::promise<void> late, next;
  const auto then_called = std::make_shared<std::atomic<bool>>(false);
  const auto owned = std::make_shared<int>(1);
  EXPECT_TRUE(pool.Run({.work = [work = hang.Work(), owned] { work(); },
                        .then = [then_called] { *then_called = true; },
                        .on_late = [&] { late.set_value(); },
                        .limit = milliseconds(1)}));
  late.get_future().wait();
  hang.Release();
  pool.Run({[&] { next.set_value(); }});
  next.get_future().wait();
  while (owned.use_count() > 1) std::this_thread::yield();
  EXPECT_FALSE(*then_called);
}

TEST(ThreadPool, ReportsAJobThatWaitsLongerThanItsLimit) {
  ThreadPool pool({.patience = hours(1)});
  Hang hang;
  pool.Run({hang.Work()});
  hang.AwaitBegun();
  std::promise<void> late;
  const auto began = std::make_shared<std::atomic<bool>>(false);
  EXPECT_TRUE(pool.Run({.work = [began] { *began = true; },
                        .on_late = [&] { late.set_value(); },
                        .limit = milliseconds(1)}));
  late.get_future().wait();
  hang.Release();
  std::promise<void> done;
  pool.Run({[&] { done.set_value(); }});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_FALSE(*began);
}

TEST(ThreadPool, DoesNotReportAJobWithinItsLimit) {
  ThreadPool pool;
  const auto late = std::make_shared<std::atomic<bool>>(false);
  for (int i = 0; i < 100; ++i) {
    std::promise<void> done;
    EXPECT_TRUE(pool.Run({.work = [] {},
                          .then = [&] { done.set_value(); },
                          .on_late = [late] { *late = true; },
                          .limit = hours(1)}));
    EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  }
  EXPECT_FALSE(*late);
}

TEST(ThreadPool, ReturnsTheAgeOfTheOldestJob) {
  ThreadPool pool;
  EXPECT_EQ(pool.OldestAge(ThreadPool::Clock::now()), ThreadPool::Clock::duration::zero());
  Hang hang;
  const auto before = ThreadPool::Clock::now();
  pool.Run({hang.Work()});
  hang.AwaitBegun();
  const auto after = ThreadPool::Clock::now();
  EXPECT_GE(pool.OldestAge(after + hours(1)), hours(1));
  EXPECT_LE(pool.OldestAge(after + hours(1)), hours(1) + (after - before));
  std::promise<void> done;
  pool.Run({[] {}, [&] { done.set_value(); }});
  hang.Release();
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST(ThreadPool, HangInTheKernelDoesNotBlockOtherJobs) {
  test::TempTree tree;
  tree.Dir("mnt");
  test::HangingMount mount(tree.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  ThreadPool pool({.patience = milliseconds(20), .end_patience = hours(1)});
  std::promise<void> ended, done;
  pool.Run({[path = tree.path("mnt/x")] {
              struct stat info;
              EXPECT_NE(stat(path.c_str(), &info), 0);
            },
            [&] { ended.set_value(); }});
  pool.Run({[&] { done.set_value(); }});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  mount.End();
  ended.get_future().wait();
}

TEST(ThreadPool, SetsTheNicenessOfItsThreads) {
  const int before = getpriority(PRIO_PROCESS, 0);
  ThreadPool pool({.niceness = 3});
  std::promise<int> niceness;
  pool.Run({[&] { niceness.set_value(getpriority(PRIO_PROCESS, 0)); }});
  EXPECT_EQ(niceness.get_future().get(), std::min(before + 3, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

int WithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  bool late = false;
  {
    ThreadPool pool;
    pool.Run({[] {}});
    if (pool.Run({.work = [] {},
                  .on_late = [&] { late = true; },
                  .limit = hours(1),
                  .needs_thread = true})) {
      return 2;
    }
  }
  return late ? 3 : 0;
}

TEST(ThreadPoolDeathTest, RejectsJobsWithALimitIfNoThreadCanStart) {
  EXPECT_EXIT(_exit(WithoutThreads()), testing::ExitedWithCode(0), "");
}

/// Runs a job at the moment at which the only thread has waited long enough, many times. Returns 0
/// if each job that is not refused runs.
int WhileTheOnlyThreadEnds() {
  using Clock = ThreadPool::Clock;
  if (!test::ForbidThreads()) return 0;
  ThreadPool pool({.max_idle_time = milliseconds(1)});
  const auto runs = [&](bool needs_thread) {
    std::promise<void> done;
    const bool accepted =
        pool.Run({.work = [&] { done.set_value(); }, .needs_thread = needs_thread});
    return !accepted ||
           done.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  };
  for (int i = 0; i < 1000; ++i) {
    test::AllowThreads();
    if (!runs(false)) _exit(2);
    const auto end = Clock::now() + milliseconds(1) + std::chrono::microseconds(i % 200 - 60);
    test::ForbidThreads();
    while (Clock::now() < end) continue;
    if (!runs(true)) _exit(3);
  }
  return 0;
}

TEST(ThreadPoolDeathTest, AThreadThatEndsLeavesNoJobBehind) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WhileTheOnlyThreadEnds()), testing::ExitedWithCode(0), "");
}

int OnALoopWithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  test::FakeLoop loop;
  ThreadPool pool;
  int done = 0;
  for (int i = 0; i < 2; ++i)
    pool.Run(
        loop, [] { return 1; }, [&](int count) { done += count; });
  loop.Advance(ThreadPool::kThreadPause);
  test::AllowThreads();
  if (done != 0 || loop.timers() != 1) return 2;
  loop.Advance(ThreadPool::kThreadPause);
  if (!loop.RunUntil([&] { return done == 2; })) return 3;
  return loop.timers() == 0 ? 0 : 4;
}

TEST(ThreadPoolDeathTest, RunsJobsOfALoopWhenAThreadCanStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(OnALoopWithoutThreads()), testing::ExitedWithCode(0), "");
}

int WhileTheOnlyThreadHangs() {
  Hang hang;
  ThreadPool pool({.max_running = 2});
  std::promise<void> begun;
  pool.Run({[work = hang.Work(), &begun] {
    begun.set_value();
    work();
  }});
  begun.get_future().wait();
  if (!test::ForbidThreads()) return 0;
  const bool accepted =
      pool.Run({.work = [] {}, .on_late = [] {}, .limit = milliseconds(1), .needs_thread = true});
  hang.Release();
  return accepted ? 2 : 0;
}

TEST(ThreadPoolDeathTest, RejectsJobsWithALimitIfTheOnlyThreadHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WhileTheOnlyThreadHangs()), testing::ExitedWithCode(0), "");
}

int StartWithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  try {
    ThreadPool pool({.starts_at_once = true});
    return 2;
  } catch (const std::system_error& problem) {
    return std::string_view(problem.what()).find("raise the limit of processes") ==
                   std::string_view::npos
               ? 3
               : 0;
  }
}

TEST(ThreadPoolDeathTest, EagerStartFailsIfNoThreadCanStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(StartWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace patchbay
