// Rounds of whatever can happen to the daemon, in any order: kubelets that restart, crash, hang and
// lose their directory, devices that flap, sockets that are deleted, configurations that are
// rewritten. After each round peace is made, and within seconds all must be as it should: each
// resource of the last valid configuration registered once, the kubelet's list equal to the truth,
// and nothing left behind.
//
// PATCHBAY_CHAOS_SECONDS says for how long, PATCHBAY_CHAOS_SEED what happens; the seed is printed.
// When it happens is up to the machine. PATCHBAY_CHAOS_PATIENCE is for busy ones, in seconds.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "chaos/config_files.h"
#include "chaos/configuration.h"
#include "chaos/host.h"
#include "chaos/judge.h"
#include "chaos/pods.h"
#include "chaos/random.h"
#include "chaos/troubles.h"
#include "support/daemon_process.h"
#include "support/environment.h"
#include "support/sanitizer.h"

namespace patchbay::test {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kPatienceSeconds = kHasAddressSanitizer ? 30 : 5;

/// Ends as the state of the device says, or does not end.
constexpr std::string_view kProbeProgram = R"(#!/bin/sh
read -r state < "$1"
case $state in
ok) ;;
hangs) trap '' TERM; sleep 1000 & wait; exec sleep 1000 ;;
*) exit 1 ;;
esac
)";

KubeletSimOptions Kubelet(Random& random) {
  static constexpr KubeletProfile kProfiles[] = {KubeletProfile::kAsync, KubeletProfile::kSync,
                                                 KubeletProfile::kMulti};
  KubeletSimOptions options;
  options.profile = random.OneOf(kProfiles);
  options.silent_dedupe = random.OneIn(2);
  return options;
}

