#include "kubelet/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <type_traits>

namespace patchbay {

std::ostream& operator<<(std::ostream& out, RegistrationPhase phase) {
  static constexpr const char* kNames[] = {"kIdle",       "kStarting",   "kRegistering",
                                           "kConfirming", "kRegistered", "kStopping",
                                           "kWaiting",    "kEnded"};
  return out << kNames[static_cast<int>(phase)];
}

std::ostream& operator<<(std::ostream& out, RegistrationAction action) {
  static constexpr const char* kNames[] = {"kStartServer", "kRegister", "kCancelRegister",
                                           "kStopServer"};
  return out << kNames[static_cast<int>(action)];
}

namespace {

using namespace std::chrono_literals;
using Phase = RegistrationPhase;
using Action = RegistrationAction;
using Actions = Registration::Actions;
using testing::ElementsAre;

constexpr Phase kAllPhases[] = {Phase::kIdle,       Phase::kStarting,   Phase::kRegistering,
                                Phase::kConfirming, Phase::kRegistered, Phase::kStopping,
                                Phase::kWaiting,    Phase::kEnded};

/// A registration with a simulated clock.
struct Bench {
  Registration registration;
  Registration::Time now = Registration::Time() + 1h;

  Actions Step(const RegistrationEvent& event) { return registration.Step(event, now); }
  Phase phase() const { return registration.phase(); }
  /// The time until the timer fires; nothing without a timer.
  std::optional<Registration::Duration> timer() const {
    if (!registration.timer()) return std::nullopt;
    return *registration.timer() - now;
  }
  Actions Fire() {
    now = std::max(now, *registration.timer());
    return Step(TimerFired{});
  }

