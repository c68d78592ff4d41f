// Everything at once, for as long as one likes: devices come and go, work and break, probes hang,
// and the kubelet restarts. Whatever is held long enough must reach the kubelet's table, and in the
// end the daemon has no more than it had in the beginning.
//
// PATCHBAY_SOAK_SECONDS says for how long, PATCHBAY_SOAK_SEED what happens; the seed is printed.
// When it happens is up to the machine.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "soak/devices.h"
#include "support/daemon_process.h"
#include "support/environment.h"
#include "support/process.h"

namespace patchbay::test {
namespace {

/// What allocators and gRPC's pools may take beyond what they had after the warm-up.
constexpr long kMostGrowthKib = 8 * 1024;
constexpr std::size_t kMostMoreThreads = 12;

class Soak : public testing::Test {
 protected:
  /// What the daemon has.
  struct Holdings {
    std::size_t descriptors = 0;
    std::size_t threads = 0;
    long resident_kib = 0;
  };

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    // What a probe leaves behind becomes a child of this process, where it is seen.
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
    // Without the rescan, which would mend what was missed.
    std::string toml;
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

  /// Each resource changes and is followed on a thread of its own, while the kubelet restarts.
  void Run(std::chrono::seconds duration) {
    const auto end = Clock::now() + duration;
    std::vector<std::thread> threads;
    running_ = devices_.size();
    for (auto& devices : devices_) {
      threads.emplace_back([&] {
        while (Clock::now() < end && !HasFailure()) {
          devices->Change();
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
  /// False when no more are to come.
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
      case 0: EXPECT_TRUE(kubelet.Restart()); break;
      case 1:
        kubelet.Crash();
        EXPECT_TRUE(kubelet.Start());
        break;
      default: kubelet.DropStreams(devices_[random_() % devices_.size()]->name());
    }
  }

  /// Brings everything to a known state, and in the end to one in which there is nothing to probe.
  Holdings Rest() {
    for (auto& devices : devices_) devices->MakeAllWork();
    for (auto& devices : devices_) EXPECT_TRUE(devices->Follow());
    for (auto& devices : devices_) devices->RemoveAll();
    for (auto& devices : devices_) EXPECT_TRUE(devices->Follow());
    EXPECT_TRUE(Await([&] { return ChildrenOf(daemon_->pid()).empty(); })) << "probes are left";
    EXPECT_TRUE(Await([&] {
      ReapOrphans();
      return ChildrenOf(getpid()) == std::vector<pid_t>{daemon_->pid()};
    })) << "processes that a probe started are left";
    return Now();
  }
  Holdings Now() const {
    return {DescriptorsOf(daemon_->pid()), ThreadsOf(daemon_->pid()), daemon_->ResidentKib()};
  }
  /// What a probe started was killed before it was seen here.
  void ReapOrphans() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      ASSERT_NE(pid, daemon_->pid()) << "the daemon has ended";
      EXPECT_TRUE(WIFSIGNALED(status)) << pid << " lived on";
    }
  }
  /// For what /proc says, of which nobody is told.
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
  std::mutex mutex_;
  std::condition_variable progress_;
  std::size_t followed_ = 0;  ///< changes of a device's health that the kubelet came to have
  std::size_t running_ = 0;   ///< threads of Run
  std::size_t disturbances_ = 0;
};

TEST_F(Soak, NothingIsMissedAndNothingIsLeft) {
  const std::chrono::seconds duration(FromEnvironment("PATCHBAY_SOAK_SECONDS", 5));
  const std::chrono::seconds warm_up = duration / 5 + std::chrono::seconds(1);
  Run(warm_up);
  const Holdings warm = Rest();
  Print("after warm-up:", warm);
  Run(duration - warm_up);
  Rest();
  EXPECT_TRUE(Await([&] { return Now().descriptors <= warm.descriptors; })) << "descriptors leak";
  EXPECT_TRUE(Await([&] { return Now().threads <= warm.threads + kMostMoreThreads; }))
      << "threads leak";
  const Holdings end = Now();
  Print("in the end:", end);
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
  EXPECT_LE(end.resident_kib, warm.resident_kib + kMostGrowthKib) << "memory leaks";
#endif

  const std::string log = daemon_->Log();
  std::size_t timeouts = 0;
  for (auto at = log.find("did not end within"); at != std::string::npos;
       at = log.find("did not end within", at + 1)) {
    ++timeouts;
  }
  std::printf(
      "%zu changes of health followed, %zu restarts and broken streams, %zu devices timed out\n",
      followed_, disturbances_, timeouts);
  EXPECT_GT(followed_, 0U);
}

}  // namespace
}  // namespace patchbay::test
