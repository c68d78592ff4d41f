#include "bench/call_times.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "bench/measure.h"
#include "deviceplugin.grpc.pb.h"
#include "os/subprocess.h"

namespace patchbay::bench {
namespace {

/// Each server is called kCallsInARow times, then the next one, kCallBlocks times in each round.
constexpr int kCallRounds = 16, kCallBlocks = 20, kCallsInARow = 20;

[[noreturn]] void FailCalls(const std::string& what) {
  std::fprintf(stderr, "calls: %s\n", what.c_str());
  std::exit(1);
}

/// A server that is called, and the times of a round.
class CalledServer {
 public:
  CalledServer(const std::string& socket, const std::string& device)
      : stub_(v1beta1::DevicePlugin::NewStub(
            grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()))) {
    request_.add_container_requests()->add_devices_ids(device);
  }

  /// Measures Allocate and empty calls alternately. Before the first Allocate, the caches of the
  /// CPU have another server and the empty call, so it is measured separately.
  void TakeTurn() {
    Empty();
    times_.first.push_back(Allocate());
    for (int i = 0; i < kCallsInARow; ++i) {
      times_.empty.push_back(Empty());
      times_.allocate.push_back(Allocate());
    }
  }

  CallTimes EndRound() { return std::exchange(times_, {}); }

  std::string Response() const { return response_.SerializeAsString(); }

 private:
  double Empty() {
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    const auto start = Clock::now();
    const grpc::Status status = stub_->GetDevicePluginOptions(&context, {}, &options);
    const double took = Ms(Clock::now() - start);
    if (!status.ok()) FailCalls(status.error_message());
    return took;
  }
  double Allocate() {
    grpc::ClientContext context;
    const auto start = Clock::now();
    const grpc::Status status = stub_->Allocate(&context, request_, &response_);
    const double took = Ms(Clock::now() - start);
    if (!status.ok()) FailCalls(status.error_message());
    return took;
  }

  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  v1beta1::AllocateRequest request_;
  v1beta1::AllocateResponse response_;
  CallTimes times_;
};

void TakeTurns(std::vector<CalledServer>& servers) {
  for (int block = 0; block < kCallBlocks; ++block) {
    for (CalledServer& server : servers) server.TakeTurn();
  }
}

}  // namespace

std::vector<CallRound> MeasureCalls(const std::vector<std::string>& sockets,
                                    const std::string& device) {
  SubprocessSpec client;
  client.argv = {std::filesystem::read_symlink("/proc/self/exe"), std::string(kCallArgument),
                 device};
  client.argv.insert(client.argv.end(), sockets.begin(), sockets.end());
  client.timeout = std::chrono::minutes(5);
  client.max_output = std::size_t{1} << 20;
  const auto never = Cancellation::Create();
  if (!never) FailCalls(never.error().message);
  const SubprocessResult result = RunSubprocess(client, *never);
  if (result.end != SubprocessEnd::kExited || result.code != 0) FailCalls(Describe(client, result));
  std::istringstream numbers(result.output);
  std::vector<CallRound> rounds(kCallRounds, CallRound(sockets.size()));
  for (CallRound& round : rounds) {
    for (CallTimes& times : round) {
      times.empty.resize(kCallBlocks * kCallsInARow);
      times.allocate.resize(kCallBlocks * kCallsInARow);
      times.first.resize(kCallBlocks);
      for (auto* samples : {&times.empty, &times.allocate, &times.first}) {
        for (double& sample : *samples) numbers >> sample;
      }
    }
  }
  if (!numbers) FailCalls("numbers are missing");
  return rounds;
}

int CallPlugins(const std::vector<std::string>& arguments) {
  PinToOneCpu(getpid());
  std::vector<CalledServer> servers;
  for (std::size_t i = 1; i < arguments.size(); ++i)
    servers.emplace_back(arguments[i], arguments[0]);
  TakeTurns(servers);  // opens the connections
  for (CalledServer& server : servers) {
    if (server.Response() != servers.front().Response()) FailCalls("the responses differ");
    server.EndRound();
  }
  for (int round = 0; round < kCallRounds; ++round) {
    TakeTurns(servers);
    for (CalledServer& server : servers) {
      const CallTimes times = server.EndRound();
      for (const auto* samples : {&times.empty, &times.allocate, &times.first}) {
        for (const double sample : *samples) std::printf("%.4f ", sample);
      }
    }
  }
  return 0;
}

}  // namespace patchbay::bench