  void ToRegistering() {
    Step(KubeletSeen{1});
    Step(ServerStarted{true});
  }
  void ToConfirming() {
    ToRegistering();
    Step(RegisterDone{true});
  }
  void ToRegistered() {
    ToConfirming();
    Step(StreamsChanged{1});
  }
  void ToStopping() {
    ToRegistered();
    Step(KubeletSeen{2});
  }
  void ToWaiting() {  // the first failure is retried immediately
    Step(KubeletSeen{1});
    Step(ServerStarted{false});
    Step(ServerStarted{false});
  }
};

Bench In(Phase phase) {
  Bench bench;
  switch (phase) {
    case Phase::kIdle: break;
    case Phase::kStarting: bench.Step(KubeletSeen{1}); break;
    case Phase::kRegistering: bench.ToRegistering(); break;
    case Phase::kConfirming: bench.ToConfirming(); break;
    case Phase::kRegistered: bench.ToRegistered(); break;
    case Phase::kStopping: bench.ToStopping(); break;
    case Phase::kWaiting: bench.ToWaiting(); break;
    case Phase::kEnded: bench.Step(EndRequested{}); break;
  }
  EXPECT_EQ(bench.phase(), phase);
  return bench;
}

struct Row {
  Phase phase;
  RegistrationEvent event;
  Phase next;
  Actions actions;
};

void Check(const std::vector<Row>& rows) {
  std::set<Phase> seen;
  for (const Row& row : rows) {
    Bench bench = In(row.phase);
    EXPECT_EQ(bench.Step(row.event), row.actions) << "in " << row.phase;
    EXPECT_EQ(bench.phase(), row.next) << "in " << row.phase;
    seen.insert(row.phase);
  }
  EXPECT_EQ(seen.size(), std::size(kAllPhases)) << "a phase is missing in the table";
}

TEST(Registration, NewKubeletStartsANewServer) {
  Check({{Phase::kIdle, KubeletSeen{9}, Phase::kStarting, {Action::kStartServer}},
         {Phase::kStarting, KubeletSeen{9}, Phase::kStarting, {}},
         {Phase::kRegistering,
          KubeletSeen{9},
          Phase::kStopping,
          {Action::kCancelRegister, Action::kStopServer}},
         {Phase::kConfirming, KubeletSeen{9}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kRegistered, KubeletSeen{9}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, KubeletSeen{9}, Phase::kStopping, {}},
         {Phase::kWaiting, KubeletSeen{9}, Phase::kStarting, {Action::kStartServer}},
         {Phase::kEnded, KubeletSeen{9}, Phase::kEnded, {}}});
}

TEST(Registration, IgnoresTheSameKubelet) {
  for (const Phase phase : kAllPhases) {
    if (phase == Phase::kIdle || phase == Phase::kEnded) continue;
    Bench bench = In(phase);
    const auto timer = bench.timer();
    EXPECT_THAT(bench.Step(KubeletSeen{phase == Phase::kStopping ? 2U : 1U}), ElementsAre());
    EXPECT_EQ(bench.phase(), phase);
    EXPECT_EQ(bench.timer(), timer);
  }
}

TEST(Registration, KeepsItsServerWhenTheKubeletIsLost) {
  Check({{Phase::kIdle, KubeletLost{}, Phase::kIdle, {}},
         {Phase::kStarting, KubeletLost{}, Phase::kStarting, {}},
         {Phase::kRegistering, KubeletLost{}, Phase::kRegistering, {}},
         {Phase::kConfirming, KubeletLost{}, Phase::kConfirming, {}},
         {Phase::kRegistered, KubeletLost{}, Phase::kRegistered, {}},
         {Phase::kStopping, KubeletLost{}, Phase::kStopping, {}},
         {Phase::kWaiting, KubeletLost{}, Phase::kIdle, {}},
         {Phase::kEnded, KubeletLost{}, Phase::kEnded, {}}});
}

TEST(Registration, RegistersWhenTheServerHasStarted) {
  Check({{Phase::kIdle, ServerStarted{true}, Phase::kIdle, {}},
         {Phase::kStarting, ServerStarted{true}, Phase::kRegistering, {Action::kRegister}},
         {Phase::kStarting, ServerStarted{false}, Phase::kStarting, {Action::kStartServer}},
         {Phase::kRegistering, ServerStarted{true}, Phase::kRegistering, {}},
         {Phase::kConfirming, ServerStarted{true}, Phase::kConfirming, {}},
         {Phase::kRegistered, ServerStarted{true}, Phase::kRegistered, {}},
         {Phase::kStopping, ServerStarted{true}, Phase::kStopping, {}},
         {Phase::kWaiting, ServerStarted{true}, Phase::kWaiting, {}},
         {Phase::kEnded, ServerStarted{true}, Phase::kEnded, {}}});
}

TEST(Registration, WaitsWhenTheServerHasStopped) {
  Check({{Phase::kIdle, ServerStopped{}, Phase::kIdle, {}},
         {Phase::kStarting, ServerStopped{}, Phase::kStarting, {}},
         {Phase::kRegistering, ServerStopped{}, Phase::kRegistering, {}},
         {Phase::kConfirming, ServerStopped{}, Phase::kConfirming, {}},
         {Phase::kRegistered, ServerStopped{}, Phase::kRegistered, {}},
         {Phase::kStopping, ServerStopped{}, Phase::kWaiting, {}},
         {Phase::kWaiting, ServerStopped{}, Phase::kWaiting, {}},
         {Phase::kEnded, ServerStopped{}, Phase::kEnded, {}}});
}

TEST(Registration, WaitsForAStreamAfterRegister) {
  Check({{Phase::kIdle, RegisterDone{true}, Phase::kIdle, {}},
         {Phase::kStarting, RegisterDone{true}, Phase::kStarting, {}},
         {Phase::kRegistering, RegisterDone{true}, Phase::kConfirming, {}},
         {Phase::kConfirming, RegisterDone{true}, Phase::kConfirming, {}},
         {Phase::kRegistered, RegisterDone{true}, Phase::kRegistered, {}},
         {Phase::kStopping, RegisterDone{true}, Phase::kStopping, {}},
         {Phase::kWaiting, RegisterDone{true}, Phase::kWaiting, {}},
         {Phase::kEnded, RegisterDone{true}, Phase::kEnded, {}}});
}

TEST(Registration, StopsTheServerWhenRegisterFails) {
  Check({{Phase::kIdle, RegisterDone{false}, Phase::kIdle, {}},
         {Phase::kStarting, RegisterDone{false}, Phase::kStarting, {}},
         {Phase::kRegistering, RegisterDone{false}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kConfirming, RegisterDone{false}, Phase::kConfirming, {}},
         {Phase::kRegistered, RegisterDone{false}, Phase::kRegistered, {}},
         {Phase::kStopping, RegisterDone{false}, Phase::kStopping, {}},
         {Phase::kWaiting, RegisterDone{false}, Phase::kWaiting, {}},
         {Phase::kEnded, RegisterDone{false}, Phase::kEnded, {}}});
}

TEST(Registration, IsRegisteredWhenAStreamOpens) {
  Check({{Phase::kIdle, StreamsChanged{1}, Phase::kIdle, {}},
         {Phase::kStarting, StreamsChanged{1}, Phase::kStarting, {}},
         {Phase::kRegistering, StreamsChanged{1}, Phase::kRegistering, {}},
         {Phase::kConfirming, StreamsChanged{1}, Phase::kRegistered, {}},
         {Phase::kRegistered, StreamsChanged{2}, Phase::kRegistered, {}},
         {Phase::kRegistered, StreamsChanged{1, true}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, StreamsChanged{1}, Phase::kStopping, {}},
         {Phase::kWaiting, StreamsChanged{1}, Phase::kWaiting, {}},
         {Phase::kEnded, StreamsChanged{1}, Phase::kEnded, {}}});
}

TEST(Registration, StopsTheServerWhenTheLastStreamEnds) {
  Check({{Phase::kIdle, StreamsChanged{0}, Phase::kIdle, {}},
         {Phase::kStarting, StreamsChanged{0}, Phase::kStarting, {}},
         {Phase::kRegistering, StreamsChanged{0}, Phase::kRegistering, {}},
         {Phase::kConfirming, StreamsChanged{0}, Phase::kConfirming, {}},
         {Phase::kRegistered, StreamsChanged{0}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, StreamsChanged{0}, Phase::kStopping, {}},
         {Phase::kWaiting, StreamsChanged{0}, Phase::kWaiting, {}},
         {Phase::kEnded, StreamsChanged{0}, Phase::kEnded, {}}});
}

TEST(Registration, StopsTheServerWhenItsSocketIsDeleted) {
  Check({{Phase::kIdle, OwnSocketLost{}, Phase::kIdle, {}},
         {Phase::kStarting, OwnSocketLost{}, Phase::kStarting, {}},
         {Phase::kRegistering,
          OwnSocketLost{},
          Phase::kStopping,
          {Action::kCancelRegister, Action::kStopServer}},
         {Phase::kConfirming, OwnSocketLost{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kRegistered, OwnSocketLost{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, OwnSocketLost{}, Phase::kStopping, {}},
         {Phase::kWaiting, OwnSocketLost{}, Phase::kWaiting, {}},
         {Phase::kEnded, OwnSocketLost{}, Phase::kEnded, {}}});
}

TEST(Registration, StopsTheServerWhenOptionsChange) {
  Check({{Phase::kIdle, OptionsChanged{}, Phase::kIdle, {}},
         {Phase::kStarting, OptionsChanged{}, Phase::kStarting, {}},
         {Phase::kRegistering,
          OptionsChanged{},
          Phase::kStopping,
          {Action::kCancelRegister, Action::kStopServer}},
         {Phase::kConfirming, OptionsChanged{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kRegistered, OptionsChanged{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, OptionsChanged{}, Phase::kStopping, {}},
         {Phase::kWaiting, OptionsChanged{}, Phase::kWaiting, {}},
         {Phase::kEnded, OptionsChanged{}, Phase::kEnded, {}}});
  // This is not a failure: the kubelet only has to notice the end of the stream.
  Bench bench = In(Phase::kRegistered);
  bench.Step(OptionsChanged{});
  bench.Step(ServerStopped{});
  EXPECT_EQ(bench.timer(), kSettle);
  // Without a kubelet, the streams remain, and the next kubelet gets the new options.
  Bench without = In(Phase::kRegistered);
  without.Step(KubeletLost{});
  EXPECT_THAT(without.Step(OptionsChanged{}), ElementsAre());
  EXPECT_THAT(without.Step(KubeletSeen{2}), ElementsAre(Action::kStopServer));
}

// A rolling update that is undone: the newer process ends, and the kubelet reports nothing.
TEST(Registration, Case22RegistersAgainWhenTheOthersAreGone) {
  Bench bench = In(Phase::kRegistered);
  EXPECT_THAT(bench.Step(OthersServe{false}), ElementsAre());
  EXPECT_THAT(bench.Step(OthersServe{true}), ElementsAre());
  EXPECT_FALSE(bench.timer());
  EXPECT_THAT(bench.Step(OthersServe{false}), ElementsAre());
  EXPECT_EQ(bench.timer(), kOthersReturn);
  // The other process only changed its socket.
  bench.now += 1s;
  EXPECT_THAT(bench.Step(OthersServe{true}), ElementsAre());
  EXPECT_FALSE(bench.timer());

  bench.Step(OthersServe{false});
  bench.now += 1s;
  bench.Step(OthersServe{false});  // reported again, which does not extend the wait
  EXPECT_EQ(bench.timer(), kOthersReturn - 1s);
  EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStopServer));
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre());
  EXPECT_EQ(bench.timer(), kSettle);  // a kubelet can still have the stream
  EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStartServer));
}

TEST(Registration, IgnoresOtherProcessesUnlessRegistered) {
  for (const Phase phase : kAllPhases) {
    if (phase == Phase::kRegistered) continue;
    Bench bench = In(phase);
    const auto timer = bench.timer();
    EXPECT_THAT(bench.Step(OthersServe{true}), ElementsAre());
    EXPECT_THAT(bench.Step(OthersServe{false}), ElementsAre());
    EXPECT_EQ(bench.phase(), phase);
    EXPECT_EQ(bench.timer(), timer);
  }
  Bench without_kubelet = In(Phase::kRegistered);
  without_kubelet.Step(KubeletLost{});
  without_kubelet.Step(OthersServe{true});
  without_kubelet.Step(OthersServe{false});
  EXPECT_THAT(without_kubelet.Fire(), ElementsAre());
  EXPECT_EQ(without_kubelet.phase(), Phase::kRegistered);
}

TEST(Registration, IgnoresTimersThatAreEarlyOrUnset) {
  for (const Phase phase : kAllPhases) {
    Bench bench = In(phase);
    if (bench.timer()) {
      EXPECT_THAT(bench.Step(TimerFired{}), ElementsAre()) << "early in " << phase;
      EXPECT_EQ(bench.phase(), phase);
      bench.Fire();
      EXPECT_NE(bench.phase(), phase);
    } else {
      EXPECT_THAT(bench.Step(TimerFired{}), ElementsAre()) << phase;
      EXPECT_EQ(bench.phase(), phase);
    }
  }
}

TEST(Registration, EndStopsTheServer) {
  Check({{Phase::kIdle, EndRequested{}, Phase::kEnded, {}},
         {Phase::kStarting, EndRequested{}, Phase::kStarting, {}},
         {Phase::kRegistering,
          EndRequested{},
          Phase::kStopping,
          {Action::kCancelRegister, Action::kStopServer}},
         {Phase::kConfirming, EndRequested{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kRegistered, EndRequested{}, Phase::kStopping, {Action::kStopServer}},
         {Phase::kStopping, EndRequested{}, Phase::kStopping, {}},
         {Phase::kWaiting, EndRequested{}, Phase::kEnded, {}},
         {Phase::kEnded, EndRequested{}, Phase::kEnded, {}}});
}

TEST(Registration, EndsWithAnyPendingResult) {
  for (const bool ok : {true, false}) {
    Bench bench = In(Phase::kStarting);
    bench.Step(EndRequested{});
    EXPECT_EQ(bench.Step(ServerStarted{ok}), ok ? Actions{Action::kStopServer} : Actions{});
    if (ok) bench.Step(ServerStopped{});
    EXPECT_EQ(bench.phase(), Phase::kEnded);
  }
  for (const Phase phase :
       {Phase::kRegistering, Phase::kConfirming, Phase::kRegistered, Phase::kStopping}) {
    Bench bench = In(phase);
    bench.Step(EndRequested{});
    EXPECT_THAT(bench.Step(KubeletSeen{7}), ElementsAre());
    EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre());
    EXPECT_EQ(bench.phase(), Phase::kEnded);
    EXPECT_FALSE(bench.timer());
  }
}

TEST(Registration, Case04AcceptedButNeverDialed) {
  Bench bench = In(Phase::kConfirming);
  EXPECT_EQ(bench.timer(), kConfirmDeadline);
  EXPECT_EQ(kConfirmDeadline, 20s);
  EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStopServer));
  // Immediately, then with increasing delays up to the maximum.
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre(Action::kStartServer));
  Registration::Duration last{};
  for (int i = 0; i < 20; ++i) {
    bench.Step(ServerStarted{true});
    bench.Step(RegisterDone{true});
    bench.Fire();
    bench.Step(ServerStopped{});
    EXPECT_GE(*bench.timer(), last);
    EXPECT_LE(*bench.timer(), kMaxBackOff);
    last = *bench.timer();
    EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStartServer));
  }
  EXPECT_EQ(last, kMaxBackOff);
}

