#include "os/asio_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <thread>

#include "os/unique_fd.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(ends[1]);
  }
  void Write(std::string_view text) const {
    EXPECT_EQ(write(write_end.get(), text.data(), text.size()), std::ssize(text));
  }
  char ReadByte() const {
    char c = 0;
    EXPECT_EQ(read(read_end.get(), &c, 1), 1);
    return c;
  }

  UniqueFd read_end;
  UniqueFd write_end;
};

class AsioLoopTest : public testing::Test {
 protected:
  /// Runs the loop until the test stops it. Fails after ten seconds.
  void Run() {
    const Subscription guard = loop_.After(std::chrono::seconds(10), [this] {
      ADD_FAILURE() << "nothing stopped the loop";
      loop_.Stop();
    });
    loop_.Run();
  }
  std::function<void()> Append(char c) {
    return [this, c] { seen_ += c; };
  }

  AsioLoop loop_;
  std::string seen_;
};

TEST_F(AsioLoopTest, Case53NowIsTheMonotonicClock) {
  const auto monotonic = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto before = monotonic();
  const auto now = loop_.Now().time_since_epoch();
  EXPECT_LE(before, now);
  EXPECT_LE(now, monotonic());
}

TEST_F(AsioLoopTest, PostKeepsTheOrder) {
  loop_.Post(Append('a'));
  loop_.Post([this] {
    seen_ += 'b';
    loop_.Post(Append('d'));
    loop_.Post([this] { loop_.Stop(); });
  });
  loop_.Post(Append('c'));
  Run();
  EXPECT_EQ(seen_, "abcd");
}

TEST_F(AsioLoopTest, PostFromAnotherThreadRunsOnTheLoopThread) {
  std::thread::id ran_on;
  std::thread other([&] {
    loop_.Post([&] {
      ran_on = std::this_thread::get_id();
      loop_.Stop();
    });
  });
  Run();
  other.join();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

// A failure is a hang in Run.
TEST_F(AsioLoopTest, StopEndsRunFromAnotherThread) {
  std::optional<std::thread> other;
  loop_.Post([&] { other.emplace([this] { loop_.Stop(); }); });
  Run();
  other->join();
}

TEST_F(AsioLoopTest, RunCanBeCalledAgainAfterStop) {
  int runs = 0;
  for (int i = 1; i <= 3; ++i) {
    loop_.Post([&] {
      ++runs;
      loop_.Stop();
    });
    Run();
    EXPECT_EQ(runs, i);
  }
}

TEST_F(AsioLoopTest, TimersFireInOrder) {
  const auto start = loop_.Now();
  const Subscription third = loop_.After(milliseconds(20), [this] {
    seen_ += 'c';
    loop_.Stop();
  });
  const Subscription second = loop_.After(milliseconds(10), Append('b'));
  const Subscription first = loop_.After(milliseconds(0), Append('a'));
  Run();
  EXPECT_EQ(seen_, "abc");
  EXPECT_GE(loop_.Now() - start, milliseconds(20));
}

TEST_F(AsioLoopTest, DroppedTimerDoesNotFire) {
  Subscription dropped = loop_.After(milliseconds(1), Append('x'));
  dropped = Subscription();
  // A timer that has expired is dropped by another one that fires before it.
  Subscription late;
  const Subscription early = loop_.After(milliseconds(2), [&] { late = Subscription(); });
  late = loop_.After(milliseconds(2), Append('y'));
  const Subscription end = loop_.After(milliseconds(10), [this] { loop_.Stop(); });
  // Both are due when the loop first checks its timers.
  loop_.Post([this, due = loop_.Now() + milliseconds(3)] {
    while (loop_.Now() < due) std::this_thread::yield();
  });
  Run();
  EXPECT_EQ(seen_, "");
}

TEST_F(AsioLoopTest, TimerCanDropOrReplaceItsSubscription) {
  Subscription timer;
  timer = loop_.After(milliseconds(0), [&] {
    seen_ += 'a';
    timer = loop_.After(milliseconds(0), [&] {
      seen_ += 'b';
      timer = Subscription();
      loop_.Stop();
    });
  });
  Run();
  EXPECT_EQ(seen_, "ab");
}

TEST_F(AsioLoopTest, ReportsReadableAgainWhileDataRemains) {
  const Pipe pipe;
  pipe.Write("abc");
  const Subscription readable = loop_.OnReadable(pipe.read_end.get(), [&] {
    seen_ += pipe.ReadByte();
    if (seen_ == "abc") loop_.Post([&] { pipe.Write("d"); });
    if (seen_ == "abcd") loop_.Stop();
  });
  Run();
  EXPECT_EQ(seen_, "abcd");
}

TEST_F(AsioLoopTest, ReportsReadableAtTheEndOfAPipe) {
  Pipe pipe;
  const Subscription readable = loop_.OnReadable(pipe.read_end.get(), [&] {
    char c = 0;
    EXPECT_EQ(read(pipe.read_end.get(), &c, 1), 0);
    loop_.Stop();
  });
  pipe.write_end = UniqueFd();
  Run();
}

TEST_F(AsioLoopTest, ReadableCallbackCanDropItsSubscription) {
  const Pipe pipe;
  pipe.Write("ab");
  Subscription readable;
  readable = loop_.OnReadable(pipe.read_end.get(), [&] {
    seen_ += pipe.ReadByte();
    readable = Subscription();
    loop_.Post([this] { loop_.Post([this] { loop_.Stop(); }); });
  });
  Run();
  EXPECT_EQ(seen_, "a");
  EXPECT_EQ(pipe.ReadByte(), 'b') << "the descriptor is still open and its own";
}

TEST_F(AsioLoopTest, DescriptorCanBeSubscribedToAgain) {
  const Pipe pipe;
  Subscription readable = loop_.OnReadable(pipe.read_end.get(), Append('x'));
  readable = Subscription();
  readable = loop_.OnReadable(pipe.read_end.get(), [&] {
    seen_ += pipe.ReadByte();
    loop_.Stop();
  });
  pipe.Write("a");
  Run();
  EXPECT_EQ(seen_, "a");
}

TEST_F(AsioLoopTest, ReportsEverySignal) {
  const Subscription signals = loop_.OnSignals({SIGUSR1, SIGUSR2}, [&](int number) {
    seen_ += number == SIGUSR1 ? '1' : '2';
    if (seen_.size() == 1) std::raise(SIGUSR2);
    if (seen_.size() == 2) loop_.Stop();
  });
  std::raise(SIGUSR1);
  Run();
  EXPECT_EQ(seen_, "12");
}

TEST_F(AsioLoopTest, DroppedSubscriptionReceivesNoSignals) {
  // Two subscriptions, so that the signal keeps a handler and does not end the process.
  const Subscription kept = loop_.OnSignals({SIGUSR1}, [&](int) {
    seen_ += 'k';
    loop_.Post([this] { loop_.Stop(); });
  });
  Subscription dropped = loop_.OnSignals({SIGUSR1}, [&](int) { seen_ += 'x'; });
  dropped = Subscription();
  std::raise(SIGUSR1);
  Run();
  EXPECT_EQ(seen_, "k");
}

TEST_F(AsioLoopTest, DestructorDropsPendingTimersAndPosts) {
  std::weak_ptr<int> held;
  {
    AsioLoop loop;
    const auto value = std::make_shared<int>(1);
    held = value;
    const Subscription timer = loop.After(std::chrono::hours(1), [value] {});
    loop.Post([value] {});
  }
  EXPECT_TRUE(held.expired()) << "functions that never ran are destroyed";
}

}  // namespace
}  // namespace patchbay
