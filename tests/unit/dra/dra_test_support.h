#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "dra/driver_observer.h"
#include "rpc/grpc_init.h"

namespace patchbay::test {

/// The time after which a wait for an event fails.
inline constexpr std::chrono::seconds kDraPatience{60};

/// A test with gRPC. Otherwise gRPC shuts down between tests, which can take ten seconds.
class DraTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { InitGrpc(); }
};

/// A client of one socket, on its own connection.
template <class Service>
std::unique_ptr<typename Service::Stub> ConnectToDriver(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // channels share connections otherwise
  return Service::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

/// A context that fails the call instead of hanging the test.
inline std::unique_ptr<grpc::ClientContext> DraContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + kDraPatience);
  return context;
}

/// Records the events of a driver as text, in order.
class RecordingDriverObserver : public DriverObserver {
 public:
  void OnRpc(DriverRpc rpc, std::string_view code, std::chrono::nanoseconds) override {
    Record(Format("{} {}", Name(rpc), code));
  }
  void OnRegistration(const Status& status) override {
    Record(status ? "registered" : "not registered: " + status.error().message);
  }
  void OnSockets(const Status& status) override {
    Record(status ? "serving" : "not serving: " + status.error().message);
  }
  void OnHealthStreams(int open) override { Record(Format("{} streams", open)); }

  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  /// Returns how often `event` was recorded.
  std::ptrdiff_t Count(const std::string& event) const {
    const std::lock_guard lock(mutex_);
    return std::count(events_.begin(), events_.end(), event);
  }
  /// Waits until `event` was recorded `count` times.
  bool Await(const std::string& event, std::ptrdiff_t count = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDraPatience, [&] {
      return std::count(events_.begin(), events_.end(), event) >= count;
    });
  }

 private:
  void Record(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

}  // namespace patchbay::test