// A kubelet that asks for the options opens the stream right after its response, unless an older
// stream has ended meanwhile.
TEST(Registration, Case21AskedButNeverWatched) {
  Bench bench = In(Phase::kRegistering);
  bench.Step(RegisterDone{true, true});
  std::vector<Registration::Duration> deadlines;
  for (int i = 0; i < 6; ++i) {
    deadlines.push_back(*bench.timer());
    EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStopServer));
    bench.Step(ServerStopped{});
    if (bench.timer()) bench.Fire();
    bench.Step(ServerStarted{true});
    bench.Step(RegisterDone{true, true});
  }
  EXPECT_THAT(deadlines, ElementsAre(2s, 4s, 8s, 16s, 20s, 20s));
  bench.Step(StreamsChanged{1});
  EXPECT_EQ(bench.phase(), Phase::kRegistered);
}

// The call exceeded its deadline; the server stops before the next attempt.
TEST(Registration, Case18RegisterTimedOut) {
  EXPECT_GE(kRegisterDeadline, 15s);
  Bench bench = In(Phase::kRegistering);
  bench.now += kRegisterDeadline;
  EXPECT_THAT(bench.Step(RegisterDone{false}), ElementsAre(Action::kStopServer));
  EXPECT_THAT(bench.Step(StreamsChanged{1}), ElementsAre());  // the late connect
  EXPECT_EQ(bench.phase(), Phase::kStopping);
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre(Action::kStartServer));
}

