#include "os/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "support/fake_loop.h"

namespace patchbay {
namespace {

TEST(Worker, RunsJobsInOrderOnAnotherThread) {
  Worker worker;
  std::string seen;  // of the worker, until `done` is kept
  std::promise<std::thread::id> done;
  worker.Run([&] { seen += 'a'; });
  worker.Run([&] { seen += 'b'; });
  worker.Run([&] { done.set_value(std::this_thread::get_id()); });
  EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(seen, "ab");
}

TEST(Worker, BringsTheResultToTheLoop) {
  test::FakeLoop loop;
  Worker worker;
  std::optional<int> result;
  std::thread::id ran_on;
  worker.Run(
      loop, [] { return std::make_unique<int>(7); },
      [&](std::unique_ptr<int> value) {
        result = *value;
        ran_on = std::this_thread::get_id();
      });
  ASSERT_TRUE(loop.RunUntil([&] { return result.has_value(); }));
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Worker, TheEndWaitsForTheJobUnderWayAndDropsTheRest) {
  std::optional<Worker> worker(std::in_place);
  std::promise<void> begun;
  std::promise<void> go_on;
  bool finished = false;
  bool dropped_ran = false;
  const auto held = std::make_shared<int>(1);
  worker->Run([&] {
    begun.set_value();
    go_on.get_future().wait();
    finished = true;
  });
  worker->Run([&, held] { dropped_ran = true; });
  begun.get_future().wait();
  std::thread ends([&] { worker.reset(); });
  // The jobs that wait are dropped at once, which shows that the end has begun.
  while (held.use_count() > 1) std::this_thread::yield();
  go_on.set_value();
  ends.join();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(dropped_ran);
}

TEST(Worker, AJobMayAddAnother) {
  Worker worker;
  std::promise<void> done;
  worker.Run([&] { worker.Run([&] { done.set_value(); }); });
  done.get_future().wait();
}

}  // namespace
}  // namespace patchbay
