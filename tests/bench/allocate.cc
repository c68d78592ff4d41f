#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

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

/// Returns the median over the rounds of a value of each round.
template <class OfRound>
Estimate OverRounds(const std::vector<CallRound>& rounds, OfRound of_round) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const CallRound& round : rounds) values.push_back(of_round(round));
  return EstimateMedian(values);
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
      queue(kCompletionQueueApi, response);
  enum Called { kPlugin, kCallback, kSynchronous, kQueue };
  const auto rounds =
      MeasureCalls({plugin, callback.socket(), synchronous.socket(), queue.socket()}, kDevice);
  const auto of_plugin = [&](double CallTimes::*time) {
    return OverRounds(rounds, [&](const CallRound& round) { return round[kPlugin].*time; });
  };
  const auto to_empty = [&](Called server, double CallTimes::*allocate, double CallTimes::*empty) {
    return OverRounds(rounds, [&](const CallRound& round) {
      return round[server].*allocate / round[server].*empty;
    });
  };
  const auto to_bare = [&](Called bare) {
    return OverRounds(rounds, [&](const CallRound& round) {
      return round[kPlugin].allocate_p50 / round[bare].allocate_p50;
    });
  };
  report.Add("empty call, p50", of_plugin(&CallTimes::empty_p50));
  report.Add("empty call, p99", of_plugin(&CallTimes::empty_p99));
  report.Add("Allocate, p50", of_plugin(&CallTimes::allocate_p50));
  report.Add("Allocate, p99", of_plugin(&CallTimes::allocate_p99));
  report.Add("first Allocate after other work, p50", of_plugin(&CallTimes::first_p50));
  report.Add("Allocate / empty call, p50",
             to_empty(kPlugin, &CallTimes::allocate_p50, &CallTimes::empty_p50));
  report.Add("the same of the bare completion queue, p50",
             to_empty(kQueue, &CallTimes::allocate_p50, &CallTimes::empty_p50));
  report.Add("Allocate / empty call, p99",
             to_empty(kPlugin, &CallTimes::allocate_p99, &CallTimes::empty_p99));
  report.Add("Allocate / bare callback server, p50", to_bare(kCallback));
  report.Add("Allocate / bare synchronous server, p50", to_bare(kSynchronous));
  report.Add("Allocate / bare completion queue, p50", to_bare(kQueue));
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