TEST(Registration, BackOffDoublesUpToTheMaximum) {
  Bench bench = In(Phase::kStarting);
  EXPECT_THAT(bench.Step(ServerStarted{false}), ElementsAre(Action::kStartServer));
  Registration::Duration expected = kFirstBackOff;
  for (int failure = 2; failure <= 100; ++failure) {
    bench.Step(ServerStarted{false});
    EXPECT_EQ(bench.registration.failures(), failure);
    EXPECT_EQ(bench.timer(), expected) << failure;
    expected = std::min<Registration::Duration>(expected * 2, kMaxBackOff);
    bench.Fire();
  }
}

// The wall clock is not used, so setting it has no effect. After a suspend, only one timer has
// expired.
TEST(Registration, Case53SleepOfADayCausesOneAttempt) {
  static_assert(std::is_same_v<Registration::Time, std::chrono::steady_clock::time_point>);
  static_assert(std::chrono::steady_clock::is_steady);
  Bench bench = In(Phase::kWaiting);
  bench.now += 24h;
  EXPECT_THAT(bench.Fire(), ElementsAre(Action::kStartServer));
  EXPECT_THAT(bench.Step(TimerFired{}), ElementsAre());
  EXPECT_THAT(bench.Step(ServerStarted{false}), ElementsAre());
  EXPECT_EQ(bench.registration.failures(), 3);
  EXPECT_EQ(bench.timer(), kFirstBackOff * 2);
}

