// The measures of the whole program. Every line holds a figure, the bar it is held to, and their
// ratio: at most 1.00 is met. Machines differ, so what can be is taken as a ratio of two things
// measured in this run.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/format.h"
#include "deviceplugin.grpc.pb.h"
#include "support/daemon_process.h"

namespace patchbay::bench {
namespace {

using test::Clock;
using test::DaemonProcess;

double Ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// The value below which `share` of the samples lie.
double Quantile(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  const auto last = static_cast<double>(samples.size() - 1);
  return samples[static_cast<std::size_t>(share * last + 0.5)];
}

void Print(const std::string& what, double value, double bar, const char* unit) {
  std::printf("%-64s %10.3f %-5s bar %8.2f  ratio %5.2f %s\n", what.c_str(), value, unit, bar,
              value / bar, value <= bar ? "" : "  MISSED");
  std::fflush(stdout);
}

/// `count` resources, each with all nodes of a directory of its own.
std::string Config(int count) {
  std::string toml;
  for (int i = 0; i < count; ++i) {
    toml += format(
        "[[resource]]\nname = \"bench.dev/r{0}\"\nforget_after = \"1s\"\n"
        "[[resource.match]]\npath = \"/dev/r{0}/n*\"\n[resource.env]\nNODE = \"{{path}}\"\n",
        i);
  }
  return toml;
}

void MakeNodes(test::TempTree& host, int resource, int count) {
  host.Dir(format("dev/r{}", resource));
  for (int i = 0; i < count; ++i) host.CharDevice(format("dev/r{}/n{}", resource, i));
}

std::string Endpoint(KubeletSim& kubelet, const std::string& resource) {
  return kubelet.View(resource)->endpoint;
}

/// Allocate of one device against a call that does nothing, turn by turn on one connection.
void BenchAllocate() {
  constexpr int kCalls = 6000, kWarmUp = 500;
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 100);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 100);
  const auto stub = v1beta1::DevicePlugin::NewStub(grpc::CreateChannel(
      "unix:" + Endpoint(daemon.kubelet(), "bench.dev/r0"), grpc::InsecureChannelCredentials()));
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("n42");
  std::vector<double> allocate, empty;
  for (int i = 0; i < kCalls + kWarmUp; ++i) {
    grpc::ClientContext c1, c2;
    v1beta1::DevicePluginOptions options;
    v1beta1::AllocateResponse response;
    const auto t0 = Clock::now();
    const bool ok1 = stub->GetDevicePluginOptions(&c1, {}, &options).ok();
    const auto t1 = Clock::now();
    const bool ok2 = stub->Allocate(&c2, request, &response).ok();
    const auto t2 = Clock::now();
    if (!ok1 || !ok2 || response.container_responses(0).devices_size() != 1) std::exit(1);
    if (i < kWarmUp) continue;
    empty.push_back(Ms(t1 - t0));
    allocate.push_back(Ms(t2 - t1));
  }
  std::printf("(empty unary call: p50 %.3f ms, p99 %.3f ms)\n", Quantile(empty, 0.5),
              Quantile(empty, 0.99));
  Print("Allocate / empty call, p50", Quantile(allocate, 0.5) / Quantile(empty, 0.5), 1.15, "x");
  Print("Allocate / empty call, p99", Quantile(allocate, 0.99) / Quantile(empty, 0.99), 1.5, "x");
}

/// A node appears in a directory; the kubelet has it in its list.
void BenchHotplug(int nodes_there, int rounds, const char* label) {
  constexpr int kResources = 25;
  DaemonProcess daemon;
  for (int i = 0; i < kResources; ++i) MakeNodes(daemon.host(), i, nodes_there);
  daemon.Start(Config(kResources));
  daemon.AwaitListed(kResources, static_cast<std::size_t>(nodes_there));
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    // A resource sends at most one list a second; each is asked once in a round.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    for (int i = 0; i < kResources; ++i) {
      const std::string resource = "bench.dev/r" + std::to_string(i);
      const auto before = daemon.kubelet().View(resource)->lists;
      const auto t0 = Clock::now();
      daemon.host().CharDevice(format("dev/r{}/n-{}", i, round));
      daemon.kubelet().Await([&] { return daemon.kubelet().View(resource)->lists > before; },
                             std::chrono::seconds(10));
      samples.push_back(Ms(daemon.kubelet().View(resource)->last_list - t0));
    }
  }
  Print(format("node created -> list at the kubelet, {}, p50", label), Quantile(samples, 0.5), 50,
        "ms");
  Print(format("node created -> list at the kubelet, {}, p99", label), Quantile(samples, 0.99), 50,
        "ms");
}

