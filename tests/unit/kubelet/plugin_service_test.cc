// Calls of one resource over a real socket. inventory/allocation_test.cc tests the content of
// allocations.

#include "kubelet/plugin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/plugin_server.h"
#include "plugin_test_support.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PluginServiceTest : public testing::Test {
 protected:
  PluginServiceTest() {
    PluginBackend backend;
    backend.resource = "example.com/serial";
    backend.snapshot = cell_;
    backend.observer = test::MakeObserver();
    backend.allocation = {HostRoot(tree_.path()), "node-1"};
    backend.on_stale_list = [this] { ++stale_; };
    backend.on_refused = [this](const char* what, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      refused_.push_back(std::string(what) + ": " + reason);
    };
    auto server =
        PluginServer::Start(test::StartRpc(), tree_.path("plugin.sock"), backend, [](int, bool) {});
    EXPECT_TRUE(server);
    server_ = *std::move(server);
    stub_ = test::ConnectToPlugin(server_->socket());
  }

  /// Publishes devices with this health and without device nodes.
  void Publish(
      const std::vector<std::pair<std::string, Health>>& devices,
      const std::function<void(ResourceSpec&)>& change = [](ResourceSpec&) {}) {
    ResourceSpec spec;
    spec.name = "example.com/serial";
    change(spec);
    Snapshot snapshot{std::make_shared<const ResourceSpec>(spec), 1, {}, {}};
    for (const auto& [id, health] : devices) {
      snapshot.devices.push_back({std::make_shared<const Device>(Device{id, {}, {}}), health,
                                  health == Health::kHealthy ? "" : "the probe failed"});
    }
    cell_->Set(std::make_shared<const Snapshot>(std::move(snapshot)));
  }
  grpc::Status Allocate(const std::vector<std::string>& ids) {
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
    return stub_->Allocate(test::ContextWithDeadline().get(), request, &allocated_);
  }
  v1beta1::DevicePluginOptions Options() {
    v1beta1::DevicePluginOptions options;
    EXPECT_TRUE(
        stub_->GetDevicePluginOptions(test::ContextWithDeadline().get(), {}, &options).ok());
    return options;
  }
  grpc::Status PreStart(const std::string& id) {
    v1beta1::PreStartContainerRequest request;
    v1beta1::PreStartContainerResponse response;
    request.add_devices_ids(id);
    return stub_->PreStartContainer(test::ContextWithDeadline().get(), request, &response);
  }
  std::vector<std::string> refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

  test::TempTree tree_;
  const std::shared_ptr<SnapshotCell> cell_ = std::make_shared<SnapshotCell>();
  std::atomic<int> stale_ = 0;
  std::mutex mutex_;
  std::vector<std::string> refused_;
  std::unique_ptr<PluginServer> server_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  v1beta1::AllocateResponse allocated_;
};

TEST_F(PluginServiceTest, OptionsFollowTheConfiguration) {
  EXPECT_FALSE(Options().pre_start_required()) << "before the first scan";
  Publish({}, [](ResourceSpec& spec) {
    spec.pre_start.emplace();
    spec.preferred_allocation = Preference::kPacked;
  });
  EXPECT_TRUE(Options().pre_start_required());
  EXPECT_TRUE(Options().get_preferred_allocation_available());
  Publish({});
  EXPECT_FALSE(Options().pre_start_required());
  EXPECT_FALSE(Options().get_preferred_allocation_available());
}

TEST_F(PluginServiceTest, AllocateFailsBeforeTheFirstScan) {
  const grpc::Status status = Allocate({"a"});
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("the first scan of the host has not completed"));
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("allocation refused: ")));
}

TEST_F(PluginServiceTest, AllocatesHealthyDevices) {
  Publish({{"a", Health::kHealthy}, {"b", Health::kHealthy}});
  EXPECT_TRUE(Allocate({"b", "a"}).ok());
  EXPECT_EQ(allocated_.container_responses_size(), 1);
  EXPECT_THAT(refused(), IsEmpty());
  EXPECT_EQ(stale_, 0);
}

TEST_F(PluginServiceTest, LimitsTheContainersOfACall) {
  Publish({{"a", Health::kHealthy}}, [](ResourceSpec& spec) {
    const std::string megabyte(std::size_t{1} << 20, 'x');
    spec.annotations.emplace_back(Template::Compile("example.com/text").value(),
                                  Template::Compile(megabyte).value());
  });
  const auto allocate = [this](int containers) {
    v1beta1::AllocateRequest request;
    for (int i = 0; i < containers; ++i) request.add_container_requests()->add_devices_ids("a");
    return stub_->Allocate(test::ContextWithDeadline().get(), request, &allocated_);
  };
  EXPECT_TRUE(allocate(3).ok());
  EXPECT_THAT(allocate(4).error_message(),
              HasSubstr("would get more than 3670016 bytes; request fewer devices"));
  EXPECT_EQ(allocate(65).error_message(),
            "a call can be for at most 64 containers; make several calls");
}

TEST_F(PluginServiceTest, UnknownDeviceMeansThatTheKubeletListIsOutdated) {
  Publish({{"a", Health::kHealthy}});
  EXPECT_EQ(Allocate({"gone"}).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(stale_, 1);
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("gone")));
  EXPECT_EQ(allocated_.container_responses_size(), 0);
}

TEST_F(PluginServiceTest, PreferredAllocationContainsTheRequiredDevices) {
  Publish({{"a", Health::kHealthy}, {"b", Health::kHealthy}, {"c", Health::kHealthy}},
          [](ResourceSpec& spec) { spec.preferred_allocation = Preference::kPacked; });
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (const char* id : {"a", "b", "c"}) container.add_available_device_ids(id);
  container.add_must_include_device_ids("c");
  container.set_allocation_size(2);
  v1beta1::PreferredAllocationResponse response;
  ASSERT_TRUE(
      stub_->GetPreferredAllocation(test::ContextWithDeadline().get(), request, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 1);
  EXPECT_THAT(response.container_responses(0).device_ids(),
              testing::UnorderedElementsAre("c", "a"));
}

TEST_F(PluginServiceTest, PreStartWithoutAHookSucceeds) {
  EXPECT_EQ(PreStart("a").error_code(), StatusCode::UNAVAILABLE) << "before the first scan";
  Publish({{"a", Health::kHealthy}});
  EXPECT_TRUE(PreStart("a").ok());
}

TEST_F(PluginServiceTest, PreStartOfAnUnknownDeviceFails) {
  Publish({{"a", Health::kHealthy}}, [](ResourceSpec& spec) { spec.pre_start.emplace(); });
  EXPECT_EQ(PreStart("gone").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(stale_, 1);
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("start refused: ")));
}

}  // namespace
}  // namespace patchbay
