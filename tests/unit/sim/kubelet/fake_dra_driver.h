#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "drahealth_v1.grpc.pb.h"
#include "drahealth_v1alpha1.grpc.pb.h"
#include "draplugin_v1.grpc.pb.h"
#include "draplugin_v1beta1.grpc.pb.h"
#include "pluginregistration.grpc.pb.h"

namespace patchbay::test {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

inline const std::string kDriver = "gpu.example.com";

/// A device in a health list.
struct FakeHealth {
  std::string device;
  int health = ::v1::HEALTHY;
  std::int64_t timeout_seconds = 0;
  std::string message = {};
};

/// The settings and the log of a FakeDraDriver, shared by its services.
class FakeDraState {
 public:
  template <class Action>
  void Change(Action action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }
  template <class T>
  T Copy(const T& value) {
    const std::lock_guard lock(mutex_);
    return value;
  }
  /// The blocking API of gRPC reports a cancelled call only on request. Returns whether the call
  /// continues.
  bool WaitWhile(std::unique_lock<std::mutex>& lock, const grpc::ServerContext& context,
                 const std::function<bool()>& condition) {
    while (condition() && !context.IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return !context.IsCancelled();
  }
  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }
  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }

  pluginregistration::PluginInfo info;
  int info_calls = 0;
  std::vector<std::string> notices;           ///< "registered" or the error
  std::vector<std::string> calls;             ///< "v1 prepare a b": the names of claims
  std::map<std::string, std::string> errors;  ///< by the name of a claim
  std::string skipped;                        ///< the name of a claim without a response
  bool hang = false;                          ///< calls about claims
  std::vector<FakeHealth> health;
  int generation = 0;     ///< of `health`
  int streams_ended = 0;  ///< increases to end all streams
  int streams_opened = 0;
  int open_streams = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeRegistration : public pluginregistration::Registration::Service {
 public:
  explicit FakeRegistration(FakeDraState& state) : state_(state) {}

  grpc::Status GetInfo(grpc::ServerContext*, const pluginregistration::InfoRequest*,
                       pluginregistration::PluginInfo* response) override {
    state_.Change([&] {
      ++state_.info_calls;
      *response = state_.info;
    });
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*,
                                        const pluginregistration::RegistrationStatus* status,
                                        pluginregistration::RegistrationStatusResponse*) override {
    state_.Change([&] {
      state_.notices.push_back(status->plugin_registered() ? "registered" : status->error());
    });
    return grpc::Status::OK;
  }

 private:
  FakeDraState& state_;
};

/// DRAPlugin of one version. Each claim gets the device "dev-<claim>" for the request "req".
template <class Service, class PrepareRequest, class PrepareResponse, class UnprepareRequest,
          class UnprepareResponse>
class FakeClaims : public Service::Service {
 public:
  FakeClaims(FakeDraState& state, std::string version)
      : state_(state), version_(std::move(version)) {}

  grpc::Status NodePrepareResources(grpc::ServerContext* context, const PrepareRequest* request,
                                    PrepareResponse* response) override {
    return Answer("prepare", *context, *request, [&](const auto& claim) {
      auto& answer = (*response->mutable_claims())[claim.uid()];
      const auto error = state_.errors.find(claim.name());
      if (error != state_.errors.end()) return answer.set_error(error->second);
      auto& device = *answer.add_devices();
      device.add_request_names("req");
      device.set_pool_name("pool");
      device.set_device_name("dev-" + claim.name());
      device.add_cdi_device_ids("example.com/gpu=" + claim.uid());
      if constexpr (requires { device.set_share_id(""); }) device.set_share_id("share");
    });
  }
  grpc::Status NodeUnprepareResources(grpc::ServerContext* context, const UnprepareRequest* request,
                                      UnprepareResponse* response) override {
    return Answer("unprepare", *context, *request, [&](const auto& claim) {
      auto& answer = (*response->mutable_claims())[claim.uid()];
      const auto error = state_.errors.find(claim.name());
      if (error != state_.errors.end()) answer.set_error(error->second);
    });
  }

 private:
  template <class Request, class Fill>
  grpc::Status Answer(const char* name, const grpc::ServerContext& context, const Request& request,
                      Fill fill) {
    std::string call = version_ + " " + name;
    for (const auto& claim : request.claims()) call += " " + claim.name();
    state_.Change([&] { state_.calls.push_back(call); });
    auto lock = state_.Lock();
    if (!state_.WaitWhile(lock, context, [&] { return state_.hang; })) {
      return grpc::Status::CANCELLED;
    }
    for (const auto& claim : request.claims()) {
      if (claim.name() != state_.skipped) fill(claim);
    }
    return grpc::Status::OK;
  }

  FakeDraState& state_;
  const std::string version_;
};

/// DRAResourceHealth of one version.
template <class Service, class Request, class Response>
class FakeHealthService : public Service::Service {
 public:
  explicit FakeHealthService(FakeDraState& state) : state_(state) {}

