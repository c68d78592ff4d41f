#include <cstdlib>

#include "base/format.h"
#include "bench/measure.h"

namespace patchbay::bench {
namespace {

double BenchStart(int nodes, double bar) {
  constexpr int kRounds = 9;
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, nodes);
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    const auto t0 = daemon.Start(Config(1));
    daemon.AwaitListed(1, static_cast<std::size_t>(nodes));
    samples.push_back(Ms(daemon.kubelet().View("bench.dev/r0")->last_list - t0));
    daemon.Stop();
    daemon.kubelet().Await([&] { return !daemon.kubelet().View("bench.dev/r0")->connected; },
                           std::chrono::seconds(10));
  }
  Print(format("process start -> first list of {} nodes, p50", nodes), Quantile(samples, 0.5), bar,
        "ms");
  return Quantile(samples, 0.5);
}

}  // namespace

void BenchKubeletRestart() {
  constexpr int kResources = 10, kRounds = 20;
  DaemonProcess daemon;
  for (int i = 0; i < kResources; ++i) MakeNodes(daemon.host(), i, 10);
  daemon.Start(Config(kResources));
  daemon.AwaitListed(kResources, 10);
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    daemon.kubelet().Stop();
    const auto t0 = Clock::now();
    if (!daemon.kubelet().Start()) std::exit(1);
    daemon.AwaitListed(kResources, 10);
    samples.push_back(Ms(Clock::now() - t0));
  }
  Print("kubelet.sock re-created -> ten resources listed, p50", Quantile(samples, 0.5), 150, "ms");
  Print("kubelet.sock re-created -> ten resources listed, max", Quantile(samples, 1), 150, "ms");
}

void BenchManyResources() {
  constexpr int kResources = 1000;
  DaemonProcess daemon;
  for (int i = 0; i < kResources; ++i) MakeNodes(daemon.host(), i, 1);
  const auto t0 = daemon.Start(Config(kResources));
  daemon.AwaitListed(kResources, 1);
  Print("process start -> 1,000 resources registered", Ms(Clock::now() - t0), 2000, "ms");
  // CPU time, because the built-in kubelet runs on the same CPUs.
  Print("CPU time of the daemon until then", daemon.CpuSeconds() * 1000, 2000, "ms");
  Print("resident memory, 1,000 resources", static_cast<double>(daemon.ResidentKib()) / 1024, 130,
        "MiB");
  daemon.kubelet().Stop();
  const auto t1 = Clock::now();
  if (!daemon.kubelet().Start()) std::exit(1);
  daemon.AwaitListed(kResources, 1);
  Print("kubelet.sock re-created -> 1,000 resources listed", Ms(Clock::now() - t1), 2000, "ms");
  const auto t2 = Clock::now();
  if (daemon.Stop() != 0) std::exit(1);
  Print("SIGTERM -> end, 1,000 resources", Ms(Clock::now() - t2), 2000, "ms");
}

void BenchStarts() {
  const double thousand = BenchStart(1000, 60);
  const double ten_thousand = BenchStart(10'000, 300);
  Print("cost of 10,000 nodes / ten times that of 1,000", ten_thousand / (10 * thousand), 1, "x");
}

}  // namespace patchbay::bench