class Chaos : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    std::printf("PATCHBAY_CHAOS_SEED=%u, %s\n", seed_, files_.kind().c_str());
    std::fflush(stdout);
    daemon_.host().File("probe", kProbeProgram);
    ASSERT_EQ(chmod(daemon_.host().path("probe").c_str(), 0755), 0);
    files_.Write(configuration_.Toml(), random_);
    daemon_.Run(files_.path());
    ASSERT_TRUE(IsWellSoon());
    judge_.TakeMeasure();
  }
  void TearDown() override {
    if (HasFailure()) std::printf("%s\n", daemon_.LogTail().c_str());
  }

  void Run(std::chrono::seconds duration) {
    const auto end = Clock::now() + duration;
    for (round_ = 1; Clock::now() < end && !HasFailure(); ++round_) Round();
    std::printf("%zu rounds, %zu of them calm, %zu actions; well again after %lld ms at most\n%s\n",
                round_ - 1, calm_rounds_, actions_, static_cast<long long>(slowest_.count()),
                judge_.Holdings().c_str());
    EXPECT_EQ(daemon_.Stop(), 0);
  }

 private:
  struct Action {
    std::function<std::string()> act;  ///< says what was done
    bool is_calm = false;              ///< no reason for a resource to register again
  };

  // --- what happens ---

  void Round() {
    history_.clear();
    is_calm_ = true;
    kept_ = configuration_.Registrations();
    const std::size_t starts = troubles_.starts();
    const auto registered = RegisterCalls();
    const std::vector<Action> moods = Moods();
    for (std::size_t left = 5 + random_.Below(36); left > 0; --left) {
      Do(random_.OneOf(moods));
      if (random_.OneIn(2)) Pause(random_.OneIn(5) ? 100 + random_.Below(150) : random_.Below(30));
    }
    MakePeace();
    const bool is_well = IsWellSoon();
    if (is_calm_ && troubles_.starts() == starts) ExpectKept(registered);
    if (is_well && !HasFailure()) return;
    std::string story;
    for (const std::string& action : history_) story += "  " + action + "\n";
    ADD_FAILURE() << "PATCHBAY_CHAOS_SEED=" << seed_ << ", round " << round_ << ":\n" << story;
  }

  /// A part of what can happen: what never happens alone with few others hides what they do.
  std::vector<Action> Moods() {
    std::vector<Action> all = Actions(), some;
    if (random_.OneIn(3)) std::erase_if(all, [](const Action& action) { return !action.is_calm; });
    const std::size_t one_in = 2 + random_.Below(4);
    std::copy_if(all.begin(), all.end(), std::back_inserter(some),
                 [&](const Action&) { return random_.OneIn(one_in); });
    return some.empty() ? all : some;
  }

  std::vector<Action> Actions() {
    const bool calm = true, calm_if_atomic = files_.IsAtomic();
    return {
        {[&] { return troubles_.Restart(); }},
        {[&] { return troubles_.Crash(); }},
        {[&] { return troubles_.Stop(); }},
        {[&] { return troubles_.Start(); }},
        {[&] { return troubles_.WipeDirectory(); }},
        {[&] { return troubles_.ReplaceDirectory(random_); }},
        {[&] { return troubles_.FailRegister(Name(), random_); }},
        {[&] { return troubles_.BreakStreams(Name(), random_); }},
        {[&] { return troubles_.DeleteSocket(Name()); }},
        {[&] { return troubles_.OpenStreams(Name(), random_); }, calm},
        {[&] { return troubles_.StopReading(Name()); }, calm},
        {[&] { return troubles_.ResumeReading(Name()); }, calm},
        {[&] { return host_.Churn(random_); }, calm},
        {[&] { return host_.Churn(random_); }, calm},
        {[&] { return host_.Storm(random_); }, calm},
        {[&] { return host_.RemoveDirectory(random_); }, calm},
        {[&] { return host_.Retarget(random_); }, calm},
        {[&] { return host_.FlipProbe(random_); }, calm},
        {[&] { return host_.FlipProbe(random_); }, calm},
        {[&] { return AddPods(); }, calm},
        {[&] { return Signal(SIGUSR1, "SIGUSR1"); }, calm},
        {[&] { return Signal(SIGHUP, "SIGHUP"); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return WriteAsItWas(); }, calm_if_atomic},
        {[&] { return WriteMistake(); }, calm_if_atomic},
        {[&] { return WriteHalf(); }, calm_if_atomic},
        {[&] { return WriteNothing(); }},
    };
  }

  std::string Name() { return random_.OneOf(configuration_.resources()).name; }

  std::string AddPods() {
    const std::string resource = Name();
    const std::size_t pods = 1 + random_.Below(5), devices = 1 + random_.Below(2);
    for (std::size_t i = 0; i < pods; ++i) pods_.Add(resource, static_cast<int>(devices));
    return format("{} pods with {} of {}", pods, devices, resource);
  }
  std::string Signal(int number, const char* name) {
    const std::size_t times = 1 + random_.Below(20);
    for (std::size_t i = 0; i < times; ++i) kill(daemon_.pid(), number);
    return format("{} times {}", times, name);
  }
  std::string Change() {
    std::string what = configuration_.Change(random_);
    std::set<Configuration::Registration> still;
    const auto now = configuration_.Registrations();
    std::set_intersection(kept_.begin(), kept_.end(), now.begin(), now.end(),
                          std::inserter(still, still.end()));
    kept_ = still;
    return what;
  }
  std::string Reconfigure() {
    const std::string what = Change();
    return format("{}, {}", what, files_.Write(configuration_.Toml(), random_));
  }
  std::string WriteAsItWas() {
    return "the configuration as it was, " + files_.Write(configuration_.Toml(), random_);
  }
  std::string WriteHalf() {
    const std::string what = Change();
    return format("{}, {}", what, files_.WriteHalf(configuration_.Toml(), random_));
  }
  std::string WriteMistake() {
    static constexpr std::string_view kMistakes[] = {
        "",
        "[[resource",
        "[[resource]]\nname = \"chaos.dev/r0\"\n",
        "unknown = 1\n",
        "\xff\xfe",
        "[[resource]]\nname = \"not a name\"\n[[resource.match]]\ncount = 1\n"};
    const std::string mistake = configuration_.Toml() + std::string(random_.OneOf(kMistakes));
    return "a mistake, " + files_.Write(mistake, random_);
  }
  std::string WriteNothing() { return "no resources, " + files_.Write("", random_); }

  void MakePeace() {
    const bool is_configuration_last = random_.OneIn(2);
    const Action end{[&] { return troubles_.End(random_); }, true};
    if (is_configuration_last) Do(end);
    if (random_.OneIn(2)) Pause(random_.Below(200));
    Do({[&] { return WriteAsItWas(); }, true});
    if (!is_configuration_last) Do(end);
  }

  void Do(const Action& action) {
    history_.push_back(action.act());
    is_calm_ = is_calm_ && action.is_calm;
    ++actions_;
  }
  static void Pause(std::size_t ms) { poll(nullptr, 0, static_cast<int>(ms)); }

  // --- what must be then ---

  bool IsWellSoon() {
    const auto start = Clock::now();
    const auto deadline =
        start + std::chrono::seconds(FromEnvironment("PATCHBAY_CHAOS_PATIENCE", kPatienceSeconds));
    for (std::string wrong = "?"; !wrong.empty(); Pause(5)) {
      const bool is_late = Clock::now() > deadline;
      wrong = judge_.WhatIsWrong();
      if (wrong.empty() || !is_late) continue;
      ADD_FAILURE() << "not well again, but:\n" << wrong;
      return false;
    }
    slowest_ = std::max(slowest_, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
    return true;
  }

  /// Whatever became of its devices and its other keys, the kubelet was not asked again.
  void ExpectKept(const std::map<std::string, std::size_t>& before) {
    ++calm_rounds_;
    auto now = RegisterCalls();
    for (const auto& [name, packed] : kept_) {
      const auto had = before.find(name);
      EXPECT_EQ(now[name], had == before.end() ? 0 : had->second)
          << name << " was registered again without a reason";
    }
  }
  std::map<std::string, std::size_t> RegisterCalls() {
    std::map<std::string, std::size_t> calls;
    for (const RegisterCall& call : daemon_.kubelet().RegisterCalls()) ++calls[call.resource];
    return calls;
  }

  const unsigned seed_ = FromEnvironment("PATCHBAY_CHAOS_SEED", std::random_device{}());
  Random random_{seed_};
  DaemonProcess daemon_{Kubelet(random_)};
  TempTree config_;
  Host host_{daemon_.host()};
  Configuration configuration_{random_, daemon_.host().path()};
  // Without the rescan, which would mend what was missed; and whoever holds a device, it is
  // forgotten.
  ConfigFiles files_{config_, random_.Below(ConfigFiles::kKinds),
                     format("[daemon]\nrescan = \"24h\"\nlog_level = \"debug\"\npod_resources = "
                            "\"\"\nmax_probes = {}\n",
                            kMostProbes)};
  Troubles troubles_{daemon_.kubelet()};
  Pods pods_{daemon_.kubelet()};
  Judge judge_{{daemon_, configuration_, host_, troubles_, pods_}};
  // Of the round.
  std::vector<std::string> history_;
  bool is_calm_ = true;
  std::set<Configuration::Registration> kept_;
  // Of all.
  std::size_t round_ = 0;
  std::size_t calm_rounds_ = 0;
  std::size_t actions_ = 0;
  milliseconds slowest_{0};
};

TEST_F(Chaos, EndsInOrder) {
  Run(std::chrono::seconds(FromEnvironment("PATCHBAY_CHAOS_SECONDS", 10)));
}

}  // namespace
}  // namespace patchbay::test
