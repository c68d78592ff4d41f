#include <cstdlib>

#include "bench/bare_plugin.h"
#include "bench/measure.h"

namespace patchbay::bench {
namespace {

/// The times in ms until the kubelet has the first list, of each start.
struct StartTimes {
  std::vector<double> daemon;
  std::vector<double> bare;
};

/// Starts the daemon and a bare plugin alternately.
StartTimes MeasureStarts(int nodes) {
  constexpr int kRounds = 9;
  DaemonProcess daemon;
  KubeletSim& kubelet = daemon.kubelet();
  MakeNodes(daemon.host(), 0, nodes);
  const auto await_list = [&](Clock::time_point start) {
    daemon.AwaitListed(1, static_cast<std::size_t>(nodes));
    return Ms(kubelet.View("bench.dev/r0")->last_list - start);
  };
  const auto await_end = [&] {
    const auto has_ended = [&] { return !kubelet.View("bench.dev/r0")->connected; };
    if (!kubelet.Await(has_ended, std::chrono::seconds(10))) std::exit(1);
  };
  StartTimes times;
  for (int round = 0; round < kRounds; ++round) {
    times.daemon.push_back(await_list(daemon.Start(Config(1))));
    daemon.Stop();
    await_end();
    {
      const BarePlugin plugin(kubelet.directory(), daemon.host().path("dev/r0"));
      times.bare.push_back(await_list(plugin.start()));
    }
    await_end();
  }
  return times;
}

/// Memory and threads of a daemon that has nothing to do.
struct AtRest {
  double resident_mib;
  double threads;

  explicit AtRest(const DaemonProcess& daemon)
      : resident_mib(ResidentMibAtRest(daemon)), threads(ThreadsAtRest(daemon)) {}
};

/// Creates one node for each resource, and starts the daemon. Returns the time before.
Clock::time_point StartWithOneNodeEach(DaemonProcess& daemon, int resources) {
  for (int i = 0; i < resources; ++i) MakeNodes(daemon.host(), i, 1);
  const auto start = daemon.Start(Config(resources));
  daemon.AwaitListed(resources, 1);
  return start;
}

AtRest MeasureAtRest(int resources) {
  DaemonProcess daemon;
  StartWithOneNodeEach(daemon, resources);
  return AtRest(daemon);
}

}  // namespace

void BenchKubeletRestart(Report& report) {
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
  report.Add("kubelet.sock re-created -> ten resources listed, p50", EstimateMedian(samples));
  report.Add("kubelet.sock re-created -> ten resources listed, max", EstimateMax(samples));
}

void BenchManyResources(Report& report) {
  constexpr int kFew = 10, kMany = 128;
  const AtRest few = MeasureAtRest(kFew);
  report.Add("threads at rest, 10 resources", few.threads);
  DaemonProcess daemon;
  const auto t0 = StartWithOneNodeEach(daemon, kMany);
  report.Add("process start -> 128 resources registered", Ms(Clock::now() - t0));
  // CPU time, because the built-in kubelet runs on the same CPUs.
  report.Add("CPU time of the daemon until then", CpuMs(daemon));
  const AtRest many(daemon);
  report.Add("threads at rest, 128 resources", many.threads);
  report.Add("resident memory, 128 resources", many.resident_mib);
  report.Add("resident memory, per additional resource",
             (many.resident_mib - few.resident_mib) * 1024 / (kMany - kFew));
  daemon.kubelet().Stop();
  const auto t1 = Clock::now();
  if (!daemon.kubelet().Start()) std::exit(1);
  daemon.AwaitListed(kMany, 1);
  report.Add("kubelet.sock re-created -> 128 resources listed", Ms(Clock::now() - t1));
  const auto t2 = Clock::now();
  if (daemon.Stop() != 0) std::exit(1);
  report.Add("SIGTERM -> end, 128 resources", Ms(Clock::now() - t2));
}

void BenchStarts(Report& report) {
  const auto thousand = MeasureStarts(1000), ten_thousand = MeasureStarts(10'000);
  report.Add("process start -> first list of 1,000 nodes, p50", EstimateMedian(thousand.daemon));
  report.Add("process start -> first list of 10,000 nodes, p50",
             EstimateMedian(ten_thousand.daemon));
  report.Add("bare plugin: process start -> first list of 1,000 nodes, p50",
             EstimateMedian(thousand.bare));
  report.Add("bare plugin: process start -> first list of 10,000 nodes, p50",
             EstimateMedian(ten_thousand.bare));
  report.Add("cost of 10,000 nodes / ten times that of 1,000",
             Quantile(ten_thousand.daemon, 0.5) / (10 * Quantile(thousand.daemon, 0.5)));
}

}  // namespace patchbay::bench
