// Everything at once, for any duration: devices appear, disappear, break and recover, probes hang,
// and the kubelet restarts. Each state that lasts long enough must reach the table of the kubelet.
// At the end, the daemon must not use more resources than at the beginning, and its metrics must
// agree with the counts of the kubelet.
//
// PATCHBAY_SOAK_SECONDS is the duration. PATCHBAY_SOAK_SEED determines the events, but not their
// timing; the seed is printed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/format.h"
#include "soak/devices.h"
#include "soak/pods.h"
#include "support/daemon_process.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/sanitizer.h"

namespace patchbay::test {
namespace {

/// The permitted growth of memory and threads after the warm-up, for allocators and pools of gRPC.
constexpr long kMaxGrowthKib = 8 * 1024;
constexpr std::size_t kMaxMoreThreads = 12;

class Soak : public testing::Test {
 protected:
  /// The resources that the daemon uses.
  struct Holdings {
    std::size_t descriptors = 0;
    std::size_t threads = 0;
    long resident_kib = 0;
  };

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    // Processes that a probe leaves behind become children of this process and can be detected.
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    const unsigned seed = FromEnvironment("PATCHBAY_SOAK_SEED", std::random_device{}());
    random_.seed(seed);
    const KubeletProfile profiles[] = {KubeletProfile::kAsync, KubeletProfile::kSync,
                                       KubeletProfile::kMulti};
    const std::size_t profile = random_() % std::size(profiles);
    std::printf("PATCHBAY_SOAK_SEED=%u, kubelet %zu\n", seed, profile);
    std::fflush(stdout);
    KubeletSimOptions options;
    options.profile = profiles[profile];
    daemon_ = std::make_unique<DaemonProcess>(options);
    daemon_->host().File("probe", kProbeProgram);
    chmod(daemon_->host().path("probe").c_str(), 0755);
    // Without the periodic rescan, which would hide missed events.
    std::string toml = Pods::Toml();
    pods_ = std::make_unique<Pods>(daemon_->kubelet());
    for (std::size_t i = 0; i < kKinds; ++i) {
      devices_.push_back(std::make_unique<Devices>(*daemon_, i, random_()));
      toml += devices_.back()->Toml();
    }
    daemon_->Start(toml, "max_probes = 8\nrescan = \"24h\"\n");
    for (auto& devices : devices_) ASSERT_TRUE(devices->Follow());
  }
  void TearDown() override {
    if (!HasFailure() || !daemon_) return;
    std::printf("%s\n", daemon_->LogTail().c_str());
  }

  /// Changes and follows each resource on its own thread, while the kubelet restarts.
  void Run(std::chrono::seconds duration) {
    const auto end = Clock::now() + duration;
    std::vector<std::thread> threads;
    running_ = devices_.size();
    for (auto& devices : devices_) {
      threads.emplace_back([&] {
        while (Clock::now() < end && !HasFailure()) {
          devices->Change();
          for (int i = 0; i < 10; ++i) (void)pods_->ComeAndGo();
          const auto changes = devices->Follow();
          const std::lock_guard lock(mutex_);
          followed_ += changes.value_or(0);
          progress_.notify_all();
        }
        const std::lock_guard lock(mutex_);
        --running_;
        progress_.notify_all();
      });
    }
    while (AwaitChanges(1 + random_() % 15)) {
      Disturb();
      ReapOrphans();
    }
    for (std::thread& thread : threads) thread.join();
  }
  /// Waits for this many more changes. Returns false if there will be no more.
  bool AwaitChanges(std::size_t more) {
    std::unique_lock lock(mutex_);
    const std::size_t goal = followed_ + more;
    progress_.wait(lock, [&] { return followed_ >= goal || running_ == 0; });
    return running_ > 0;
  }
  void Disturb() {
    KubeletSim& kubelet = daemon_->kubelet();
    ++disturbances_;
    switch (random_() % 3) {
      case 0:
        ++restarts_;
        EXPECT_TRUE(kubelet.Restart());
        break;
      case 1:
        ++restarts_;
        kubelet.Crash();
        EXPECT_TRUE(kubelet.Start());
        break;
      default: kubelet.DropStreams(devices_[random_() % devices_.size()]->name());
    }
  }

