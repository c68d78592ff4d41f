#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/format.h"
#include "bench/bare_server.h"
#include "bench/call_times.h"
#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

std::string Endpoint(KubeletSim& kubelet, const std::string& resource) {
  return kubelet.View(resource)->endpoint;
}

v1beta1::AllocateRequest RequestFor(const std::string& device) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(device);
  return request;
}

v1beta1::AllocateResponse AllocateOnce(const std::string& socket, const std::string& device) {
  const auto stub = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1beta1::AllocateResponse response;
  if (!stub->Allocate(&context, RequestFor(device), &response).ok()) std::exit(1);
  return response;
}

using Samples = std::vector<double> CallTimes::*;

/// Returns the times of one kind of call to one server, in all rounds.
std::vector<double> AllTimes(const std::vector<CallRound>& rounds, std::size_t server,
                             Samples kind) {
  std::vector<double> all;
  for (const CallRound& round : rounds) {
    const std::vector<double>& samples = round[server].*kind;
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

/// Calls of one kind to one server.
struct Calls {
  std::size_t server;
  Samples kind;
};

/// Returns the ratio of a quantile of all times, with the spread of the ratios of the rounds.
Estimate Ratio(const std::vector<CallRound>& rounds, Calls of, Calls to, double share) {
  std::vector<double> ratios;
  ratios.reserve(rounds.size());
  for (const CallRound& round : rounds) {
    ratios.push_back(Quantile(round[of.server].*of.kind, share) /
                     Quantile(round[to.server].*to.kind, share));
  }
  return {Quantile(AllTimes(rounds, of.server, of.kind), share) /
              Quantile(AllTimes(rounds, to.server, to.kind), share),
          EstimateMedian(ratios).spread};
}

/// Compares Allocate of one device with a call that does nothing, and with servers that return the
/// same response without any work.
void BenchOneAllocate(Report& report) {
  constexpr const char* kDevice = "n42";
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 100);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 100);
  const std::string plugin = Endpoint(daemon.kubelet(), "bench.dev/r0");
  const auto response = AllocateOnce(plugin, kDevice);
  const BareServer callback(kCallbackApi, response), synchronous(kSynchronousApi, response),
      queue(kCompletionQueueApi, response),
      lookup(kLookupApi, response, daemon.host().path(Format("dev/r0/{}", kDevice)));
  for (const pid_t pid :
       {daemon.pid(), callback.pid(), synchronous.pid(), queue.pid(), lookup.pid()}) {
    PinToOneCpu(pid);
  }
  enum Called { kPlugin, kCallback, kSynchronous, kQueue, kLookup };
  const auto rounds = MeasureCalls(
      {plugin, callback.socket(), synchronous.socket(), queue.socket(), lookup.socket()}, kDevice);
  constexpr Samples kEmpty = &CallTimes::empty, kAllocate = &CallTimes::allocate,
                    kFirst = &CallTimes::first;
  const auto add = [&](FigureName name, Samples kind, double share) {
    report.Add(name, EstimateQuantile(AllTimes(rounds, kPlugin, kind), share));
  };
  const auto add_ratio = [&](FigureName name, Calls of, Calls to, double share) {
    report.Add(name, Ratio(rounds, of, to, share));
  };
  add("empty call, p50", kEmpty, 0.5);
  add("empty call, p99", kEmpty, 0.99);
  add("Allocate, p50", kAllocate, 0.5);
  add("Allocate, p99", kAllocate, 0.99);
  add_ratio("Allocate / empty call, p50", {kPlugin, kAllocate}, {kPlugin, kEmpty}, 0.5);
  add_ratio("Allocate / empty call, p99", {kPlugin, kAllocate}, {kPlugin, kEmpty}, 0.99);
  add_ratio("bare completion queue: Allocate / empty call, p50", {kQueue, kAllocate},
            {kQueue, kEmpty}, 0.5);
  add_ratio("bare completion queue with a lookup: Allocate / empty call, p50", {kLookup, kAllocate},
            {kLookup, kEmpty}, 0.5);
  add_ratio("Allocate / bare callback server, p50", {kPlugin, kAllocate}, {kCallback, kAllocate},
            0.5);
  add_ratio("Allocate / bare synchronous server, p50", {kPlugin, kAllocate},
            {kSynchronous, kAllocate}, 0.5);
  add_ratio("Allocate / bare completion queue, p50", {kPlugin, kAllocate}, {kQueue, kAllocate},
            0.5);
  add_ratio("first Allocate / that of the bare callback server, p50", {kPlugin, kFirst},
            {kCallback, kFirst}, 0.5);
}

/// Sends sixteen Allocate calls at a time while devices appear and disappear. Each must take less
/// than 10 ms.
void BenchParallelAllocate(Report& report) {
  constexpr int kThreads = 16, kCalls = 400;
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 100);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 100);
  const std::string socket = "unix:" + Endpoint(daemon.kubelet(), "bench.dev/r0");
  std::vector<double> all;
  std::mutex mutex;
  std::atomic<int> running = kThreads;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1beta1::DevicePlugin::NewStub(
          grpc::CreateCustomChannel(socket, grpc::InsecureChannelCredentials(), own));
      const auto request = RequestFor("n42");
      std::vector<double> samples;
      for (int call = 0; call < kCalls; ++call) {
        grpc::ClientContext context;
        v1beta1::AllocateResponse response;
        const auto start = Clock::now();
        if (!stub->Allocate(&context, request, &response).ok()) std::exit(1);
        samples.push_back(Ms(Clock::now() - start));
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), samples.begin() + 1, samples.end());  // the first includes connecting
      --running;
    });
  }
  while (running > 0) {
    daemon.host().CharDevice("dev/r0/n-new");
    daemon.host().Remove("dev/r0/n-new");
  }
  for (std::thread& thread : threads) thread.join();
  report.Add("16 Allocates at once while devices change, p50", EstimateMedian(all));
  report.Add("16 Allocates at once while devices change, p99", EstimateP99(all));
}

}  // namespace

void BenchAllocate(Report& report) {
  BenchOneAllocate(report);
  BenchParallelAllocate(report);
}

}  // namespace patchbay::bench
