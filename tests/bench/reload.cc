#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/format.h"
#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"

namespace patchbay::bench {
namespace {

constexpr int kResources = 50, kNodes = 10, kClients = 4;

std::string Name(int resource) { return Format("bench.dev/r{}", resource); }

/// Returns fifty resources, of which `edited` has one more device.
std::string FileWith(int edited) {
  std::string toml = "[daemon]\npod_resources = \"\"\n";
  for (int i = 0; i < kResources; ++i) {
    toml += Format(
        "[[resource]]\nname = \"{}\"\n[[resource.match]]\npath = \"/dev/r{}/{}\"\n"
        "[resource.env]\nNODE = \"{{path}}\"\n",
        Name(i), i, i == edited ? "*" : "n*");
  }
  return toml;
}

/// Replaces the configuration as editors and the kubelet do. Returns the time of the rename.
Clock::time_point Replace(test::TempTree& tree, const std::string& text) {
  tree.File("new", text);
  const auto now = Clock::now();
  std::filesystem::rename(tree.path("new"), tree.path("patchbay.toml"));
  return now;
}

/// Allocates a device of each resource in turn, while `wanted` is set. No call may fail.
void Allocate(const std::vector<std::string>& sockets, const std::atomic<bool>& wanted,
              std::atomic<long>& calls) {
  std::vector<std::unique_ptr<v1beta1::DevicePlugin::Stub>> stubs;
  stubs.reserve(sockets.size());
  for (const std::string& socket : sockets) {
    stubs.push_back(v1beta1::DevicePlugin::NewStub(
        grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials())));
  }
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("n0");
  while (wanted) {
    for (const auto& stub : stubs) {
      grpc::ClientContext context;
      v1beta1::AllocateResponse response;
      const grpc::Status status = stub->Allocate(&context, request, &response);
      if (!status.ok()) {
        std::fprintf(stderr, "an Allocate failed: %s\n", status.error_message().c_str());
        std::exit(1);
      }
      ++calls;
    }
  }
}

void AwaitCapacity(DaemonProcess& daemon, int resource, std::size_t devices) {
  KubeletSim& kubelet = daemon.kubelet();
  if (kubelet.Await([&] { return kubelet.View(Name(resource))->capacity == devices; },
                    std::chrono::seconds(20))) {
    return;
  }
  std::fprintf(stderr, "an edit did not arrive\n%s", daemon.LogTail().c_str());
  std::exit(1);
}

}  // namespace

/// Edits one of fifty resources while devices of all are allocated, and measures the time from the
/// rename of the file until the kubelet has the new list. No call may fail, and no stream of
/// another resource may end.
void BenchReload(Report& report) {
  DaemonProcess daemon;
  test::TempTree etc;
  for (int i = 0; i < kResources; ++i) {
    MakeNodes(daemon.host(), i, kNodes);
    daemon.host().CharDevice(Format("dev/r{}/more", i));
  }
  Replace(etc, FileWith(-1));
  daemon.Run(etc.path("patchbay.toml"));
  daemon.AwaitListed(kResources, kNodes);
  KubeletSim& kubelet = daemon.kubelet();
  std::vector<std::string> sockets;
  sockets.reserve(kResources);
  for (int i = 0; i < kResources; ++i) sockets.push_back(kubelet.View(Name(i))->endpoint);

  std::atomic<bool> wanted = true;
  std::atomic<long> calls = 0;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] { Allocate(sockets, wanted, calls); });
  }
  const auto begun = Clock::now();
  std::vector<double> samples;
  for (int next = 0; next < kResources; ++next) {
    // A resource sends at most one list per second.
    std::this_thread::sleep_until(kubelet.View(Name(next))->last_list + std::chrono::seconds(1));
    const auto renamed = Replace(etc, FileWith(next));
    AwaitCapacity(daemon, next, kNodes + 1);
    samples.push_back(Ms(Clock::now() - renamed));
  }
  const double seconds = Ms(Clock::now() - begun) / 1000;
  wanted = false;
  for (std::thread& client : clients) client.join();
  for (int i = 0; i < kResources; ++i) {
    const auto view = kubelet.View(Name(i));
    if (view->endpoint == sockets[static_cast<std::size_t>(i)] && view->connections == 1) continue;
    std::fprintf(stderr, "the stream of %s ended\n", Name(i).c_str());
    std::exit(1);
  }
  report.Add("Allocates per second during reloads, none failed",
             static_cast<double>(calls) / seconds);
  report.Add("one of fifty resources edited -> list at the kubelet, p50", EstimateMedian(samples));
  report.Add("one of fifty resources edited -> list at the kubelet, max", EstimateMax(samples));
}

}  // namespace patchbay::bench
