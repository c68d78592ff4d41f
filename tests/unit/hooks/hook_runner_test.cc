#include "hooks/hook_runner.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <future>

#include "base/format.h"
#include "support/leftovers.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// Calls of programs that wait at a gate, a named pipe, until the test opens it.
class HookRunnerTest : public testing::Test {
 protected:
  HookRunnerTest() { Make(); }
  ~HookRunnerTest() override { End(); }

  void Make() {
    runner_.emplace([this](Hook, bool, std::chrono::nanoseconds) { ++results_; }, log_,
                    cancellation_);
  }
  /// No test may leave a process or a descriptor.
  void End() {
    cancellation_->Trigger();
    runner_.reset();
    test::Leftovers::ReapOrphans();
    leftovers_.ExpectNone();
  }

  /// The result of a call; ready when it is done.
  std::future<Status> Run(HookCall call) {
    auto promise = std::make_shared<std::promise<Status>>();
    runner_->Run(std::move(call), [promise](const Status& status) { promise->set_value(status); });
    return promise->get_future();
  }
  static HookCall Call(Hook hook, std::set<std::string> devices, const std::string& script,
                       milliseconds patience = seconds(60)) {
    HookCall call;
    call.resource = "example.com/d";
    call.hook = hook;
    call.timeout = seconds(60);
    if (hook != Hook::kRelease) call.patience = patience;
    call.devices = std::move(devices);
    if (!script.empty()) call.commands = {{*call.devices.begin(), {"/bin/sh", "-c", script}}};
    return call;
  }

  /// A script that reports its start and then waits at the gate.
  std::string WaitAt(const std::string& gate) {
    EXPECT_EQ(mkfifo(tree_.path(gate).c_str(), 0600), 0);
    EXPECT_EQ(mkfifo(tree_.path(gate + ".begun").c_str(), 0600), 0);
    return Format("echo > {0}.begun; read x < {0}; echo {1} >> {2}", tree_.path(gate), gate,
                  tree_.path("order"));
  }
  void AwaitBegun(const std::string& gate) { std::ifstream(tree_.path(gate + ".begun")).get(); }
  void Open(const std::string& gate) { std::ofstream(tree_.path(gate)) << "\n"; }
  std::string Order() const {
    std::ifstream file(tree_.path("order"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  test::TempTree tree_;
  std::ostringstream text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, text_};
  std::atomic<int> results_ = 0;
  const std::shared_ptr<const Cancellation> cancellation_ =
      std::make_shared<const Cancellation>(Cancellation::Create().value());
  const test::Leftovers leftovers_;
  std::optional<HookRunner> runner_;
};

TEST_F(HookRunnerTest, ReportsSuccessAndFailure) {
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"a"}, "true")).get());
  const Status failed = Run(Call(Hook::kRelease, {"a"}, "echo no >&2; exit 1")).get();
  ASSERT_FALSE(failed);
  EXPECT_EQ(
      failed.error().message,
      "the release hook of example.com/d failed for \"a\": /bin/sh ended with exit code 1: no");
  EXPECT_EQ(results_, 2);
  End();
  EXPECT_THAT(text_.str(), HasSubstr("hook failed resource=example.com/d hook=release device=a "
                                     "reason=\"/bin/sh ended with exit code 1: no\"\n"));
}

TEST_F(HookRunnerTest, CallWithoutCommandsSucceedsImmediately) {
  auto done = Run(Call(Hook::kPreStart, {"a"}, ""));
  ASSERT_EQ(done.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_TRUE(done.get());
  EXPECT_EQ(results_, 0);
}

TEST_F(HookRunnerTest, CallsForOtherDevicesDoNotWait) {
  auto held = Run(Call(Hook::kRelease, {"a", "b"}, WaitAt("gate")));
  AwaitBegun("gate");
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"c"}, "true")).get());
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"c"}, "")).get());
  Open("gate");
  EXPECT_TRUE(held.get());
}

TEST_F(HookRunnerTest, CallsForOneDeviceRunInOrder) {
  auto release = Run(Call(Hook::kRelease, {"a"}, WaitAt("release")));
  AwaitBegun("release");
  auto start = Run(Call(Hook::kPreStart, {"a", "b"}, "echo start >> " + tree_.path("order")));
  auto nothing = Run(Call(Hook::kPreStart, {"a"}, ""));
  EXPECT_EQ(start.wait_for(seconds(0)), std::future_status::timeout);
  EXPECT_EQ(nothing.wait_for(seconds(0)), std::future_status::timeout);
  Open("release");
  EXPECT_TRUE(start.get());
  EXPECT_TRUE(nothing.get());
  EXPECT_EQ(Order(), "release\nstart\n");
}

TEST_F(HookRunnerTest, StopsAProgramAndItsChildren) {
  // Fifty children that ignore SIGTERM, and unlimited output.
  const Status wild =
      Run(Call(Hook::kPreStart, {"a"},
               "trap '' TERM; for i in $(seq 50); do sleep 3600 & done; yes", seconds(1)))
          .get();
  ASSERT_FALSE(wild);
  EXPECT_THAT(wild.error().message, HasSubstr("timed out after"));
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"a"}, "true")).get());
}

