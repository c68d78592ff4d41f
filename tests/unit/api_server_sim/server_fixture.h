#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api_server_sim/api_server_sim.h"
#include "objects.h"
#include "support/api_client.h"

namespace patchbay::test {

/// A running ApiServerSim.
class ApiServerFixture : public testing::Test {
 public:
  static constexpr std::chrono::seconds kPatience{10};
  inline static const std::string kPath = "/apis/resource.k8s.io/v1/resourceslices";

  void Serve(const api_sim::ApiServerOptions& options = {}) {
    auto created = api_sim::ApiServerSim::Create(options);
    ASSERT_TRUE(created) << created.error().message;
    server_ = *std::move(created);
    const auto started = server_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }

  api_sim::ApiServerSim& server() { return *server_; }
  std::uint16_t port() const { return server_->port(); }

  /// Creates a slice without a connection and returns it.
  api_sim::Json CreateSlice(const std::string& name) {
    const auto response = server_->Call("POST", kPath, Slice(name));
    EXPECT_EQ(response.status, 201) << response.body;
    return api_sim::Json::parse(response.body);
  }

  bool AwaitWatches(std::size_t count) {
    return server_->Await([&] { return server_->Watches() == count; }, kPatience);
  }

 protected:
  std::unique_ptr<api_sim::ApiServerSim> server_;
};

}  // namespace patchbay::test
