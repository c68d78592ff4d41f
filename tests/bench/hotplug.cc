#include <thread>

#include "base/format.h"
#include "bench/bare_plugin.h"
#include "bench/measure.h"

namespace patchbay::bench {
namespace {

/// Returns the time in ms from the creation of a node until the kubelet has it in its list, of each
/// node. There are 25 resources.
std::vector<double> MeasureHotplug(int nodes_there, int rounds) {
  constexpr int kResources = 25;
  DaemonProcess daemon;
  for (int i = 0; i < kResources; ++i) MakeNodes(daemon.host(), i, nodes_there);
  daemon.Start(Config(kResources));
  daemon.AwaitListed(kResources, static_cast<std::size_t>(nodes_there));
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    // A resource sends at most one list per second; each is used once per round.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    for (int i = 0; i < kResources; ++i) {
      const std::string resource = "bench.dev/r" + std::to_string(i);
      const auto before = daemon.kubelet().View(resource)->lists;
      const auto t0 = Clock::now();
      daemon.host().CharDevice(Format("dev/r{}/n-{}", i, round));
      daemon.kubelet().Await([&] { return daemon.kubelet().View(resource)->lists > before; },
                             std::chrono::seconds(10));
      samples.push_back(Ms(daemon.kubelet().View(resource)->last_list - t0));
    }
  }
  return samples;
}

}  // namespace

void BenchHotplugs(Report& report) {
  const auto few = MeasureHotplug(10, 8);
  report.Add("node created -> list at the kubelet, 10 nodes there, p50", EstimateMedian(few));
  report.Add("node created -> list at the kubelet, 10 nodes there, p99", EstimateP99(few));
  const auto many = MeasureHotplug(400, 4);
  report.Add("node created -> list at the kubelet, 10,000 nodes there, p50", EstimateMedian(many));
  report.Add("node created -> list at the kubelet, 10,000 nodes there, p99", EstimateP99(many));
}

/// Measures how long a bare plugin needs until the kubelet has one more device of 10,000.
void BenchBareList(Report& report) {
  constexpr int kNodes = 10'000, kRounds = 25;
  DaemonProcess node;  // without the daemon
  MakeNodes(node.host(), 0, kNodes);
  BarePlugin plugin(node.kubelet().directory(), node.host().path("dev/r0"));
  std::size_t listed = kNodes;
  node.AwaitListed(1, listed);
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    // As often as the daemon, because the kubelet's caches and memory depend on it.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    const auto before = Clock::now();
    plugin.AddDevice();
    node.AwaitListed(1, ++listed);
    samples.push_back(Ms(node.kubelet().View("bench.dev/r0")->last_list - before));
  }
  report.Add("bare plugin: one more device -> list of 10,000, p50", EstimateMedian(samples));
  report.Add("bare plugin: one more device -> list of 10,000, p99", EstimateP99(samples));
}

/// Measures the same for one resource with 10,000 nodes in ten directories.
void BenchDirectories(Report& report) {
  constexpr int kDirectories = 10, kNodes = 1000, kRounds = 25;
  DaemonProcess daemon;
  for (int i = 0; i < kDirectories; ++i) MakeNodes(daemon.host(), i, kNodes);
  const auto t0 = daemon.Start(
      "[[resource]]\nname = \"bench.dev/r0\"\n[[resource.match]]\npath = \"/dev/r*/n*\"\n");
  std::size_t listed = kDirectories * kNodes;
  daemon.AwaitListed(1, listed);
  report.Add("process start -> first list, 10,000 nodes in 10 directories",
             Ms(daemon.kubelet().View("bench.dev/r0")->last_list - t0));
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    // A resource sends at most one list per second.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    const auto made = Clock::now();
    daemon.host().CharDevice(Format("dev/r{}/n-{}", round % kDirectories, round));
    daemon.AwaitListed(1, ++listed);
    samples.push_back(Ms(daemon.kubelet().View("bench.dev/r0")->last_list - made));
  }
  report.Add("one more node -> list, 10,000 nodes in 10 directories, p50", EstimateMedian(samples));
  report.Add("one more node -> list, 10,000 nodes in 10 directories, p99", EstimateP99(samples));
  report.Add("resident memory, 10,000 devices in 10 directories", ResidentMib(daemon));
  BenchBareList(report);
}

}  // namespace patchbay::bench
