#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fake_dra_driver.h"
#include "fake_plugin.h"
#include "podresources.grpc.pb.h"
#include "sim/kubelet/dra_manager.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakePlugin;
using test::kLong;
using test::kR;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Fault = PodResourcesFault;

class SimPodResources : public testing::Test {
 protected:
  SimPodResources() {
    sim_ = std::move(
        *KubeletSim::Create({.directory = tree_.path("plugins"), .pod_resources = socket_}));
  }
  void Start() { ASSERT_TRUE(sim_->Start()); }
  void Plug(const std::vector<std::int64_t>& numa = {}) {
    plugin_ = std::make_unique<FakePlugin>(tree_.path("plugins/1.sock"));
    plugin_->SetDevices({{"a", "Healthy"}}, numa);
    ASSERT_TRUE(FakePlugin::Register(sim_->socket_path(), kR, "1.sock").ok());
    ASSERT_TRUE(sim_->Await(
        [&] {
          const auto view = sim_->View(kR);
          return view && view->allocatable == 1;
        },
        kLong));
  }

  std::shared_ptr<grpc::Channel> Dial() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  grpc::Status List(milliseconds timeout = kLong) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    list_.Clear();
    return v1::PodResourcesLister::NewStub(Dial())->List(&context, {}, &list_);
  }
  /// Returns the List response, one line per entry: "namespace/pod/container resource=id@node".
  std::vector<std::string> Listed() {
    const grpc::Status status = List();
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> lines;
    for (const v1::PodResources& pod : list_.pod_resources()) {
      for (const v1::ContainerResources& container : pod.containers()) {
        for (const v1::ContainerDevices& devices : container.devices()) {
          std::string line = pod.namespace_() + "/" + pod.name() + "/" + container.name() + " " +
                             devices.resource_name() + "=";
          for (const std::string& id : devices.device_ids()) line += id;
          for (const v1::NUMANode& node : devices.topology().nodes()) {
            line += "@" + std::to_string(node.id());
          }
          lines.push_back(line);
        }
      }
    }
    return lines;
  }
  int Code(milliseconds timeout = kLong) { return List(timeout).error_code(); }

  test::TempTree tree_;
  const std::string socket_ = tree_.path("pod-resources/kubelet.sock");
  std::unique_ptr<KubeletSim> sim_;
  std::unique_ptr<FakePlugin> plugin_;
  v1::ListPodResourcesResponse list_;
};

TEST_F(SimPodResources, ReportsHolders) {
  Start();
  Plug();
  EXPECT_THAT(Listed(), IsEmpty());
  ASSERT_TRUE(sim_->Admit("team/p", "c", kR, 1));
  EXPECT_THAT(Listed(), ElementsAre("team/p/c example.com/r=a"));
  sim_->Release("team/p");
  EXPECT_THAT(Listed(), IsEmpty());
  ASSERT_TRUE(sim_->Admit("q", "c", kR, 1));
  EXPECT_THAT(Listed(), ElementsAre("default/q/c example.com/r=a"));
  EXPECT_EQ(sim_->PodResourcesCalls(), 4u);
}

TEST_F(SimPodResources, ReportsClaimsWhileTheirDriverHasPreparedThem) {
  test::FakeDraDriver driver(tree_.path());
  DraManager dra({.kubelet_root = tree_.path()});
  sim_ = std::move(*KubeletSim::Create({.directory = tree_.path("plugins"),
                                        .pod_resources = socket_,
                                        .prepared_claims = [&] { return dra.Claims(); }}));
  driver.Register();
  ASSERT_TRUE(dra.Start());
  ASSERT_TRUE(dra.Await(
      [&] {
        const auto found = dra.Instances(test::kDriver);
        return found.size() == 1 && found[0].connected;
      },
      kLong));
  Start();
  sim_->UseClaims("ns/p", "c", {"a"});
  ASSERT_TRUE(List().ok());
  EXPECT_EQ(list_.pod_resources(0).containers(0).dynamic_resources_size(), 0);

  const auto prepared = dra.PrepareClaims("uid-p", {{"ns", "a", "uid-a", test::kDriver}});
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_TRUE(sim_->Restart());
  ASSERT_TRUE(List().ok());
  ASSERT_EQ(list_.pod_resources_size(), 1);
  const v1::ContainerResources& container = list_.pod_resources(0).containers(0);
  EXPECT_EQ(container.name(), "c");
  ASSERT_EQ(container.dynamic_resources_size(), 1);
  const v1::DynamicResource& claim = container.dynamic_resources(0);
  EXPECT_EQ(claim.claim_namespace() + "/" + claim.claim_name(), "ns/a");
  ASSERT_EQ(claim.claim_resources_size(), 1);
  const SimPreparedDevice& device = prepared->at("uid-a").at(0);
  EXPECT_EQ(claim.claim_resources(0).driver_name(), test::kDriver);
  EXPECT_EQ(claim.claim_resources(0).pool_name(), device.pool);
  EXPECT_EQ(claim.claim_resources(0).device_name(), device.device);
  EXPECT_EQ(claim.claim_resources(0).cdi_devices(0).name(), device.cdi_devices.at(0));

  ASSERT_TRUE(dra.UnprepareClaims("uid-p"));
  sim_->Release("ns/p");
  ASSERT_TRUE(List().ok());
  EXPECT_EQ(list_.pod_resources_size(), 0);
  sim_.reset();  // before `dra`
}