TEST(Registration, NewKubeletResetsTheBackOff) {
  Bench bench = In(Phase::kStarting);
  for (int i = 0; i < 8; ++i) {
    bench.Step(ServerStarted{false});
    if (i > 0) bench.Fire();
  }
  bench.Step(ServerStarted{false});
  EXPECT_THAT(bench.Step(KubeletSeen{2}), ElementsAre(Action::kStartServer));
  EXPECT_EQ(bench.registration.failures(), 0);
  EXPECT_THAT(bench.Step(ServerStarted{false}), ElementsAre(Action::kStartServer));
}

TEST(Registration, LongStreamResetsTheBackOff) {
  for (const bool proven : {false, true}) {
    Bench bench = In(Phase::kStarting);
    for (int i = 0; i < 3; ++i) {
      bench.Step(ServerStarted{false});
      if (i > 0) bench.Fire();
    }
    bench.Step(ServerStarted{true});
    bench.Step(RegisterDone{true});
    bench.Step(StreamsChanged{1});
    bench.now += proven ? kProvenStream : kProvenStream - 1ms;
    bench.Step(StreamsChanged{0});
    EXPECT_EQ(bench.Step(ServerStopped{}), proven ? Actions{Action::kStartServer} : Actions{});
    if (!proven) {
      EXPECT_EQ(bench.timer(), kFirstBackOff * 4);
    }
  }
}

