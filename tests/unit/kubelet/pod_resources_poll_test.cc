#include "kubelet/pod_resources_poll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace patchbay {

std::ostream& operator<<(std::ostream& out, PollOutcome outcome) {
  static constexpr const char* kNames[] = {"kAnswered",   "kRateLimited", "kUnimplemented",
                                           "kNoSocket",   "kNoResponse",  "kTooLate",
                                           "kUnreadable", "kTooLong",     "kRefused"};
  return out << kNames[static_cast<int>(outcome)];
}

namespace {

using namespace std::chrono_literals;
using Outcome = PollOutcome;
using Version = PodResourcesVersion;
using Duration = PodResourcesPoll::Duration;

constexpr Outcome kFailures[] = {Outcome::kNoSocket,   Outcome::kNoResponse, Outcome::kTooLate,
                                 Outcome::kUnreadable, Outcome::kTooLong,    Outcome::kRefused};

/// A poll every ten seconds, and a clock.
struct PollBench {
  PodResourcesPoll::Time now = PodResourcesPoll::Time() + 1h;
  PodResourcesPoll poll{10s, now};

  /// The time until the next call; nothing while a call is pending.
  std::optional<Duration> due() const {
    if (!poll.due()) return std::nullopt;
    return *poll.due() - now;
  }
  /// Waits until a call is due and begins it.
  void Begin() {
    now = *poll.due();
    poll.Begin();
  }
  /// Begins and ends a call.
  void Call(Outcome outcome) {
    Begin();
    poll.End(outcome, now);
  }
  void Soon() { poll.Soon(now); }
};

TEST(PodResourcesPoll, PollsImmediatelyAndThenEveryPeriod) {
  PollBench bench;
  EXPECT_EQ(bench.due(), 0s);
  EXPECT_EQ(bench.poll.version(), Version::kV1);
  EXPECT_EQ(bench.poll.up(), std::nullopt);
  EXPECT_EQ(bench.poll.last(), std::nullopt);
  bench.Begin();
  EXPECT_EQ(bench.due(), std::nullopt);
  bench.now += 2s;
  bench.poll.End(Outcome::kAnswered, bench.now);
  EXPECT_EQ(bench.due(), 10s);
  EXPECT_EQ(bench.poll.up(), true);
  EXPECT_EQ(bench.poll.last(), Outcome::kAnswered);
}

/// The meaning of each outcome after a response.
TEST(PodResourcesPoll, FailureIsAnOutageUntilTheNextResponse) {
  for (const Outcome failure : kFailures) {
    PollBench bench;
    bench.Call(Outcome::kAnswered);
    bench.Call(failure);
    EXPECT_EQ(bench.poll.up(), false) << failure;
    EXPECT_EQ(bench.poll.last(), failure);
    EXPECT_EQ(bench.due(), 10s) << failure;
    bench.Call(Outcome::kAnswered);
    EXPECT_EQ(bench.poll.up(), true) << failure;
  }
}

TEST(PodResourcesPoll, RateLimitBacksOffWithoutAnOutage) {
  PollBench bench;
  bench.Call(Outcome::kRateLimited);
  EXPECT_EQ(bench.poll.up(), std::nullopt);
  for (const bool up : {true, false}) {
    bench.Call(up ? Outcome::kAnswered : Outcome::kNoResponse);
    for (const Duration pause : {20s, 40s, 80s, 120s, 120s}) {
      bench.Call(Outcome::kRateLimited);
      EXPECT_EQ(bench.due(), pause);
      EXPECT_EQ(bench.poll.up(), up);
      EXPECT_EQ(bench.poll.last(), Outcome::kRateLimited);
    }
  }
  bench.Call(Outcome::kAnswered);
  EXPECT_EQ(bench.due(), 10s);
  for (int i = 0; i < 100; ++i) bench.Call(Outcome::kRateLimited);
  EXPECT_EQ(bench.due(), 120s);
}

TEST(PodResourcesPoll, TriesTheOtherVersionImmediately) {
  PollBench bench;
  bench.Call(Outcome::kUnimplemented);
  EXPECT_EQ(bench.due(), 0s);
  EXPECT_EQ(bench.poll.version(), Version::kV1alpha1);
  EXPECT_EQ(bench.poll.up(), std::nullopt);
  EXPECT_EQ(bench.poll.last(), std::nullopt);
  bench.Call(Outcome::kAnswered);
  EXPECT_EQ(bench.due(), 10s);
  EXPECT_EQ(bench.poll.up(), true);
  EXPECT_EQ(bench.poll.version(), Version::kV1alpha1);
}

TEST(PodResourcesPoll, FailsIfNeitherVersionIsImplemented) {
  PollBench bench;
  for (int i = 0; i < 3; ++i) {
    bench.Call(Outcome::kUnimplemented);
    bench.Call(Outcome::kUnimplemented);
    EXPECT_EQ(bench.due(), 10s);
    EXPECT_EQ(bench.poll.up(), false);
    EXPECT_EQ(bench.poll.last(), Outcome::kUnimplemented);
    EXPECT_EQ(bench.poll.version(), Version::kV1);
  }
}

TEST(PodResourcesPoll, KeepsTheWorkingVersionUntilAnError) {
  PollBench old;
  old.Call(Outcome::kUnimplemented);
  old.Call(Outcome::kAnswered);

  PollBench limited = old;
  limited.Call(Outcome::kRateLimited);
  EXPECT_EQ(limited.poll.version(), Version::kV1alpha1);

  for (const Outcome failure : kFailures) {
    PollBench bench = old;
    bench.Call(failure);
    EXPECT_EQ(bench.poll.version(), Version::kV1) << failure;
  }

  PollBench updated = old;
  updated.Call(Outcome::kUnimplemented);
  EXPECT_EQ(updated.due(), 0s);
  EXPECT_EQ(updated.poll.version(), Version::kV1);
  EXPECT_EQ(updated.poll.up(), true);
}

TEST(PodResourcesPoll, SoonSchedulesOnePollInASecond) {
  PollBench bench;
  bench.Call(Outcome::kAnswered);
  bench.now += 3s;
  bench.Soon();
  EXPECT_EQ(bench.due(), 1s);
  bench.now += 400ms;
  bench.Soon();
  EXPECT_EQ(bench.due(), 600ms);
  bench.Call(Outcome::kAnswered);
  EXPECT_EQ(bench.due(), 10s);
  bench.now += 9500ms;
  bench.Soon();
  EXPECT_EQ(bench.due(), 500ms);
}

TEST(PodResourcesPoll, SoonDuringACallSchedulesAnotherPoll) {
  struct Case {
    Duration requested;  ///< after the beginning of the call
    Duration ended;      ///< likewise
    Outcome outcome;
    Duration due;  ///< after the end
  };
  const Case cases[] = {
      {0s, 100ms, Outcome::kAnswered, 900ms},  {500ms, 500ms, Outcome::kAnswered, 1s},
      {0s, 3s, Outcome::kAnswered, 0s},        {0s, 1s, Outcome::kNoResponse, 0s},
      {0s, 100ms, Outcome::kRateLimited, 20s},
  };
  for (const Case& c : cases) {
    PollBench bench;
    bench.Begin();
    const auto begin = bench.now;
    bench.poll.Soon(begin + c.requested);
    bench.poll.Soon(begin + c.ended);
    bench.now = begin + c.ended;
    bench.poll.End(c.outcome, bench.now);
    EXPECT_EQ(bench.due(), c.due) << c.outcome;
    bench.Call(Outcome::kAnswered);
    EXPECT_EQ(bench.due(), 10s) << "the request was honored";
  }
}

TEST(PodResourcesPoll, SoonSurvivesAVersionChange) {
  PollBench bench;
  bench.Begin();
  bench.Soon();
  bench.poll.End(Outcome::kUnimplemented, bench.now);
  EXPECT_EQ(bench.due(), 0s);
  bench.Call(Outcome::kAnswered);
  EXPECT_EQ(bench.due(), 1s);
}

TEST(PodResourcesPoll, SoonWaitsForTheEndOfABackOff) {
  PollBench bench;
  bench.Call(Outcome::kRateLimited);
  bench.Soon();
  EXPECT_EQ(bench.due(), 20s);
}

TEST(PodResourcesPoll, NowPollsImmediatelyOrAfterTheCurrentCall) {
  PollBench bench;
  bench.Begin();
  bench.poll.Now(bench.now);  // after the pending call
  EXPECT_TRUE(bench.poll.End(Outcome::kAnswered, bench.now));
  EXPECT_EQ(bench.due(), 0s);
  bench.Begin();
  bench.poll.End(Outcome::kAnswered, bench.now);
  EXPECT_EQ(bench.due(), 10s);
  bench.poll.Now(bench.now);
  EXPECT_EQ(bench.due(), 0s);
  bench.Begin();
  EXPECT_FALSE(bench.poll.End(Outcome::kUnimplemented, bench.now));  // the other version is called
  bench.Begin();
  EXPECT_TRUE(bench.poll.End(Outcome::kRateLimited, bench.now));
  EXPECT_EQ(bench.due(), 20s);
  bench.poll.Now(bench.now);
  EXPECT_EQ(bench.due(), 0s);
}

}  // namespace
}  // namespace patchbay
