#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "deviceplugin.grpc.pb.h"

namespace patchbay::test {

inline constexpr std::chrono::seconds kLong{10};
inline const std::string kR = "example.com/r";

/// Settings of a test that calls read, on any thread.
template <class T>
class Setting {
 public:
  Setting(T value) : value_(std::move(value)) {}
  Setting& operator=(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    return *this;
  }
  T Get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

/// A minimal device plugin on its own socket. The settings can be changed at any time.
class FakePlugin : public v1beta1::DevicePlugin::Service {
 public:
  explicit FakePlugin(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakePlugin() override { Stop(); }

  void Stop() {
    Release();
    EndStreams();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  /// Registers with the kubelet and returns the status.
  static grpc::Status Register(const std::string& kubelet, const std::string& resource,
                               const std::string& endpoint,
                               std::chrono::milliseconds timeout = std::chrono::seconds(15),
                               const std::string& version = "v1beta1", bool preferred = false,
                               bool pre_start = false) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
        "unix:" + kubelet, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    v1beta1::RegisterRequest request;
    request.set_version(version);
    request.set_resource_name(resource);
    request.set_endpoint(endpoint);
    request.mutable_options()->set_get_preferred_allocation_available(preferred);
    request.mutable_options()->set_pre_start_required(pre_start);
    v1beta1::Empty response;
    return stub->Register(&context, request, &response);
  }

  /// Sends this list on all streams, now and when they open. `numa` are the nodes of each device.
  void SetDevices(const std::vector<std::pair<std::string, std::string>>& devices,
                  const std::vector<std::int64_t>& numa = {}) {
    v1beta1::ListAndWatchResponse list;
    for (const auto& [id, health] : devices) {
      auto& device = *list.add_devices();
      device.set_id(id);
      device.set_health(health);
      for (const std::int64_t node : numa) device.mutable_topology()->add_nodes()->set_id(node);
    }
    Change([&] { list_ = list, ++generation_; });
  }
  /// Ends all open streams with `status`.
  void EndStreams(grpc::Status status = grpc::Status::OK) {
    Change([&] { end_ = status, ++ended_; });
  }
  void HangOptions() {
    Change([&] { hang_options_ = true; });
  }
  void HangAllocate() {
    Change([&] { hang_allocate_ = true; });
  }
  void HangPreStart() {
    Change([&] { hang_pre_start_ = true; });
  }
  void Release() {
    Change([&] { hang_options_ = hang_allocate_ = hang_pre_start_ = false; });
  }

  Setting<bool> prefers = false;                            ///< the option; set before registering
  Setting<bool> pre_start = false;                          ///< likewise
  Setting<grpc::Status> options_status = grpc::Status();    ///< set before registering
  Setting<grpc::Status> allocate_status = grpc::Status();   ///< set while nothing is admitted
  Setting<grpc::Status> pre_start_status = grpc::Status();  ///< set while nothing is started
  Setting<std::vector<std::string>> preferred = std::vector<std::string>();  ///< likewise
  Setting<int> responses = 1;                                                ///< likewise

  std::vector<v1beta1::PreferredAllocationRequest> preferred_calls() { return Copy(preferences_); }
  std::vector<v1beta1::AllocateRequest> allocate_calls() { return Copy(allocations_); }
  std::vector<v1beta1::PreStartContainerRequest> pre_start_calls() { return Copy(pre_starts_); }
  /// Waits for this number of Allocate and PreStartContainer calls.
  bool AwaitCalls(std::size_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10),
                             [&] { return allocations_.size() + pre_starts_.size() >= n; });
  }
  bool AwaitOptionsCall() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return options_calls_ > 0; });
  }
  int options_calls() { return Copy(options_calls_); }
  /// The number of lists that began to be sent.
  int sent() { return Copy(sent_); }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* options) override {
    std::unique_lock lock(mutex_);
    ++options_calls_;
    changed_.notify_all();
    WaitWhile(lock, context, [&] { return hang_options_; });
    options->set_get_preferred_allocation_available(prefers.Get());
    options->set_pre_start_required(pre_start.Get());
    return options_status.Get();
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    std::unique_lock lock(mutex_);
    const int ended = ended_;
    int sent = -1;
    while (true) {
      WaitWhile(lock, context, [&] { return sent == generation_ && ended == ended_; });
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      if (ended != ended_) return end_;
      sent = generation_;
      ++sent_;
      const auto list = list_;
      lock.unlock();
      if (!writer->Write(list)) return grpc::Status::CANCELLED;
      lock.lock();
    }
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    const std::lock_guard lock(mutex_);
    preferences_.push_back(*request);
    auto& container = *response->add_container_responses();
    for (const std::string& id : preferred.Get()) container.add_device_ids(id);
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    std::unique_lock lock(mutex_);
    allocations_.push_back(*request);
    changed_.notify_all();
    WaitWhile(lock, context, [&] { return hang_allocate_; });
    const int count = responses.Get();
    for (int i = 0; i < count; ++i) {
      auto& envs = *response->add_container_responses()->mutable_envs();
      envs["FIRST"] = i == 0 ? request->container_requests(0).devices_ids(0) : "not this one";
    }
    return allocate_status.Get();
  }

  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse*) override {
    std::unique_lock lock(mutex_);
    pre_starts_.push_back(*request);
    changed_.notify_all();
    WaitWhile(lock, context, [&] { return hang_pre_start_; });
    return pre_start_status.Get();
  }

 private:
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
  /// The blocking API reports a cancelled call only on request.
  void WaitWhile(std::unique_lock<std::mutex>& lock, grpc::ServerContext* context,
                 const std::function<bool()>& condition) {
    while (condition() && !context->IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  v1beta1::ListAndWatchResponse list_;
  int generation_ = 0;
  int ended_ = 0;
  grpc::Status end_;
  bool hang_options_ = false;
  bool hang_allocate_ = false;
  bool hang_pre_start_ = false;
  int options_calls_ = 0;
  int sent_ = 0;
  std::vector<v1beta1::PreferredAllocationRequest> preferences_;
  std::vector<v1beta1::AllocateRequest> allocations_;
  std::vector<v1beta1::PreStartContainerRequest> pre_starts_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace patchbay::test