// A rolling update with a surge: when the old process ends, the kubelet removes the resource and
// ends the stream of the new process. No device can be allocated until that one has registered
// again.
TEST(Registration, RegistersImmediatelyIfTheKubeletEndsTheStream) {
  Bench bench = In(Phase::kRegistered);
  EXPECT_THAT(bench.Step(StreamsChanged{0, true}), ElementsAre(Action::kStopServer));
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre(Action::kStartServer));
  EXPECT_THAT(bench.Step(ServerStarted{true}), ElementsAre(Action::kRegister));
  // But not repeatedly.
  bench.Step(RegisterDone{true});
  bench.Step(StreamsChanged{1});
  bench.Step(StreamsChanged{0, true});
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre());
  EXPECT_EQ(bench.timer(), kFirstBackOff);
}

// A stream of another client does not cause a wait.
TEST(Registration, RegistersImmediatelyIfTheFirstOfTwoStreamsEnds) {
  Bench bench = In(Phase::kRegistered);
  bench.Step(StreamsChanged{2});
  EXPECT_THAT(bench.Step(StreamsChanged{1, true}), ElementsAre(Action::kStopServer));
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre(Action::kStartServer));
}

// The pause applies to the first retry too: Register failed, but the kubelet has a stream.
TEST(Registration, SettlesAfterAFailureWithAnOpenStream) {
  Bench bench = In(Phase::kRegistering);
  bench.Step(StreamsChanged{1});
  EXPECT_THAT(bench.Step(RegisterDone{false}), ElementsAre(Action::kStopServer));
  EXPECT_THAT(bench.Step(ServerStopped{}), ElementsAre());
  EXPECT_EQ(bench.timer(), kSettle);
}

