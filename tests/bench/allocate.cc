#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

std::string Endpoint(KubeletSim& kubelet, const std::string& resource) {
  return kubelet.View(resource)->endpoint;
}

/// Compares Allocate of one device with a call that does nothing, alternately on one connection.
void BenchOneAllocate() {
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

/// Sends sixteen Allocate calls at a time while devices appear and disappear. Each must take less
/// than 10 ms.
void BenchParallelAllocate() {
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
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1beta1::DevicePlugin::NewStub(
          grpc::CreateCustomChannel(socket, grpc::InsecureChannelCredentials(), own));
      v1beta1::AllocateRequest request;
      request.add_container_requests()->add_devices_ids("n42");
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
  Print("16 Allocates at once while devices change, p50", Quantile(all, 0.5), 10, "ms");
  Print("16 Allocates at once while devices change, p99", Quantile(all, 0.99), 10, "ms");
}

}  // namespace

void BenchAllocate() {
  BenchOneAllocate();
  BenchParallelAllocate();
}

}  // namespace patchbay::bench
