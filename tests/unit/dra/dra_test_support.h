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
#include "dra/driver_handlers.h"
#include "rpc/grpc_init.h"
#include "rpc/unix_server.h"
#include "support/rpc_server.h"

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

/// The methods of the socket of a driver, and a server of them. Stops when it is destroyed.
class TestDriver {
 public:
  TestDriver(const std::string& socket, const DriverBackend& backend)
      : streams(HealthStreamEvents(backend.observer, [](int) {})),
        server_(UnixServer::Start(StartRpc(), socket, DriverHandlers(backend, streams)).value()) {}
  ~TestDriver() { streams.Close(); }
  TestDriver(const TestDriver&) = delete;
  TestDriver& operator=(const TestDriver&) = delete;

  const std::string& socket() const { return server_->socket(); }
  void BeginStop() {
    streams.Close();
    server_->BeginStop();
  }

  HealthStreams streams;

 private:
  std::unique_ptr<UnixServer> server_;
};

/// Records the events of a driver as text, in order.
class RecordingDriverObserver : public DriverObserver {
 public:
  void OnRpc(DriverRpc rpc, std::string_view code) override {
    Record(Format("{} {}", Name(rpc), code));
  }
  void OnHealthStreams(int open) override { Record(Format("{} streams", open)); }
  void OnClaimPrepare(const std::string&, bool, std::chrono::nanoseconds) override {}
  void OnClaimUnprepare(const std::string&, bool) override {}

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