// A kubelet with an open stream needs time to notice its end.
TEST(Registration, SettlesAfterItEndsAStream) {
  Bench bench = In(Phase::kRegistered);
  bench.Step(KubeletSeen{2});
  bench.Step(ServerStopped{});
  EXPECT_EQ(bench.phase(), Phase::kWaiting);
  EXPECT_EQ(bench.timer(), kSettle);
  EXPECT_GE(kSettle, 200ms);

  Bench without = In(Phase::kConfirming);
  without.Step(KubeletSeen{2});
  EXPECT_THAT(without.Step(ServerStopped{}), ElementsAre(Action::kStartServer));

  Bench lost = In(Phase::kRegistered);
  lost.Step(OwnSocketLost{});
  lost.Step(ServerStopped{});
  EXPECT_EQ(lost.timer(), kSettle);
}

TEST(Registration, NewKubeletShortensTheBackOffToTheSettleTime) {
  Bench bench = In(Phase::kStarting);
  for (int i = 0; i < 8; ++i) {
    bench.Step(ServerStarted{false});
    if (i > 0) bench.Fire();
  }
  bench.Step(ServerStarted{true});
  bench.Step(RegisterDone{false});  // the pause would be long
  bench.Step(KubeletSeen{2});
  bench.Step(ServerStopped{});
  EXPECT_EQ(bench.timer(), kSettle);
}

TEST(Registration, StreamBeforeTheRegisterResponseCounts) {
  Bench bench = In(Phase::kRegistering);
  bench.Step(StreamsChanged{1});
  EXPECT_EQ(bench.phase(), Phase::kRegistering);
  bench.Step(RegisterDone{true});
  EXPECT_EQ(bench.phase(), Phase::kRegistered);
}

TEST(Registration, StreamEndedBeforeTheRegisterResponseStopsServer) {
  Bench bench = In(Phase::kRegistering);
  bench.Step(StreamsChanged{1});
  bench.Step(StreamsChanged{0});
  EXPECT_THAT(bench.Step(RegisterDone{true}), ElementsAre(Action::kStopServer));
}

TEST(Registration, StopsTheServerOnlyAfterTheLastOfSeveralStreams) {
  Bench bench = In(Phase::kRegistered);
  for (const int open : {2, 3, 2, 1}) {
    EXPECT_THAT(bench.Step(StreamsChanged{open}), ElementsAre());
    EXPECT_EQ(bench.phase(), Phase::kRegistered);
  }
  EXPECT_THAT(bench.Step(StreamsChanged{0}), ElementsAre(Action::kStopServer));
}

// Without a kubelet, open streams are kept.
TEST(Registration, KeepsItsStreamsWithoutAKubelet) {
  Bench bench = In(Phase::kRegistered);
  bench.Step(KubeletLost{});
  EXPECT_THAT(bench.Step(OwnSocketLost{}), ElementsAre());
  EXPECT_EQ(bench.phase(), Phase::kRegistered);
  bench.Step(StreamsChanged{0});
  bench.Step(ServerStopped{});
  EXPECT_EQ(bench.phase(), Phase::kIdle);
  EXPECT_FALSE(bench.timer());
  EXPECT_THAT(bench.Step(KubeletSeen{2}), ElementsAre(Action::kStartServer));
}

/// The environment of a registration: performs its actions and checks its invariants.
class Environment {
 public:
  explicit Environment(unsigned seed) : random_(seed) {}

