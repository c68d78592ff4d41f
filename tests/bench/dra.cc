// Dynamic Resource Allocation: the daemon between a kubelet and an API server with TLS, whose
// responses take a millisecond.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/format.h"
#include "bench/measure.h"
#include "support/dra_cluster.h"

namespace patchbay::bench {
namespace {

using api_sim::ApiCall;
using api_sim::Kind;
using test::DraCluster;

constexpr std::chrono::milliseconds kLatency{1};
constexpr std::chrono::minutes kDraPatience{1};

/// Returns `count` resources with the nodes of MakeNodes.
std::string DraConfig(int count, const char* api = "dra") {
  std::string toml;
  for (int i = 0; i < count; ++i) {
    toml += Format(
        "[[resource]]\nname = \"bench.dev/r{0}\"\napi = \"{1}\"\n"
        "[[resource.match]]\npath = \"/dev/r{0}/n*\"\n[resource.env]\nNODE = \"{{path}}\"\n",
        i, api);
  }
  return toml;
}

void Require(bool succeeded, const DaemonProcess& daemon, const std::string& what) {
  if (succeeded) return;
  std::fprintf(stderr, "bench: %s\n%s\n", what.c_str(), daemon.LogTail().c_str());
  std::exit(1);
}

/// A daemon in a cluster.
struct DraNode {
  DaemonProcess daemon = DaemonProcess();
  DraCluster cluster{daemon.kubelet_root(), kLatency};

  Clock::time_point Start(int resources) {
    return daemon.Start(DraConfig(resources), cluster.DaemonKeys());
  }
  void AwaitPublished(std::size_t devices) {
    Require(
        cluster.server().Await([&] { return cluster.CountPublished() == devices; }, kDraPatience),
        daemon, Format("{} devices were not published", devices));
  }
  void AwaitRegistered() {
    Require(cluster.kubelet().Await([&] { return cluster.IsRegistered(); }, kDraPatience), daemon,
            "the driver was not registered");
  }
  /// Counts the requests of the daemon that `matches` selects.
  template <class F>
  double Count(F matches) {
    const auto calls = cluster.server().Calls();
    return static_cast<double>(std::count_if(calls.begin(), calls.end(), matches));
  }
};

bool IsSliceWrite(const ApiCall& call) {
  return call.kind == Kind::kResourceSlice && call.method != "GET";
}

void BenchPrepare(Report& report) {
  constexpr int kDevices = 100, kCalls = 300, kWarmUp = 20;
  DraNode node;
  MakeNodes(node.daemon.host(), 0, kDevices);
  node.Start(1);
  node.AwaitPublished(kDevices);
  node.AwaitRegistered();
  node.cluster.CreateClass("bench.dev/r0");
  std::vector<double> prepare, unprepare;
  double files = 0;
  for (int i = 0; i < kWarmUp + kCalls; ++i) {
    const auto claim = node.cluster.CreateClaim(Format("c{}", i), "bench.dev/r0");
    Require(node.cluster.Allocate(claim).has_value(), node.daemon, "a claim was not allocated");
    const auto t0 = Clock::now();
    const auto prepared = node.cluster.kubelet().PrepareClaims("pod", {claim});
    const auto t1 = Clock::now();
    Require(prepared.has_value(), node.daemon, "a claim was not prepared");
    files += static_cast<double>(node.cluster.ClaimFiles().size());
    const auto t2 = Clock::now();
    Require(node.cluster.kubelet().UnprepareClaims("pod").has_value(), node.daemon,
            "a claim was not unprepared");
    const auto t3 = Clock::now();
    node.cluster.DeleteClaim(claim);
    if (i < kWarmUp) continue;
    prepare.push_back(Ms(t1 - t0));
    unprepare.push_back(Ms(t3 - t2));
  }
  const double gets = node.Count([](const ApiCall& call) {
    return call.kind == Kind::kResourceClaim && call.method == "GET";
  });
  report.Add("NodePrepareResources, one device, p50", EstimateMedian(prepare));
  report.Add("NodePrepareResources, one device, p99", EstimateP99(prepare));
  report.Add("NodeUnprepareResources, one device, p50", EstimateMedian(unprepare));
  report.Add("requests for the claim, per prepared claim", gets / (kWarmUp + kCalls));
  report.Add("CDI files, per prepared claim", files / (kWarmUp + kCalls));
}

void BenchPublish(Report& report) {
  constexpr int kResources = 10, kDevices = 10, kRounds = 10;
  DraNode node;
  for (int i = 0; i < kResources; ++i) MakeNodes(node.daemon.host(), i, kDevices);
  node.Start(kResources);
  std::size_t published = std::size_t{kResources} * kDevices;
  node.AwaitPublished(published);
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    // A slice is written at most once per second; each pool is used once per round.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    for (int i = 0; i < kResources; ++i) {
      const auto t0 = Clock::now();
      node.daemon.host().CharDevice(Format("dev/r{}/n-{}", i, round));
      node.AwaitPublished(++published);
      samples.push_back(Ms(Clock::now() - t0));
    }
  }
  report.Add("node created -> slice at the API server, p50", EstimateMedian(samples));
  report.Add("node created -> slice at the API server, p99", EstimateP99(samples));
}

