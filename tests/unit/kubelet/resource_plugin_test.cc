// One resource and the built-in kubelet, on a loop with a stopped clock. tests/integration tests
// restarts and faults of the kubelet.

#include "kubelet/resource_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "rpc/socket_file.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/fake_loop.h"
#include "support/observed_resource.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kName = "example.com/serial";
constexpr std::chrono::seconds kPluginPatience{60};

class ResourcePluginTest : public testing::Test {
 protected:
  ResourcePluginTest() {
    auto kubelet = KubeletSim::Create({.directory = tree_.path("kubelet")});
    EXPECT_TRUE(kubelet);
    kubelet_ = *std::move(kubelet);
    EXPECT_TRUE(kubelet_->Start());
    kubelet_identity_ = SocketIdentity(kubelet_->socket_path()).value();
    plugin_.emplace(
        ResourcePlugin::Dependencies{loop_, pool_, test::StartRpc(), log_,
                                     AllocationHost{HostRoot(), "node-1"}, kubelet_->directory(),
                                     "00000000", servers_, kubelet_identity_},
        kName, observed_.observer(), nullptr, std::make_shared<const DeviceUsage>(),
        ResourcePlugin::Events{
            .on_stale = [this] { ++stale_; },
            .check_directory = [] {},
            .on_registered =
                [this] { events_.emplace_back(plugin_->registered() ? "registered" : "lost"); },
            .on_kubelet_answers = [](bool) {}});
  }

  void Publish(const std::vector<std::string>& ids) {
    ResourceSpec spec;
    spec.name = kName;
    Snapshot snapshot{std::make_shared<const ResourceSpec>(spec), ++generation_, {}, {}};
    for (const std::string& id : ids) {
      snapshot.devices.push_back(
          {std::make_shared<const Device>(Device{id, {}, {}}), Health::kHealthy, ""});
    }
    plugin_->Publish(std::make_shared<const Snapshot>(std::move(snapshot)));
  }
  std::vector<std::string> Listed() const {
    std::vector<std::string> ids;
    if (const auto view = kubelet_->View(kName)) {
      for (const SimDevice& device : view->devices) ids.push_back(device.id);
    }
    return ids;
  }
  bool AwaitListed(const std::vector<std::string>& ids) {
    loop_.Advance(std::chrono::seconds(1));  // beyond the rate limit of lists
    return kubelet_->Await([&] { return Listed() == ids; }, kPluginPatience);
  }
  bool AwaitRegistered() {
    return loop_.RunUntil([&] { return plugin_->registered(); });
  }

  /// Waits for a state that depends on timers, too.
  bool AwaitOverTime(const std::function<bool()>& done) {
    for (int i = 0; i < 600 && !done(); ++i) {
      loop_.Advance(std::chrono::milliseconds(100));
      loop_.RunUntil(done, std::chrono::milliseconds(100));
    }
    return done();
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  std::ostringstream text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, text_};
  std::unique_ptr<KubeletSim> kubelet_;
  std::string kubelet_identity_;
  const test::ObservedResource observed_;
  std::uint64_t servers_ = 0;
  std::uint64_t generation_ = 0;
  int stale_ = 0;
  std::vector<std::string> events_;
  ThreadPool pool_{loop_};
  std::optional<ResourcePlugin> plugin_;
};

TEST_F(ResourcePluginTest, StartsNoServerWithoutAKubelet) {
  Publish({"a"});
  loop_.RunPosted();
  EXPECT_EQ(servers_, 0U);
  EXPECT_FALSE(plugin_->registered());
  EXPECT_THAT(kubelet_->RegisterCalls(), IsEmpty());
}

TEST_F(ResourcePluginTest, RegistersAndListsItsDevices) {
  Publish({"a", "b"});
  plugin_->OnKubelet(1);
  ASSERT_TRUE(AwaitRegistered()) << text_.str();
  EXPECT_TRUE(AwaitListed({"a", "b"}));
  EXPECT_THAT(events_, ElementsAre("registered"));
  EXPECT_EQ(observed_.registrations(), 1);
}

TEST_F(ResourcePluginTest, SendsTheListAgainWhenItChanges) {
  Publish({"a"});
  plugin_->OnKubelet(1);
  ASSERT_TRUE(AwaitRegistered());
  ASSERT_TRUE(AwaitListed({"a"}));
  Publish({"a", "c"});
  EXPECT_TRUE(AwaitListed({"a", "c"}));
  EXPECT_EQ(kubelet_->RegisterCalls().size(), 1U);
}

TEST_F(ResourcePluginTest, RegistersAgainWithARestartedKubelet) {
  Publish({"a"});
  plugin_->OnKubelet(1);
  ASSERT_TRUE(AwaitRegistered());
  ASSERT_TRUE(kubelet_->Restart());
  kubelet_identity_ = SocketIdentity(kubelet_->socket_path()).value();
  plugin_->OnKubelet(2);
  ASSERT_TRUE(AwaitOverTime(
      [&] { return kubelet_->RegisterCalls().size() == 2 && plugin_->registered(); }));
  EXPECT_TRUE(AwaitListed({"a"}));
  EXPECT_EQ(servers_, 2U) << "on a new socket";
}

TEST_F(ResourcePluginTest, DrainSendsAnEmptyListFirst) {
  Publish({"a"});
  plugin_->OnKubelet(1);
  ASSERT_TRUE(AwaitRegistered());
  ASSERT_TRUE(AwaitListed({"a"}));
  bool drained = false;
  plugin_->Drain([&] { drained = true; });
  EXPECT_TRUE(kubelet_->Await([&] { return Listed().empty(); }, kPluginPatience));
  EXPECT_TRUE(loop_.RunUntil([&] { return drained; }));
}

TEST_F(ResourcePluginTest, AllocateOfAnUnknownDeviceRequestsAScan) {
  Publish({"a"});
  plugin_->OnKubelet(1);
  ASSERT_TRUE(AwaitRegistered());
  ASSERT_TRUE(AwaitListed({"a"}));
  const auto stub = v1beta1::DevicePlugin::NewStub(grpc::CreateChannel(
      "unix:" + kubelet_->View(kName)->endpoint, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPluginPatience);
  v1beta1::AllocateRequest request;
  v1beta1::AllocateResponse response;
  request.add_container_requests()->add_devices_ids("gone");
  EXPECT_FALSE(stub->Allocate(&context, request, &response).ok());
  EXPECT_TRUE(loop_.RunUntil([&] { return stale_ == 1; }));
}

}  // namespace
}  // namespace patchbay