  /// A random event, possibly an unlikely one.
  void Anything() {
    bench_.now += std::chrono::milliseconds(Pick(2000));
    switch (Pick(13)) {
      case 0: return Step(KubeletSeen{static_cast<std::uint64_t>(Pick(3))});
      case 1: return Step(KubeletSeen{++epoch_});
      case 2: return Step(KubeletLost{});
      case 3: return Step(StreamsChanged{Pick(3)});
      case 4: return Step(OwnSocketLost{});
      case 5: return Step(TimerFired{});
      case 6:
        if (bench_.timer()) Fire();
        return;
      case 7:
        if (!registering_) Step(RegisterDone{Pick(2) == 0});  // without a call
        return;
      case 8: return Step(OthersServe{Pick(2) == 0});
      default: return Complete(Pick(3) != 0);
    }
  }

  /// Completes the pending operation. Returns whether there was one.
  void Complete(bool ok) {
    if (starting_) {
      starting_ = false;
      running_ = ok;
      Step(ServerStarted{ok});
    } else if (stopping_) {
      stopping_ = running_ = false;
      Step(ServerStopped{});
    } else if (registering_) {
      registering_ = false;
      Step(RegisterDone{ok});
    }
  }
  bool Pending() const { return starting_ || stopping_ || registering_; }

  /// A kubelet without faults.
  void Heal() {
    Step(KubeletSeen{++epoch_});
    for (int i = 0; i < 20 && bench_.phase() != Phase::kRegistered; ++i) {
      if (Pending()) {
        Complete(true);
        if (bench_.phase() == Phase::kConfirming) Step(StreamsChanged{1});
      } else if (bench_.timer()) {
        Fire();
      }
    }
    EXPECT_EQ(bench_.phase(), Phase::kRegistered);
  }

  void End() {
    Step(EndRequested{});
    for (int i = 0; i < 5 && bench_.phase() != Phase::kEnded; ++i) Complete(Pick(2) == 0);
    EXPECT_EQ(bench_.phase(), Phase::kEnded);
    EXPECT_FALSE(running_ || Pending());
    for (int i = 0; i < 20; ++i) Anything();
    EXPECT_EQ(bench_.phase(), Phase::kEnded);
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void Fire() {
    bench_.now = std::max(bench_.now, *bench_.registration.timer());
    Step(TimerFired{});
  }

  void Step(const RegistrationEvent& event) {
    for (const Action action : bench_.Step(event)) Act(action);
    const Phase phase = bench_.phase();
    if (phase != Phase::kRegistered) {  // kRegistered can wait for another process
      EXPECT_EQ(bench_.timer().has_value(), phase == Phase::kConfirming || phase == Phase::kWaiting)
          << phase;
    }
    EXPECT_EQ(starting_, phase == Phase::kStarting);
    EXPECT_EQ(stopping_, phase == Phase::kStopping);
    EXPECT_EQ(registering_, phase == Phase::kRegistering);
    EXPECT_EQ(running_ && !stopping_, phase == Phase::kRegistering || phase == Phase::kConfirming ||
                                          phase == Phase::kRegistered)
        << phase;
  }

  void Act(Action action) {
    switch (action) {
      case Action::kStartServer:
        EXPECT_FALSE(running_ || starting_ || stopping_) << "two servers";
        starting_ = true;
        return;
      case Action::kRegister:
        EXPECT_TRUE(running_ && !stopping_ && !registering_) << "registers without a server";
        registering_ = true;
        return;
      case Action::kCancelRegister:
        EXPECT_TRUE(registering_) << "cancels nothing";
        registering_ = false;
        return;
      case Action::kStopServer:
        EXPECT_TRUE(running_ && !stopping_) << "stops a server that does not run";
        EXPECT_FALSE(registering_) << "stops during a registration";
        stopping_ = true;
        return;
    }
  }

  Bench bench_;
  std::mt19937 random_;
  std::uint64_t epoch_ = 100;
  bool starting_ = false;
  bool running_ = false;
  bool stopping_ = false;
  bool registering_ = false;
};

TEST(Registration, InvariantsHoldForRandomEvents) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Environment environment(seed);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 60; ++i) environment.Anything();
      environment.Heal();
    }
    for (unsigned i = 0; i < seed % 30; ++i) environment.Anything();
    environment.End();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace patchbay