  /// Makes all devices work, then removes them, so that nothing is left to probe. Returns what the
  /// daemon uses then.
  Holdings Rest() {
    for (auto& devices : devices_) devices->MakeAllWork();
    for (auto& devices : devices_) EXPECT_TRUE(devices->Follow());
    for (auto& devices : devices_) devices->RemoveAll();
    for (auto& devices : devices_) EXPECT_TRUE(devices->Follow());
    EXPECT_TRUE(Await([&] { return ChildrenOf(daemon_->pid()).empty(); })) << "probes remain";
    EXPECT_TRUE(Await([&] {
      ReapOrphans();
      return ChildrenOf(getpid()) == std::vector<pid_t>{daemon_->pid()};
    })) << "processes that a probe started remain";
    return Now();
  }
  /// The counters of the daemon at rest.
  struct Counted {
    double allocations = 0, devices = 0, calls = 0;
    std::vector<double> registrations;  ///< by resource, in the order of Resources()
  };
  Counted Count() const {
    Counted counted;
    const auto at_rest = [&] {
      const auto scrape = daemon_->GetMetrics();
      const auto value = [&](const char* name, const std::string& resource, const char* more = "") {
        return scrape[Format("patchbay_{}{{resource=\"{}\"{}}}", name, resource, more)];
      };
      constexpr const char* kSuccess = ",result=\"success\"";
      counted = {
          value("allocations_total", Pods::kResource, kSuccess),
          value("allocated_units_total", Pods::kResource),
          scrape[Format("patchbay_rpcs_total{{code=\"OK\",method=\"Allocate\",resource=\"{}\"}}",
                        Pods::kResource)],
          {}};
      bool registered = true;
      for (const std::string& resource : Resources()) {
        counted.registrations.push_back(value("registrations_total", resource, kSuccess));
        registered = registered && value("resource_registered", resource) == 1;
      }
      return registered && counted.calls == counted.allocations;
    };
    EXPECT_TRUE(Await(at_rest)) << "calls " << counted.calls << ", of them granted "
                                << counted.allocations;
    return counted;
  }
  std::vector<std::string> Resources() const {
    std::vector<std::string> names = {Pods::kResource};
    for (const auto& devices : devices_) names.push_back(devices->name());
    return names;
  }