  grpc::Status NodeWatchResources(grpc::ServerContext* context, const Request*,
                                  grpc::ServerWriter<Response>* writer) override {
    int ended = 0;
    state_.Change([&] {
      ended = state_.streams_ended;
      ++state_.streams_opened;
      ++state_.open_streams;
    });
    Send(*context, *writer, ended);
    state_.Change([&] { --state_.open_streams; });
    return grpc::Status::OK;
  }

 private:
  void Send(const grpc::ServerContext& context, grpc::ServerWriter<Response>& writer, int ended) {
    int sent = -1;
    while (true) {
      Response list;
      {
        auto lock = state_.Lock();
        const bool open = state_.WaitWhile(lock, context, [&] {
          return sent == state_.generation && ended == state_.streams_ended;
        });
        if (!open || ended != state_.streams_ended) return;
        sent = state_.generation;
        for (const FakeHealth& health : state_.health) {
          auto& device = *list.add_devices();
          device.mutable_device()->set_pool_name("pool");
          device.mutable_device()->set_device_name(health.device);
          device.set_health(static_cast<decltype(device.health())>(health.health));
          device.set_health_check_timeout_seconds(health.timeout_seconds);
          device.set_message(health.message);
        }
      }
      if (!writer.Write(list)) return;
    }
  }

  FakeDraState& state_;
};

/// A minimal DRA driver with real sockets below a kubelet root: one instance, named `instance`. The
/// settings in `state()` can be changed at any time; those of `info` before Register.
class FakeDraDriver {
 public:
  FakeDraDriver(const std::string& root, const std::string& instance = "one",
                const std::string& driver = kDriver)
      : endpoint_(root + "/plugins/" + instance + "-dra.sock"),
        registration_socket_(root + "/plugins_registry/" + instance + "-reg.sock") {
    std::filesystem::create_directories(root + "/plugins");
    std::filesystem::create_directories(root + "/plugins_registry");
    state_.info.set_type("DRAPlugin");
    state_.info.set_name(driver);
    state_.info.set_endpoint(endpoint_);
    for (const char* version : {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                                "v1alpha1.DRAResourceHealth"}) {
      state_.info.add_supported_versions(version);
    }
    Serve();
  }
  ~FakeDraDriver() { Stop(); }

  /// Serves on the endpoint again after StopServing.
  void Serve() { server_ = Start(endpoint_, {&v1_, &v1beta1_, &health_v1_, &health_v1alpha1_}); }
  /// Ends connections, and with them calls.
  void StopServing() { Shutdown(server_); }
  void Register() { registration_server_ = Start(registration_socket_, {&registration_}); }
  void Unregister() { Shutdown(registration_server_); }
  void Stop() {
    Unregister();
    StopServing();
  }

  FakeDraState& state() { return state_; }
  const std::string& endpoint() const { return endpoint_; }
  const std::string& registration_socket() const { return registration_socket_; }

  std::vector<std::string> calls() { return state_.Copy(state_.calls); }
  std::vector<std::string> notices() { return state_.Copy(state_.notices); }
  void SetHealth(std::vector<FakeHealth> health) {
    state_.Change([&] {
      state_.health = std::move(health);
      ++state_.generation;
    });
  }

 private:
  static std::unique_ptr<grpc::Server> Start(const std::string& socket,
                                             const std::vector<grpc::Service*>& services) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    for (grpc::Service* service : services) builder.RegisterService(service);
    return builder.BuildAndStart();
  }
  static void Shutdown(std::unique_ptr<grpc::Server>& server) {
    if (!server) return;
    server->Shutdown(std::chrono::system_clock::now());
    server.reset();
  }

  const std::string endpoint_;
  const std::string registration_socket_;
  FakeDraState state_;
  FakeRegistration registration_{state_};
  FakeClaims<dra_v1::DRAPlugin, dra_v1::NodePrepareResourcesRequest,
             dra_v1::NodePrepareResourcesResponse, dra_v1::NodeUnprepareResourcesRequest,
             dra_v1::NodeUnprepareResourcesResponse>
      v1_{state_, "v1"};
  FakeClaims<dra_v1beta1::DRAPlugin, dra_v1beta1::NodePrepareResourcesRequest,
             dra_v1beta1::NodePrepareResourcesResponse, dra_v1beta1::NodeUnprepareResourcesRequest,
             dra_v1beta1::NodeUnprepareResourcesResponse>
      v1beta1_{state_, "v1beta1"};
  FakeHealthService<::v1::DRAResourceHealth, ::v1::NodeWatchResourcesRequest,
                    ::v1::NodeWatchResourcesResponse>
      health_v1_{state_};
  FakeHealthService<::v1alpha1::DRAResourceHealth, ::v1alpha1::NodeWatchResourcesRequest,
                    ::v1alpha1::NodeWatchResourcesResponse>
      health_v1alpha1_{state_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::Server> registration_server_;
};

}  // namespace patchbay::test