TEST_F(HookRunnerTest, WaitingCallTimesOut) {
  auto release = Run(Call(Hook::kRelease, {"a"}, WaitAt("release")));
  AwaitBegun("release");
  const Status late = Run(Call(Hook::kPreStart, {"a"}, "true", milliseconds(10))).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kPrecondition);
  EXPECT_THAT(late.error().message, HasSubstr("another hook still runs"));
  Open("release");
  EXPECT_TRUE(release.get());
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"a"}, "true")).get());
}

TEST_F(HookRunnerTest, NoProgramStartsWithLessThanHalfASecondLeft) {
  const std::string script = "echo ran >> " + tree_.path("order");
  const Status late = Run(Call(Hook::kPreStart, {"a"}, script, milliseconds(499))).get();
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("timed out waiting in the hook queue"));
  EXPECT_EQ(Order(), "");
}

TEST_F(HookRunnerTest, CallsEndInTheOrderOfTheirLatestStarts) {
  auto other = Run(Call(Hook::kRelease, {"a"}, WaitAt("gate")));
  AwaitBegun("gate");
  std::vector<std::string> ended;
  std::promise<void> all;
  const auto run = [&](const std::string& name, milliseconds timeout, milliseconds patience) {
    HookCall call = Call(Hook::kPreStart, {"a"}, "true", patience);
    call.timeout = timeout;
    runner_->Run(std::move(call), [&, name](const Status& status) {
      EXPECT_FALSE(status);
      ended.push_back(name);
      if (ended.size() == 2) all.set_value();
    });
  };
  run("half a second before its end", seconds(60), milliseconds(1000));
  run("one millisecond before its end", milliseconds(2), milliseconds(800));
  all.get_future().wait();
  EXPECT_THAT(ended, testing::ElementsAre("half a second before its end",
                                          "one millisecond before its end"));
  Open("gate");
  EXPECT_TRUE(other.get());
}

TEST_F(HookRunnerTest, RunningCallTimesOut) {
  const Status late = Run(Call(Hook::kPreStart, {"a"}, "sleep 3600", seconds(1))).get();
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("timed out after"));
}

TEST_F(HookRunnerTest, RunsSixteenReleasesAtOnce) {
  const std::size_t threads = test::ThreadsOf(getpid());
  std::vector<std::future<Status>> calls;
  for (int i = 0; i < 40; ++i) {
    calls.push_back(Run(Call(Hook::kRelease, {Format("d{}", i)}, WaitAt(Format("gate{}", i)))));
  }
  for (int i = 0; i < 16; ++i) AwaitBegun(Format("gate{}", i));
  // One thread schedules the calls. Threads that start programs end afterwards.
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (test::ThreadsOf(getpid()) > threads + 17 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_LE(test::ThreadsOf(getpid()), threads + 17);
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"other"}, "true")).get());
  Open("gate7");
  AwaitBegun("gate16");
  for (int i = 0; i < 40; ++i) {
    if (i > 16) AwaitBegun(Format("gate{}", i));
    if (i != 7) Open(Format("gate{}", i));
  }
  for (auto& call : calls) EXPECT_TRUE(call.get());
  EXPECT_THAT(Order(), testing::StartsWith("gate7\n"));
}

TEST_F(HookRunnerTest, EndStopsRunningAndWaitingCalls) {
  auto release = Run(Call(Hook::kRelease, {"a"}, WaitAt("release")));
  AwaitBegun("release");
  auto start = Run(Call(Hook::kPreStart, {"a"}, ""));
  End();
  ASSERT_EQ(release.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_THAT(release.get().error().message,
              HasSubstr("was stopped because patchbay is shutting down"));
  ASSERT_EQ(start.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_THAT(start.get().error().message, HasSubstr("patchbay is shutting down, or"));
}

TEST_F(HookRunnerTest, RefusesTooManyCallsButNoRelease) {
  auto release = Run(Call(Hook::kRelease, {"a"}, WaitAt("release")));
  AwaitBegun("release");
  std::vector<std::future<Status>> waiting;
  for (std::size_t i = 0; i < HookRunner::kMaxCalls; ++i) {
    waiting.push_back(Run(Call(i % 2 == 0 ? Hook::kAllocate : Hook::kPreStart, {"a"}, "")));
  }
  for (const Hook hook : {Hook::kAllocate, Hook::kPreStart}) {
    auto refused = Run(Call(hook, {"b"}, "true"));
    ASSERT_EQ(refused.wait_for(seconds(0)), std::future_status::ready);
    EXPECT_THAT(refused.get().error().message, HasSubstr("256 calls already wait for hooks"));
  }
  EXPECT_EQ(waiting.back().wait_for(seconds(0)), std::future_status::timeout);
  EXPECT_TRUE(Run(Call(Hook::kRelease, {"b"}, "true")).get());
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"c"}, "")).get()) << "there is nothing to wait for";
  Open("release");
  EXPECT_TRUE(release.get());
  for (auto& call : waiting) EXPECT_TRUE(call.get());
  EXPECT_TRUE(Run(Call(Hook::kPreStart, {"b"}, "true")).get());
}

TEST_F(HookRunnerTest, RunsManyCalls) {
  std::vector<std::future<Status>> calls;
  for (int i = 0; i < 60; ++i) {
    calls.push_back(Run(Call(Hook::kPreStart, {Format("d{}", i % 7)}, "true")));
  }
  for (auto& call : calls) EXPECT_TRUE(call.get());
  EXPECT_EQ(results_, 60);
}

}  // namespace
}  // namespace patchbay