TEST_F(SimPodResources, ReportsADeviceOncePerNumaNode) {
  Start();
  Plug({0, 1});
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  EXPECT_THAT(Listed(),
              ElementsAre("default/p/c example.com/r=a@0", "default/p/c example.com/r=a@1"));
}

TEST_F(SimPodResources, KeepsHoldersAcrossARestart) {
  Start();
  Plug();
  ASSERT_TRUE(sim_->Admit("p", "c", kR, 1));
  ASSERT_TRUE(sim_->Restart());
  EXPECT_THAT(Listed(), ElementsAre("default/p/c example.com/r=a"));
}

TEST_F(SimPodResources, StopsAndCrashesWithTheKubelet) {
  Start();
  EXPECT_TRUE(std::filesystem::is_socket(socket_));
  sim_->Stop();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  Start();
  sim_->Crash();
  EXPECT_TRUE(std::filesystem::is_socket(socket_));
  EXPECT_EQ(Code(), grpc::StatusCode::UNAVAILABLE);
  Start();
  EXPECT_EQ(Code(), grpc::StatusCode::OK);
}

TEST_F(SimPodResources, IsNotServedUnlessConfigured) {
  sim_ = std::move(*KubeletSim::Create({.directory = tree_.path("plugins")}));
  Start();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  EXPECT_TRUE(sim_->SetPodResourcesFault(Fault::kNone));
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(SimPodResources, RejectsInvalidPaths) {
  const auto long_path =
      KubeletSim::Create({.directory = tree_.path(), .pod_resources = std::string(108, 'x')});
  ASSERT_FALSE(long_path);
  EXPECT_EQ(long_path.error().kind, ErrorKind::kInvalid);
  tree_.File("pod-resources", "in the way");
  const Status started = sim_->Start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr(socket_));
}

TEST_F(SimPodResources, KeepsFaultsAcrossARestart) {
  Start();
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kRateLimited));
  const grpc::Status limited = List();
  EXPECT_EQ(limited.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(limited.error_message(), "rejected by rate limit");
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kUnknownError));
  ASSERT_TRUE(sim_->Restart());
  EXPECT_EQ(Code(), grpc::StatusCode::UNKNOWN);
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kTooLong));
  EXPECT_THAT(List().error_message(), StartsWith("Received message larger than max (16777"));
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kGarbage));
  EXPECT_FALSE(List().ok());
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kHang));
  EXPECT_EQ(Code(milliseconds(100)), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kNone));
  EXPECT_EQ(Code(), grpc::StatusCode::OK);
}

TEST_F(SimPodResources, StopEndsAHangingCall) {
  Start();
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kHang));
  grpc::Status status;
  std::thread caller([&] { status = List(); });
  EXPECT_TRUE(sim_->Await([&] { return sim_->PodResourcesCalls() == 1; }, kLong));
  sim_->Stop();
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SimPodResources, AbsentFaultRemovesTheSocket) {
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kAbsent));
  Start();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kNone));
  EXPECT_EQ(Code(), grpc::StatusCode::OK);
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kAbsent));
  EXPECT_FALSE(std::filesystem::exists(socket_));
  EXPECT_EQ(Code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SimPodResources, OldKubeletsServeOnlyV1alpha1) {
  Start();
  const auto code = [&](const std::string& method) {
    grpc::TemplatedGenericStub<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse> stub(
        Dial());
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Status status;
    const auto call = stub.PrepareUnaryCall(&context, method, {}, &queue);
    call->StartCall();
    call->Finish(&list_, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    queue.Shutdown();
    return static_cast<int>(status.error_code());
  };
  const std::string v1 = "/v1.PodResourcesLister/List";
  const std::string v1alpha1 = "/v1alpha1.PodResourcesLister/List";
  EXPECT_EQ(code(v1), grpc::StatusCode::OK);
  EXPECT_EQ(code(v1alpha1), grpc::StatusCode::OK);
  EXPECT_EQ(code("/v1.PodResourcesLister/Get"), grpc::StatusCode::UNIMPLEMENTED);
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kOnlyV1alpha1));
  EXPECT_EQ(code(v1), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(code(v1alpha1), grpc::StatusCode::OK);
  ASSERT_TRUE(sim_->SetPodResourcesFault(Fault::kUnimplemented));
  EXPECT_EQ(code(v1alpha1), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace patchbay