  /// Compares the counters with those of the kubelet. They may differ by the calls that were in
  /// progress when the kubelet stopped, because only the responding side counted those.
  void CompareCounters() {
    const Counted counted = Count();
    const auto calls = daemon_->kubelet().RegisterCalls();
    for (std::size_t i = 0; i < counted.registrations.size(); ++i) {
      const auto accepted = std::count_if(calls.begin(), calls.end(), [&](const auto& call) {
        return call.resource == Resources()[i] && call.answered && call.code == 0;
      });
      EXPECT_GT(counted.registrations[i], 0);
      EXPECT_LE(counted.registrations[i], accepted);
      EXPECT_GE(counted.registrations[i] + static_cast<double>(disturbances_), accepted);
    }
    const auto admitted = static_cast<double>(pods_->admitted()),
               devices = static_cast<double>(pods_->devices()),
               cut_off = static_cast<double>(pods_->cut_off());
    std::printf("%g containers were admitted, %g cut off; the daemon counts %g, and %g devices\n",
                admitted, cut_off, counted.allocations, counted.devices);
    EXPECT_GT(admitted, 0);
    EXPECT_GE(counted.allocations, admitted);
    EXPECT_LE(counted.allocations, admitted + cut_off);
    EXPECT_GE(counted.devices, devices);
    EXPECT_LE(counted.devices, devices + 3 * cut_off);

    // Without interrupted calls, the counters must agree exactly. A kubelet that has restarted
    // admits containers without devices until it has received the list.
    CompareDevices();
    std::vector<std::thread> threads(4);
    for (std::thread& thread : threads) {
      thread = std::thread([&] {
        for (int i = 0; i < 50; ++i) {
          if (const Status status = pods_->ComeAndGo(); !status) {
            ADD_FAILURE() << status.error().message;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Counted more = Count();
    EXPECT_EQ(more.allocations - counted.allocations,
              static_cast<double>(pods_->admitted()) - admitted);
    EXPECT_EQ(more.devices - counted.devices, static_cast<double>(pods_->devices()) - devices);
    EXPECT_EQ(more.allocations - counted.allocations, 200);
    EXPECT_EQ(more.registrations, counted.registrations);
  }

  /// Compares the units by health with the table of the kubelet, at rest.
  void CompareDevices() {
    for (const std::string& resource : Resources()) {
      std::ptrdiff_t devices = 0, healthy = 0;
      double counted_healthy = 0, counted_unhealthy = 0;
      const auto agree = [&] {
        const auto view = daemon_->kubelet().View(resource);
        if (!view || !view->connected) return false;
        devices = std::ssize(view->devices);
        healthy = std::count_if(view->devices.begin(), view->devices.end(),
                                [](const SimDevice& device) { return device.health == "Healthy"; });
        const auto scrape = daemon_->GetMetrics();
        const auto units = [&](const char* health) {
          return scrape[Format("patchbay_units{{health=\"{}\",resource=\"{}\"}}", health,
                               resource)];
        };
        counted_healthy = units("healthy");
        counted_unhealthy = units("unhealthy");
        return counted_healthy == static_cast<double>(healthy) &&
               counted_unhealthy == static_cast<double>(devices - healthy);
      };
      EXPECT_TRUE(Await(agree)) << resource << ": the daemon counts " << counted_healthy << " and "
                                << counted_unhealthy << ", the kubelet has " << healthy << " of "
                                << devices;
    }
  }

  /// The number of lists that were sent, and that the kubelet received.
  struct Lists {
    double sent = 0, taken = 0;
  };
  Lists CountLists(const std::string& resource) const {
    const auto view = daemon_->kubelet().View(resource);
    return {daemon_->GetMetrics()[Format("patchbay_list_watch_updates_total{{resource=\"{}\"}}",
                                         resource)],
            view ? static_cast<double>(view->lists) : 0};
  }

  /// Checks that the kubelet receives every list that is counted, while devices change and no
  /// stream breaks.
  void CompareLists() {
    std::vector<Lists> before;
    for (const auto& devices : devices_) before.push_back(CountLists(devices->name()));
    for (int i = 0; i < 3; ++i) {
      for (auto& devices : devices_) devices->Change();
      for (auto& devices : devices_) EXPECT_TRUE(devices->Follow());
    }
    double sent = 0;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Lists more;
      const auto agree = [&] {
        const Lists now = CountLists(devices_[i]->name());
        more = {now.sent - before[i].sent, now.taken - before[i].taken};
        return more.sent == more.taken;
      };
      EXPECT_TRUE(Await(agree)) << devices_[i]->name() << ": the daemon counts " << more.sent
                                << " lists, the kubelet received " << more.taken;
      sent += more.sent;
    }
    EXPECT_GT(sent, 0);
  }

  /// Compares the number of restarts. The daemon may count several restarts in quick succession as
  /// one, but must count a single one.
  void CompareRestarts() {
    const auto counted = [&] { return daemon_->GetMetrics()["patchbay_kubelet_restarts_total"]; };
    const double before = counted();
    std::printf("the kubelet restarted %zu times, the daemon counts %g\n", restarts_, before);
    EXPECT_LE(before, static_cast<double>(restarts_));
    EXPECT_EQ(before > 0, restarts_ > 0);
    EXPECT_TRUE(daemon_->kubelet().Restart());
    CompareDevices();
    EXPECT_TRUE(Await([&] { return counted() > before; })) << "the restart is not counted";
    EXPECT_EQ(counted(), before + 1);
  }
  Holdings Now() const {
    return {DescriptorsOf(daemon_->pid()), ThreadsOf(daemon_->pid()), daemon_->ResidentKib()};
  }
  /// Reaps processes that probes left behind. The daemon must have killed each of them.
  void ReapOrphans() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      ASSERT_NE(pid, daemon_->pid()) << "the daemon has ended";
      EXPECT_TRUE(WIFSIGNALED(status)) << pid << " was not killed";
    }
  }
  /// Polls a condition for which there are no events, such as the contents of /proc.
  static bool Await(const std::function<bool()>& condition) {
    const auto deadline = Clock::now() + kPatience;
    while (!condition()) {
      if (Clock::now() > deadline) return false;
      poll(nullptr, 0, 10);
    }
    return true;
  }
  static void Print(const char* when, const Holdings& holdings) {
    std::printf("%-14s %3zu descriptors, %2zu threads, %6ld KiB resident\n", when,
                holdings.descriptors, holdings.threads, holdings.resident_kib);
    std::fflush(stdout);
  }

  std::mt19937 random_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::vector<std::unique_ptr<Devices>> devices_;
  std::unique_ptr<Pods> pods_;
  std::mutex mutex_;
  std::condition_variable progress_;
  std::size_t followed_ = 0;  ///< health changes of devices that have reached the kubelet
  std::size_t running_ = 0;   ///< threads of Run
  std::size_t disturbances_ = 0;
  std::size_t restarts_ = 0;  ///< disturbances that were restarts of the kubelet
};

TEST_F(Soak, MissesNoDeviceAndLeaksNothing) {
  const std::chrono::seconds duration(FromEnvironment("PATCHBAY_SOAK_SECONDS", 5));
  const std::chrono::seconds warm_up = duration / 5 + std::chrono::seconds(1);
  Run(warm_up);
  const Holdings warm = Rest();
  Print("after warm-up:", warm);
  Run(duration - warm_up);
  Rest();
  EXPECT_TRUE(Await([&] { return Now().descriptors <= warm.descriptors; })) << "descriptors leak";
  EXPECT_TRUE(Await([&] { return Now().threads <= warm.threads + kMaxMoreThreads; }))
      << "threads leak";
  const Holdings end = Now();
  Print("in the end:", end);
  if (!kHasAddressSanitizer) {
    EXPECT_LE(end.resident_kib, warm.resident_kib + kMaxGrowthKib) << "memory leaks";
  }

  CompareCounters();
  CompareDevices();
  CompareLists();
  CompareRestarts();

  const std::string log = daemon_->Log();
  std::size_t timeouts = 0;
  for (auto at = log.find("timed out after"); at != std::string::npos;
       at = log.find("timed out after", at + 1)) {
    ++timeouts;
  }
  std::printf(
      "%zu changes of health followed, %zu restarts and broken streams, %zu devices timed out\n",
      followed_, disturbances_, timeouts);
  EXPECT_GT(followed_, 0U);
}

}  // namespace
}  // namespace patchbay::test