void BenchHotplugs() {
  BenchHotplug(10, 8, "10 nodes there");
  BenchHotplug(400, 4, "10,000 nodes there");
}

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

void BenchStarts() {
  const double thousand = BenchStart(1000, 60);
  const double ten_thousand = BenchStart(10'000, 300);
  Print("cost of 10,000 nodes / ten times that of 1,000", ten_thousand / (10 * thousand), 1, "x");
}

/// One resource of 10,000 nodes in ten directories.
void BenchDirectories() {
  constexpr int kDirectories = 10, kNodes = 1000, kRounds = 25;
  DaemonProcess daemon;
  for (int i = 0; i < kDirectories; ++i) MakeNodes(daemon.host(), i, kNodes);
  const auto t0 = daemon.Start(
      "[[resource]]\nname = \"bench.dev/r0\"\n[[resource.match]]\npath = \"/dev/r*/n*\"\n");
  std::size_t listed = kDirectories * kNodes;
  daemon.AwaitListed(1, listed);
  Print("process start -> first list, 10,000 nodes in 10 directories",
        Ms(daemon.kubelet().View("bench.dev/r0")->last_list - t0), 300, "ms");
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    // A resource sends at most one list a second.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    const auto made = Clock::now();
    daemon.host().CharDevice(format("dev/r{}/n-{}", round % kDirectories, round));
    daemon.AwaitListed(1, ++listed);
    samples.push_back(Ms(daemon.kubelet().View("bench.dev/r0")->last_list - made));
  }
  Print("one more node -> list, 10,000 nodes in 10 directories, p50", Quantile(samples, 0.5), 50,
        "ms");
  Print("one more node -> list, 10,000 nodes in 10 directories, p99", Quantile(samples, 0.99), 50,
        "ms");
  Print("resident memory, 10,000 devices in 10 directories",
        static_cast<double>(daemon.ResidentKib()) / 1024, 32, "MiB");
}

void BenchMemory() {
  DaemonProcess daemon;
  for (int i = 0; i < 10; ++i) MakeNodes(daemon.host(), i, 100);
  daemon.Start(Config(10));
  daemon.AwaitListed(10, 100);
  const double before = static_cast<double>(daemon.ResidentKib()) / 1024;
  Print("resident memory, 10 resources of 100 devices", before, 18, "MiB");
  std::vector<double> scrapes;
  std::size_t bytes = 0;
  for (int i = 0; i < 50; ++i) {
    const auto scrape = daemon.GetMetrics();
    scrapes.push_back(Ms(scrape.took));
    bytes = scrape.bytes;
  }
  std::printf("(a scrape is %zu bytes)\n", bytes);
  Print("scrape with 1,000 devices, p50", Quantile(scrapes, 0.5), 10, "ms");
  Print("scrape with 1,000 devices, max", Quantile(scrapes, 1), 10, "ms");

  const double cpu = daemon.CpuSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(30));
  Print("idle, percent of a core", (daemon.CpuSeconds() - cpu) / 30 * 100, 0.1, "%");
}

void BenchLargeMemory() {
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 10'000);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 10'000);
  const auto resident = [&] { return static_cast<double>(daemon.ResidentKib()) / 1024; };
  Print("resident memory, 10,000 devices", resident(), 32, "MiB");
  const auto churn = [&](int cycles) {
    for (int i = 0; i < cycles; ++i) {
      daemon.host().CharDevice("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'001);
      daemon.host().Remove("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'000);
    }
    return resident();
  };
  const double warm = churn(5);
  Print("resident memory, 10,000 devices, after churn", warm, 32, "MiB");
  Print("growth from 5 to 15 cycles of churn", churn(10) / warm, 1.05, "x");
}

}  // namespace

/// All measures, or those whose names are given.
int Main(std::vector<std::string> wanted) {
  const std::pair<std::string, void (*)()> measures[] = {
      {"allocate", BenchAllocate},       {"hotplug", BenchHotplugs},
      {"restart", BenchKubeletRestart},  {"start", BenchStarts},
      {"directories", BenchDirectories}, {"memory", BenchMemory},
      {"memory-10k", BenchLargeMemory},
  };
  for (const auto& [name, measure] : measures) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) measure();
  }
  return 0;
}

}  // namespace patchbay::bench

int main(int argc, char** argv) { return patchbay::bench::Main({argv + 1, argv + argc}); }