/// Devices of one resource appear faster than its slice may be written. All fit into one slice.
void BenchWrites(Report& report) {
  constexpr std::size_t kDevices = 10, kMore = 50;
  constexpr std::chrono::milliseconds kPause{80};
  DraNode node;
  MakeNodes(node.daemon.host(), 0, kDevices);
  node.Start(1);
  node.AwaitPublished(kDevices);
  const double before = node.Count(IsSliceWrite);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kMore; ++i) {
    std::this_thread::sleep_until(start + i * kPause);
    node.daemon.host().CharDevice(Format("dev/r0/n-{}", i));
  }
  node.AwaitPublished(kDevices + kMore);
  // The first one follows at once, and each other one at least a second later.
  const double later = node.Count(IsSliceWrite) - before - 1;
  report.Add("writes of a slice per second while devices appear",
             later * 1000 / Ms(Clock::now() - start));
}

void BenchManyPublished(Report& report) {
  constexpr std::size_t kDevices = 10'000;
  DraNode node;
  MakeNodes(node.daemon.host(), 0, kDevices);
  const auto t0 = node.Start(1);
  node.AwaitPublished(kDevices);
  report.Add("process start -> 10,000 devices published", Ms(Clock::now() - t0));
  report.Add("resident memory, 10,000 published devices", ResidentMibAtRest(node.daemon));
  node.AwaitRegistered();
  node.daemon.Stop();

  // The write of one more device shows that everything else was compared and left alone.
  const double before = node.Count(IsSliceWrite);
  node.Start(1);
  node.daemon.host().CharDevice("dev/r0/n-new");
  node.AwaitPublished(kDevices + 1);
  report.Add("writes: restart and one more device, with the dry run",
             node.Count(IsSliceWrite) - before);
}

void BenchDraMemory(Report& report) {
  constexpr int kDevices = 1000;
  DaemonProcess without;
  MakeNodes(without.host(), 0, kDevices);
  without.Start(DraConfig(1, "device-plugin"));
  without.AwaitListed(1, kDevices);
  const double plain = ResidentMibAtRest(without);

  DraNode node;
  MakeNodes(node.daemon.host(), 0, kDevices);
  node.Start(1);
  node.AwaitPublished(kDevices);
  node.AwaitRegistered();
  const double resident = ResidentMibAtRest(node.daemon);
  report.Add("resident memory, 1,000 devices, api = \"dra\"", resident);
  report.Add("the same, more than with api = \"device-plugin\"", resident - plain);
}

}  // namespace

void BenchDra(Report& report) {
  BenchPrepare(report);
  BenchPublish(report);
  BenchWrites(report);
  BenchManyPublished(report);
  BenchDraMemory(report);
}

}  // namespace patchbay::bench
