// Rounds of random events in random order: kubelets that restart, crash, hang and lose their
// directory, devices that flap, sockets that are deleted, configurations that are rewritten, file
// systems that do not respond, a log without a reader, and devices and programs with hostile texts.
//
// After each round, the faults end. Within seconds, each resource of the last valid configuration
// must be registered exactly once, the list of the kubelet must equal the actual devices, and
// nothing may be left behind. Hangs end later than the other faults: before, every resource that
// does not depend on them must be in order.
//
// PATCHBAY_CHAOS_SECONDS is the duration. PATCHBAY_CHAOS_SEED determines the events, but not their
// timing; the seed is printed. PATCHBAY_CHAOS_PATIENCE, in seconds, is how long the checks wait;
// set it on busy machines.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "chaos/config_files.h"
#include "chaos/configuration.h"
#include "chaos/hangs.h"
#include "chaos/holders.h"
#include "chaos/host.h"
#include "chaos/kubelet_faults.h"
#include "chaos/log_pipe.h"
#include "chaos/pods.h"
#include "chaos/random.h"
#include "chaos/release_program.h"
#include "chaos/state_checker.h"
#include "support/daemon_process.h"
#include "support/environment.h"
#include "support/sanitizer.h"

namespace patchbay::test {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kPatienceSeconds = kHasAddressSanitizer ? 30 : 5;
/// The maximum time until the daemon calls the PodResources API again, after a failure or a hang.
constexpr unsigned kPollSeconds = 15;
/// The maximum time that a pod whose Allocate hangs delays the next pod.
constexpr unsigned kAllocateSeconds = 6;
/// In a run of this length, each kind of fault happens dozens of times.
constexpr std::chrono::minutes kLong{5};

/// Succeeds, fails or hangs, as the state of the device requires.
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
    daemon_.Run(files_.path(), log_.write_end());
    ASSERT_TRUE(IsWellSoon());
    checker_.SetBaseline();
  }
  void TearDown() override {
    hangs_.EndAll();
    log_.Resume();
    daemon_.Stop();
    if (HasFailure()) std::printf("%s\n", daemon_.LogTail().c_str());
  }

  void Run(std::chrono::seconds duration) {
    const auto end = Clock::now() + duration;
    for (round_ = 1; Clock::now() < end && !HasFailure(); ++round_) Round();
    std::printf(
        "%zu rounds, %zu of them calm, %zu checked while something hung, %zu actions; recovered "
        "after %lld ms at most\n%s\n",
        round_ - 1, calm_rounds_, hanging_rounds_, actions_,
        static_cast<long long>(slowest_.count()), checker_.Holdings().c_str());
    ReportFaults(duration >= kLong);
    if (HasFailure()) return;
    if (random_.OneIn(2)) log_.Stall();
    // LeakSanitizer stops all threads at the exit, and would wait for one that hangs.
    if (!kHasAddressSanitizer && random_.OneIn(2)) BeginHang();
    EXPECT_EQ(daemon_.Stop(), 0);
  }

 private:
  struct Action {
    std::function<std::string()> act;  ///< returns what was done
    bool is_calm = false;              ///< gives no resource a reason to register again
  };

  // --- events ---

  void Round() {
    history_.clear();
    is_calm_ = true;
    kept_ = configuration_.Registrations();
    mounted_.clear();
    AddMounted();
    const std::size_t starts = kubelet_faults_.starts();
    const auto registered = RegisterCalls();
    const std::vector<Action> moods = Moods();
    // These would be rare otherwise.
    if (random_.OneIn(2)) Do({[&] { return UseAndHang(); }, files_.IsAtomic()});
    if (random_.OneIn(2)) Do({[&] { return AndRefresh(host_.ChangeList(random_)); }, true});
    if (random_.OneIn(3)) Do({[&] { return kubelet_faults_.BreakPodResources(); }, true});
    for (std::size_t left = 5 + random_.Below(36); left > 0; --left) {
      Do(random_.OneOf(moods));
      if (random_.OneIn(2)) Pause(random_.OneIn(5) ? 100 + random_.Below(150) : random_.Below(30));
    }
    MakePeace();
    const bool is_well = AreOthersWellSoon() && IsWellSoon() && AreHoldersReported();
    if (is_calm_ && kubelet_faults_.starts() == starts) ExpectKept(registered);
    if (is_well && !HasFailure()) return;
    std::string story;
    for (const std::string& action : history_) story += "  " + action + "\n";
    ADD_FAILURE() << "PATCHBAY_CHAOS_SEED=" << seed_ << ", round " << round_ << ":\n" << story;
  }

  /// Returns a random subset of the actions. With all of them in each round, the effects of
  /// frequent actions would hide those of others.
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
        {[&] { return kubelet_faults_.Restart(); }},
        {[&] { return kubelet_faults_.Crash(); }},
        {[&] { return kubelet_faults_.Stop(); }},
        {[&] { return kubelet_faults_.Start(); }},
        {[&] { return kubelet_faults_.WipeDirectory(); }},
        {[&] { return kubelet_faults_.ReplaceDirectory(random_); }},
        {[&] { return kubelet_faults_.FailRegister(Name(), random_); }},
        {[&] { return kubelet_faults_.BreakStreams(Name(), random_); }},
        {[&] { return kubelet_faults_.DeleteSocket(Name()); }},
        {[&] { return kubelet_faults_.OpenStreams(Name(), random_); }, calm},
        {[&] { return kubelet_faults_.StopReading(Name()); }, calm},
        {[&] { return kubelet_faults_.ResumeReading(Name()); }, calm},
        {[&] { return host_.Churn(random_); }, calm},
        {[&] { return host_.Churn(random_); }, calm},
        {[&] { return host_.Storm(random_); }, calm},
        {[&] { return host_.RemoveDirectory(random_); }, calm},
        {[&] { return host_.Retarget(random_); }, calm},
        {[&] { return host_.FlipProbe(random_); }, calm},
        {[&] { return host_.FlipProbe(random_); }, calm},
        {[&] { return AndRefresh(host_.ChangeList(random_)); }, calm},
        {[&] { return AndRefresh(host_.ChangeList(random_)); }, calm},
        {[&] { return host_.ChangeStick(random_); }, calm},
        {[&] { return BeginHang(); }, calm},
        {[&] { return AndRefresh(BeginHang()); }, calm},
        {[&] { return hangs_.End(random_); }, calm},
        {[&] { return release_.Change(); }, calm},
        {[&] { return kubelet_faults_.BreakPodResources(); }, calm},
        {[&] { return StallLog(); }, calm},
        {[&] { return ReadLog(); }, calm},
        {[&] { return AddPods(Name()); }, calm},
        {[&] { return Signal(SIGUSR1, "SIGUSR1"); }, calm},
        {[&] { return Signal(SIGHUP, "SIGHUP"); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return Reconfigure(); }, calm_if_atomic},
        {[&] { return MoveToOtherNode(); }, calm_if_atomic},
        {[&] { return WriteAsItWas(); }, calm_if_atomic},
        {[&] { return WriteError(); }, calm_if_atomic},
        {[&] { return WriteHalf(); }, calm_if_atomic},
        {[&] { return WriteNothing(); }},
    };
  }

  std::string Name() { return random_.OneOf(configuration_.names()); }

  std::string AddPods(const std::string& resource) {
    const std::size_t pods = 1 + random_.Below(5), devices = 1 + random_.Below(2);
    for (std::size_t i = 0; i < pods; ++i) pods_.Add(resource, static_cast<int>(devices));
    return Format("{} pods with {} of {}", pods, devices, resource);
  }
  std::string Signal(int number, const char* name) {
    const std::size_t times = 1 + random_.Below(20);
    for (std::size_t i = 0; i < times; ++i) kill(daemon_.pid(), number);
    return Format("{} times {}", times, name);
  }
  /// Requests a scan after a change that the daemon cannot detect otherwise.
  std::string AndRefresh(const std::string& what) {
    kill(daemon_.pid(), SIGUSR1);
    return what + ", SIGUSR1";
  }
  /// Makes a directory hang that a resource uses, or any if none is used.
  std::string BeginHang() {
    const auto needs = configuration_.needs();
    if (!needs.empty()) return hangs_.Begin(random_.OneOf(needs).first);
    return hangs_.Begin(static_cast<Hangs::SourceLocation>(random_.Below(Hangs::kPlaces)));
  }
  /// Makes the directories hang in turn, so that each hangs often.
  std::string UseAndHang() {
    const auto place = static_cast<Hangs::SourceLocation>(++hangs_begun_ % Hangs::kPlaces);
    std::string what;
    if (!configuration_.needs().contains(place)) {
      what = configuration_.Use(place, random_) + ", ";
      OnChange();
      what += files_.Write(configuration_.Toml(), random_) + ", ";
    }
    return AndRefresh(what + hangs_.Begin(place));
  }
  void AddMounted() { mounted_.merge(configuration_.mounted()); }
  /// Adds pods of resources whose Allocate may hang. A hook times out soon; the lookup of a node
  /// takes longer and is therefore less frequent.
  void AddPodsThatHang() {
    const auto needs = configuration_.needs();
    for (const Hangs::SourceLocation place : {Hangs::kHook, Hangs::kDeviceNode}) {
      const auto names = needs.find(place);
      if (!hangs_.contains(place) || names == needs.end()) continue;
      if (place == Hangs::kDeviceNode && !random_.OneIn(3)) continue;
      const std::string name = random_.OneOf(names->second);
      Do({[&] { return AddPod(name); }, true});
    }
  }
  std::string AddPod(const std::string& resource) {
    pods_.Add(resource, 1);
    return "a pod with 1 of " + resource;
  }
  std::string StallLog() {
    if (!log_.stalled()) ++faults_seen_["log not read"];
    log_.Stall();
    return "the log has no reader";
  }
  std::string ReadLog() {
    log_.Resume();
    return "the log is read";
  }
  std::string Change() {
    std::string what = configuration_.Change(random_);
    OnChange();
    return what;
  }
  void OnChange() {
    AddMounted();
    std::set<Configuration::Registration> still;
    const auto now = configuration_.Registrations();
    std::set_intersection(kept_.begin(), kept_.end(), now.begin(), now.end(),
                          std::inserter(still, still.end()));
    kept_ = still;
  }
  std::string Reconfigure() {
    const std::string what = Change();
    return Format("{}, {}", what, files_.Write(configuration_.Toml(), random_));
  }
  std::string MoveToOtherNode() {
    ++faults_seen_["on_nodes"];
    const std::string what = configuration_.MoveToOtherNode(random_);
    OnChange();
    return Format("{}, {}", what, files_.Write(configuration_.Toml(), random_));
  }
  std::string WriteAsItWas() {
    return "the configuration as it was, " + files_.Write(configuration_.Toml(), random_);
  }
  std::string WriteHalf() {
    const std::string what = Change();
    return Format("{}, {}", what, files_.WriteHalf(configuration_.Toml(), random_));
  }
  std::string WriteError() {
    static constexpr std::string_view kErrors[] = {
        "",
        "[[resource",
        "[[resource]]\nname = \"chaos.dev/r0\"\n",
        "unknown = 1\n",
        "\xff\xfe",
        "[[resource]]\nname = \"not a name\"\n[[resource.match]]\ncount = 1\n"};
    const std::string invalid = configuration_.Toml() + std::string(random_.OneOf(kErrors));
    return "an error, " + files_.Write(invalid, random_);
  }
  std::string WriteNothing() { return "no resources, " + files_.Write("", random_); }

  void MakePeace() {
    const bool is_configuration_last = random_.OneIn(2);
    const Action end{[&] { return kubelet_faults_.End(random_); }, true};
    if (is_configuration_last) Do(end);
    if (random_.OneIn(2)) Pause(random_.Below(200));
    Do({[&] { return WriteAsItWas(); }, true});
    if (!is_configuration_last) Do(end);
    Do({[&] { return host_.End(); }, true});
    if (host_.TakeNeedsRefresh()) Do({[&] { return Signal(SIGUSR1, "SIGUSR1"); }, true});
  }

  void Do(const Action& action) {
    history_.push_back(Printable(action.act()));
    is_calm_ = is_calm_ && action.is_calm;
    hangs_.Count();
    ++actions_;
  }
  static void Pause(std::size_t ms) { poll(nullptr, 0, static_cast<int>(ms)); }

  // --- checks ---

  /// While something hangs, checks everything that does not depend on it; then ends the hang.
  bool AreOthersWellSoon() {
    if (!hangs_.any() && !log_.stalled() && !kubelet_faults_.is_pod_resources_broken()) return true;
    std::set<std::string> affected = hangs_.any() ? mounted_ : std::set<std::string>();
    // Their hooks may time out while they wait for the kubelet.
    if (kubelet_faults_.does_pod_resources_hang()) affected.merge(configuration_.released());
    ++hanging_rounds_;
    const auto find_errors = [&] { return checker_.FindErrorsExcept(affected); };
    if (!Recovers(find_errors, kAllocateSeconds)) return false;
    if (hangs_.contains(Hangs::kHook) || random_.OneIn(2)) {
      AddPodsThatHang();
      const auto find_errors_then = [&] {
        return pods_.IsIdle() ? find_errors() : "  an Allocate has no response\n";
      };
      if (!Recovers(find_errors_then, 2 * kAllocateSeconds)) return false;
    }
    const auto was_called = [&] { return kubelet_faults_.WasPodResourcesCalled(); };
    if (!Recovers([&] { return was_called() ? "" : "  the PodResources API is not polled\n"; },
                  kPollSeconds)) {
      return false;
    }
    Do({[&] { return hangs_.EndAll(); }, true});
    Do({[&] { return ReadLog(); }, true});
    Do({[&] { return kubelet_faults_.RepairPodResources(); }, true});
    return true;
  }
  bool IsWellSoon() {
    const auto start = Clock::now();
    if (!Recovers([&] { return checker_.FindErrors(); }, kAllocateSeconds)) return false;
    slowest_ = std::max(slowest_, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
    return true;
  }
  /// Checks that the daemon reports the same device usage as the kubelet, and runs release hooks.
  bool AreHoldersReported() {
    if (!Recovers([&] { return checker_.ListLingering(); }, kPollSeconds)) return false;
    if (!random_.OneIn(3)) return true;
    Do({[&] { return release_.Change(); }, true});
    if (!Recovers([&] { return holders_.Begin(); })) return false;
    if (!Recovers([&] { return holders_.FindErrors(); }, kPollSeconds)) return false;
    if (!Recovers([&] { return holders_.HandOver(); })) return false;
    const auto find_errors = [&] { return holders_.FindErrors() + holders_.ListUnreleased(); };
    if (!Recovers(find_errors, kPollSeconds)) return false;
    holders_.End();
    // Allocates released devices again, which makes the daemon call the PodResources API soon.
    return Recovers([&] { return checker_.FindErrors(); }) &&
           Recovers([&] { return holders_.FindErrors() + holders_.ListKept(); }, kPollSeconds);
  }
  bool Recovers(const std::function<std::string()>& find_errors, unsigned more_seconds = 0) {
    const auto deadline =
        Clock::now() +
        std::chrono::seconds(more_seconds +
                             FromEnvironment("PATCHBAY_CHAOS_PATIENCE", kPatienceSeconds));
    for (std::string wrong = "?"; !wrong.empty(); Pause(5)) {
      const bool is_late = Clock::now() > deadline || !checker_.HowDaemonEnded().empty();
      hangs_.Count();
      wrong = find_errors();
      if (wrong.empty() || !is_late) continue;
      ADD_FAILURE() << "not recovered:\n" << Lines(wrong) << "see " << Keep();
      return false;
    }
    return true;
  }
  /// Saves configuration, log and status; returns the directory.
  std::string Keep() {
    const auto kept = std::filesystem::temp_directory_path() / Format("patchbay-chaos-{}", seed_);
    std::filesystem::create_directories(kept);
    std::ofstream(kept / "resources.toml") << configuration_.Toml();
    std::ofstream(kept / "log") << daemon_.Log();
    if (!checker_.HowDaemonEnded().empty()) return kept;
    std::ofstream(kept / "status") << DaemonProcess::Get("/api/v1/status", daemon_.Port()).text;
    return kept;
  }
  /// Escapes each line, because names of devices can contain any bytes.
  static std::string Lines(const std::string& text) {
    std::string lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines += Printable(line) + "\n";
    return lines;
  }

  /// Prints how often each fault happened. With `must_have_been`, each must have happened.
  void ReportFaults(bool must_have_been) {
    auto seen = faults_seen_;
    for (std::size_t i = 0; i < Hangs::kPlaces; ++i) {
      const auto place = static_cast<Hangs::SourceLocation>(i);
      const auto hung = hangs_.hung().find(place);
      seen[Format("{} hung", Hangs::Name(place))] = hung == hangs_.hung().end() ? 0 : hung->second;
    }
    for (const char* way : {"succeeds", "fails", "hangs", "floods", "garbage"}) {
      seen[Format("command {}", way)] = host_.lister().Runs()[way];
    }
    seen["releases checked"] = holders_.checked();
    for (const char* way : {"succeeds", "fails", "hangs"}) {
      seen[Format("release {}", way)] = release_.Ways()[way];
    }
    for (const auto& [way, calls] : kubelet_faults_.pod_resources_calls()) {
      seen[Format("holders {}", way)] = calls;
    }
    std::string text;
    for (const auto& [fault, times] : seen) {
      text += Format("{}{} {}", text.empty() ? "" : ", ", fault, times);
      const bool is_possible = hangs_.why_not().empty() || !fault.ends_with(" hung");
      if (must_have_been && is_possible) {
        EXPECT_GT(times, 0U) << fault;
      }
    }
    std::printf("%s\n", text.c_str());
    if (!hangs_.why_not().empty()) {
      std::printf("no file system hung: %s\n", hangs_.why_not().c_str());
    }
  }

  /// Checks that resources without a reason did not register again, although their devices and
  /// other keys may have changed.
  void ExpectKept(const std::map<std::string, std::size_t>& before) {
    ++calm_rounds_;
    auto now = RegisterCalls();
    for (const auto& [name, packed, released] : kept_) {
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
  LogPipe log_{daemon_.log_path()};
  Host host_{daemon_.host()};
  Hangs hangs_{daemon_.host()};
  ReleaseProgram release_{daemon_.host()};
  Configuration configuration_{random_, {daemon_.host().path(), host_, release_}};
  // Without the periodic rescan, which would hide missed events.
  ConfigFiles files_{config_, random_.Below(ConfigFiles::kKinds),
                     Format("[daemon]\nrescan = \"24h\"\nlog_level = \"debug\"\npod_resources = "
                            "\"{}\"\nmax_probes = {}\n",
                            daemon_.pod_resources(), kMaxProbes)};
  KubeletFaults kubelet_faults_{daemon_.kubelet()};
  Pods pods_{daemon_.kubelet(),
             [&](const std::string& node) { return Configuration::MayGive(node, host_); }};
  Holders holders_{{daemon_, configuration_, release_}};
  StateChecker checker_{{daemon_, configuration_, host_, kubelet_faults_, pods_}};
  // State of the round.
  std::vector<std::string> history_;
  bool is_calm_ = true;
  std::set<Configuration::Registration> kept_;
  /// Resources that have used a directory of Hangs in this round.
  std::set<std::string> mounted_;
  // State of all rounds.
  std::size_t round_ = 0;
  std::size_t calm_rounds_ = 0;
  std::size_t hanging_rounds_ = 0;
  std::size_t hangs_begun_ = 0;
  std::size_t actions_ = 0;
  /// The number of faults that are not counted elsewhere.
  std::map<std::string, std::size_t> faults_seen_{{"log not read", 0}, {"on_nodes", 0}};
  milliseconds slowest_{0};
};

TEST_F(Chaos, ConvergesAfterRandomFaults) {
  Run(std::chrono::seconds(FromEnvironment("PATCHBAY_CHAOS_SECONDS", 10)));
}

}  // namespace
}  // namespace patchbay::test
