// A prober like in the daemon, with real programs that misbehave. No test may leave a process or a
// descriptor.
#include "health/prober.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>

#include <csignal>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "base/format.h"
#include "os/asio_loop.h"
#include "support/leftovers.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kPatience = 60s;

/// A FIFO between programs and a test.
class Fifo {
 public:
  explicit Fifo(const std::string& path) {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    fd_ = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  void WriteLine() const { EXPECT_EQ(write(fd_.get(), "\n", 1), 1); }
  /// Returns the next line. Fails and returns an empty one if there is none.
  std::string NextLine() {
    while (text_.find('\n') == std::string::npos) {
      pollfd written = {fd_.get(), POLLIN, 0};
      if (poll(&written, 1, static_cast<int>(kPatience.count())) != 1) {
        ADD_FAILURE() << "nothing more is written";
        return "";
      }
      char buffer[4096];
      const ssize_t got = read(fd_.get(), buffer, sizeof buffer);
      text_.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    std::string line = text_.substr(0, text_.find('\n'));
    text_.erase(0, line.size() + 1);
    return line;
  }

 private:
  UniqueFd fd_;
  std::string text_;
};

class ProberTest : public testing::Test {
 protected:
  static constexpr int kMaxAtOnce = 8;

  void TearDown() override {
    if (thread_.joinable()) {
      OnLoop([this] {
        prober_.reset();
        pool_.reset();
      });
      loop_->Stop();
      thread_.join();
    }
    loop_.reset();
    cancellation_.reset();
    trace_.reset();
    gate_.reset();
    leftovers_.ExpectNone();
  }

  /// Probes `devices` devices, d0 and up, once with this script, whose $1 is the device. It can
  /// write to ./trace, and reads a line of ./gate to continue.
  void Start(std::string_view script, int devices = 1,
             std::chrono::milliseconds timeout = kPatience) {
    tree_.File("probe", Format("cd {}\n{}", tree_.path(), script));
    trace_.emplace(tree_.path("trace"));
    gate_.emplace(tree_.path("gate"));
    CommandProbe probe;
    const std::string program = tree_.path("probe");
    for (const std::string_view argument : {"/bin/sh", program.c_str(), "{id}"}) {
      probe.argv.push_back(Template::Compile(argument).value());
    }
    auto spec = std::make_shared<ResourceSpec>();
    spec->name = "example.com/d";
    spec->health.emplace();
    spec->health->kind = std::move(probe);
    spec->health->period = 24h;
    spec->health->timeout = timeout;
    spec->health->failure_threshold = 1;
    std::vector<ProbeScheduler::Presence> gone, there;
    for (int i = 0; i < devices; ++i) {
      const auto device =
          std::make_shared<const Device>(Device{.id = Format("d{}", i), .nodes = {}});
      gone.push_back({device, false});
      there.push_back({device, true});
    }
    loop_.emplace();
    thread_ = std::thread([this] { loop_->Run(); });
    OnLoop([&] {
      pool_.emplace(*loop_, kMaxAtOnce);
      prober_.emplace(*loop_, *pool_, spec,
                      ProbeContext{spec->name, "node-1", HostRoot(tree_.path()), cancellation_},
                      Prober::Events{.on_probe =
                                         [this](const auto&, const ProbeOutcome& outcome) {
                                           results_.Add(outcome.result);
                                         },
                                     .on_change = [](auto) {}});
      // A device that is back is probed immediately.
      prober_->SetDevices(gone);
      prober_->SetDevices(there);
    });
  }
  std::string NextLine() { return trace_->NextLine(); }
  void LetOnePass() { gate_->WriteLine(); }
  void Cancel() { cancellation_->Trigger(); }

  /// Returns the number of each result after `count` probes.
  std::map<ProbeResult, int> AwaitResults(int probes) { return results_.Await(probes); }
  ProbeScheduler::DeviceHealth CurrentHealth() {
    return OnLoop([this] { return prober_->HealthOf("d0"); });
  }

 private:
  /// Counted on the loop; the test waits for it.
  class Results {
   public:
    void Add(ProbeResult result) {
      const std::lock_guard lock(mutex_);
      ++count_[result];
      ++all_;
      grown_.notify_all();
    }
    std::map<ProbeResult, int> Await(int all) {
      std::unique_lock lock(mutex_);
      EXPECT_TRUE(grown_.wait_for(lock, kPatience, [&] { return all_ >= all; }));
      return count_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable grown_;
    std::map<ProbeResult, int> count_;
    int all_ = 0;
  };

  template <class F>
  auto OnLoop(F f) -> std::invoke_result_t<F> {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    loop_->Post([&task] { task(); });
    return result.get();
  }

  const test::Leftovers leftovers_;
  test::TempTree tree_;
  std::optional<Fifo> trace_;
  std::optional<Fifo> gate_;
  std::shared_ptr<const Cancellation> cancellation_ =
      std::make_shared<const Cancellation>(Cancellation::Create().value());
  Results results_;
  std::optional<AsioLoop> loop_;
  std::thread thread_;
  std::optional<ProbePool> pool_;
  std::optional<Prober> prober_;
};

using Counts = std::map<ProbeResult, int>;

TEST_F(ProberTest, KillsACommandThatIgnoresSigterm) {
  Start("trap '' TERM; echo begun; exec sleep 30", 1, 200ms);
  EXPECT_EQ(AwaitResults(1), (Counts{{ProbeResult::kTimeout, 1}}));
  EXPECT_EQ(CurrentHealth().health, Health::kUnhealthy);
  EXPECT_THAT(CurrentHealth().reason, HasSubstr("timed out after 200 ms"));
}

TEST_F(ProberTest, HandlesAHundredMegabytesOfOutput) {
  Start("head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2; exit 3");
  EXPECT_EQ(AwaitResults(1), (Counts{{ProbeResult::kFailure, 1}}));
  EXPECT_THAT(CurrentHealth().reason, HasSubstr("ended with exit code 3"));
  EXPECT_LT(CurrentHealth().reason.size(), 2048U);
}

/// Fifty processes, each of which starts two more, number n those of 2n and 2n+1. Some ignore
/// SIGTERM, like their child processes. All report that they run.
constexpr std::string_view kForkBomb = R"(
n=${2:-1}
[ $n != 3 ] || trap '' TERM
for next in $((2 * n)) $((2 * n + 1)); do
  if [ $next -gt 50 ]; then continue; fi
  if [ $next = "$leaves" ]; then in=setsid; else in=; fi
  $in sh ./probe $1 $next &
done
echo $n $$ > trace
)";

TEST_F(ProberTest, LeavesNoProcessesAfterAForkBombEnds) {
  Start(Format("{}[ $n = 1 ] || exec sleep 30\nread go < gate", kForkBomb));
  for (int i = 0; i < 50; ++i) NextLine();
  LetOnePass();
  EXPECT_EQ(AwaitResults(1), (Counts{{ProbeResult::kSuccess, 1}}));
  EXPECT_EQ(test::Leftovers::ReapOrphans(), 49);
}

TEST_F(ProberTest, LeavesNoProcessesAfterAForkBombIsStopped) {
  Start(Format("{}exec sleep 30", kForkBomb));
  for (int i = 0; i < 50; ++i) NextLine();
  Cancel();
  EXPECT_EQ(AwaitResults(1), (Counts{{ProbeResult::kError, 1}}));
  EXPECT_EQ(test::Leftovers::ReapOrphans(), 49);
}

/// Processes that left the group, like daemons, are not killed: number 5 and its children.
TEST_F(ProberTest, StopsAForkBombThatLeavesItsProcessGroup) {
  Start(Format("leaves=5\n{}exec sleep 30", kForkBomb));
  std::map<int, pid_t> processes;
  for (int i = 0; i < 50; ++i) {
    std::istringstream line(NextLine());
    int n = 0;
    line >> n >> processes[n];
  }
  Cancel();
  EXPECT_EQ(AwaitResults(1), (Counts{{ProbeResult::kError, 1}}));
  ASSERT_GT(processes[5], 1);
  EXPECT_EQ(kill(-processes[5], SIGKILL), 0) << "it was already killed";
  EXPECT_EQ(waitpid(processes[5], nullptr, 0), processes[5]);
  EXPECT_EQ(test::Leftovers::ReapOrphans(), 48);
}

TEST_F(ProberTest, ProbesEightOfAThousandDevicesAtOnce) {
  constexpr int kDevices = 1000;
  Start("echo + $1 > trace; read go < gate; echo - $1 > trace", kDevices);
  std::set<std::string> begun;
  int running = 0, most = 0;
  for (int lines = 0; lines < 2 * kDevices; ++lines) {
    const std::string line = NextLine();
    ASSERT_NE(line, "");
    if (line.front() == '-') {
      --running;
      continue;
    }
    EXPECT_TRUE(begun.insert(line.substr(2)).second) << line << " was probed twice";
    most = std::max(most, ++running);
    // All wait except the one that continues, which another one replaces.
    if (begun.size() >= kMaxAtOnce) LetOnePass();
    if (begun.size() == kDevices) {
      for (int i = 1; i < kMaxAtOnce; ++i) LetOnePass();
    }
  }
  EXPECT_EQ(most, kMaxAtOnce);
  EXPECT_EQ(begun.size(), std::size_t{kDevices});
  EXPECT_EQ(AwaitResults(kDevices), (Counts{{ProbeResult::kSuccess, kDevices}}));
}

}  // namespace
}  // namespace patchbay
