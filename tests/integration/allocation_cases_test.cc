// Cases 35 to 48 and 57 of the kubelet's contract: allocation.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kCards = R"(
[[resource]]
name = "example.com/card"
cdi_devices = ["example.com/card={card}"]
  [[resource.match]]
  regex = '/dev/card(?P<card>\d+)'
  id = "card{card}"
  [[resource.device_node]]
  container_path = "/dev/card{slot}"
  permissions = "rwm"
  [[resource.device_node]]
  host_path = "/dev/render{card}"
  container_path = "/dev/render{slot}"
  optional = true
  [[resource.mount]]
  host_path = "/opt/cards"
  container_path = "/opt/cards"
  [resource.env]
  CARDS = "{card}"
  "CARD_{slot}" = "{path}"
  NODE = "{node_name}"
  [resource.annotations]
  "example.com/cards" = "{id}"
)";
const std::string kCard = "example.com/card";

using Envs = std::map<std::string, std::string>;
Envs EnvsOf(const v1beta1::ContainerAllocateResponse& response) {
  return {response.envs().begin(), response.envs().end()};
}

std::vector<std::string> NodesOf(const v1beta1::ContainerAllocateResponse& response) {
  std::vector<std::string> nodes;
  for (const auto& d : response.devices()) {
    nodes.push_back(d.host_path() + ":" + d.container_path() + ":" + d.permissions());
  }
  return nodes;
}

class Allocation : public Contract {
 protected:
  void StartCards(KubeletSimOptions options = {}) {
    for (const int card : {2, 10}) tree_.CharDevice(Format("dev/card{}", card));
    tree_.CharDevice("dev/render2");
    StartKubelet(options);
    StartDaemon(kCards);
    ASSERT_TRUE(AwaitServed(kCard));
  }
};

TEST_P(Contract, Case35OneDevice) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const auto admitted = kubelet_->Admit("pod", "c", kSerialName, 1);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_THAT(admitted->device_ids, testing::ElementsAre("ttyUSB0"));
  EXPECT_THAT(NodesOf(admitted->response), testing::ElementsAre("/dev/ttyUSB0:/dev/ttyUSB0:rw"));
  EXPECT_EQ(admitted->response.mounts_size(), 0);
  EXPECT_EQ(admitted->response.envs_size(), 0);
}

TEST_P(Allocation, Case35TwoDevicesInAnyOrder) {
  ASSERT_NO_FATAL_FAILURE(StartCards());
  // The order of the kubelet is random; the direct calls below cover both orders.
  const auto admitted = kubelet_->Admit("pod", "c", kCard, 2);
  ASSERT_TRUE(admitted) << admitted.error().message;
  const auto check = [](const v1beta1::ContainerAllocateResponse& response) {
    EXPECT_EQ(EnvsOf(response), (Envs{{"CARDS", "2,10"},
                                      {"CARD_0", "/dev/card2"},
                                      {"CARD_1", "/dev/card10"},
                                      {"NODE", "node-1"}}));
    EXPECT_THAT(NodesOf(response), testing::UnorderedElementsAre("/dev/card2:/dev/card0:rwm",
                                                                 "/dev/render2:/dev/render0:rw",
                                                                 "/dev/card10:/dev/card1:rwm"));
    ASSERT_EQ(response.mounts_size(), 1);
    EXPECT_EQ(response.mounts(0).host_path(), "/opt/cards");
    EXPECT_TRUE(response.mounts(0).read_only());
    ASSERT_EQ(response.annotations_size(), 1);
    EXPECT_EQ(response.annotations().at("example.com/cards"), "card2,card10");
    ASSERT_EQ(response.cdi_devices_size(), 2);
    EXPECT_EQ(response.cdi_devices(0).name(), "example.com/card=2");
    EXPECT_EQ(response.cdi_devices(1).name(), "example.com/card=10");
  };
  check(admitted->response);
  for (const auto& ids : PluginStub::Containers{{"card2", "card10"}, {"card10", "card2"}}) {
    v1beta1::AllocateResponse response;
    ASSERT_TRUE(Stub(kCard).Allocate({ids}, &response).ok());
    ASSERT_EQ(response.container_responses_size(), 1);
    check(response.container_responses(0));
  }
}

TEST_P(Allocation, Case36UnknownId) {
  ASSERT_NO_FATAL_FAILURE(StartCards());
  const auto before = View(kCard).devices;
  for (const PluginStub::Containers& containers :
       {PluginStub::Containers{{"card7"}}, {{"card2", "card7"}}, {{"card2"}, {"card7"}}}) {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Stub(kCard).Allocate(containers, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), HasSubstr("card7"));
    EXPECT_EQ(response.container_responses_size(), 0);
  }
  // IDs are untrusted, and appear in a header and in the status of a pod.
  const grpc::Status hostile = Stub(kCard).Allocate({{"x\n\x01" + std::string(5000, 'y')}});
  EXPECT_EQ(hostile.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_LE(hostile.error_message().size(), 1024U);
  EXPECT_EQ(hostile.error_message().find('\n'), std::string::npos);
  EXPECT_EQ(View(kCard).devices, before);
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kCard, 2));
}

TEST_P(Contract, Case37UnhealthyId) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  tree_.Remove("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  const std::size_t lists = View().lists;
  const grpc::Status status = Stub().Allocate({{"ttyUSB1"}});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("ttyUSB1"));
  // Such a request means that the list is outdated, so the current list is sent again.
  EXPECT_TRUE(AwaitView([&](const ResourceView& view) { return view.lists == lists + 1; }));
  EXPECT_EQ(HealthOf(View())["ttyUSB1"], "Unhealthy");
  EXPECT_EQ(daemon_->Metric(
                "patchbay_allocations_total{resource=\"example.com/serial\",result=\"failure\"}"),
            1);
  EXPECT_TRUE(daemon_->log().Await("allocation refused resource=example.com/serial reason="));
}

TEST_P(Allocation, Case38SeveralEmptyAndRepeatedRequests) {
  ASSERT_NO_FATAL_FAILURE(StartCards());
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(Stub(kCard).Allocate({{"card10"}, {}, {"card2"}}, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 3);
  EXPECT_EQ(response.container_responses(0).envs().at("CARDS"), "10");
  EXPECT_EQ(response.container_responses(1).ByteSizeLong(), 0U);
  EXPECT_EQ(response.container_responses(2).envs().at("CARDS"), "2");

  ASSERT_TRUE(Stub(kCard).Allocate({}, &response).ok());
  EXPECT_EQ(response.container_responses_size(), 0);

  ASSERT_TRUE(Stub(kCard).Allocate({{"card2", "card2", "card2"}}, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 1);
  EXPECT_EQ(EnvsOf(response.container_responses(0)),
            (Envs{{"CARDS", "2"}, {"CARD_0", "/dev/card2"}, {"NODE", "node-1"}}));
  EXPECT_EQ(daemon_->Metric(
                "patchbay_allocations_total{resource=\"example.com/card\",result=\"success\"}"),
            4);
}

TEST_P(Allocation, Case39SixteenAtOnceWhileDevicesChange) {
  ASSERT_NO_FATAL_FAILURE(StartCards());
  constexpr int kCalls = 50;
  const std::string endpoint = View(kCard).endpoint;
  std::atomic<int> wrong = 0;
  std::atomic<int> running = 16;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      PluginStub stub(endpoint);
      for (int call = 0; call < kCalls; ++call) {
        v1beta1::AllocateResponse response;
        const grpc::Status status = stub.Allocate({{"card10", "card2"}}, &response);
        if (!status.ok() || response.container_responses(0).envs().at("CARDS") != "2,10") ++wrong;
      }
      --running;
    });
  }
  while (running > 0) {
    tree_.CharDevice("dev/card5");
    tree_.Remove("dev/card5");
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // The benchmarks measure their duration.
  EXPECT_EQ(daemon_->Metric("patchbay_rpc_duration_seconds_count{method=\"Allocate\",resource=\""
                            "example.com/card\"}"),
            16 * kCalls);
}

TEST_P(Allocation, Case40SameDevicesAgain) {
  ASSERT_NO_FATAL_FAILURE(StartCards());
  v1beta1::AllocateResponse first, second;
  ASSERT_TRUE(Stub(kCard).Allocate({{"card2"}}, &first).ok());
  ASSERT_TRUE(Stub(kCard).Allocate({{"card2"}}, &second).ok());
  EXPECT_EQ(EnvsOf(first.container_responses(0)), EnvsOf(second.container_responses(0)));
  EXPECT_EQ(NodesOf(first.container_responses(0)), NodesOf(second.container_responses(0)));
}

TEST_P(Contract, Case41AllocateBeforeAnyStream) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet().SetRegisterFault(RegisterFault::kHang);
  StartDaemon();
  ASSERT_TRUE(AwaitCalls(1));
  v1beta1::AllocateResponse response;
  PluginStub stub(tree_.path("kubelet/" + Calls().front().endpoint));
  ASSERT_TRUE(stub.Allocate({{"ttyUSB0"}}, &response).ok());
  EXPECT_THAT(NodesOf(response.container_responses(0)),
              testing::ElementsAre("/dev/ttyUSB0:/dev/ttyUSB0:rw"));
}

TEST_P(Contract, Case42OneContainerPathForTwoDevices) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubelet();
  StartDaemon(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/ttyUSB*"
  [[resource.device_node]]
  container_path = "/dev/ttyUSB"
)");
  ASSERT_TRUE(AwaitServed());
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB0"}}).ok());
  const grpc::Status status = Stub().Allocate({{"ttyUSB0", "ttyUSB1"}});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const char* part : {"/dev/ttyUSB0", "/dev/ttyUSB1", "/dev/ttyUSB"}) {
    EXPECT_THAT(status.error_message(), HasSubstr(part));
  }
  const auto admitted = kubelet_->Admit("pod", "c", kSerialName, 2);
  ASSERT_FALSE(admitted);
  EXPECT_THAT(admitted.error().message, HasSubstr("UnexpectedAdmissionError"));
}

TEST_P(Contract, Case43MissingNode) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  // The loop is held, so the change cannot have been detected.
  daemon_->OnLoop([&] {
    tree_.Remove("dev/ttyUSB0");
    const grpc::Status status = Stub().Allocate({{"ttyUSB0"}});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("/dev/ttyUSB0"));
  });
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
}

TEST_P(Contract, Case43RetargetedLink) {
  tree_.CharDevice("dev/real0");
  tree_.CharDevice("dev/real1");
  tree_.File("dev/file");
  tree_.Link("dev/ttyUSB0", "real0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  const auto nodes = [&] {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Stub().Allocate({{"ttyUSB0"}}, &response);
    if (!status.ok()) return std::vector<std::string>{status.error_message()};
    return NodesOf(response.container_responses(0));
  };
  EXPECT_THAT(nodes(), testing::ElementsAre("/dev/real0:/dev/ttyUSB0:rw"));
  daemon_->OnLoop([&] {
    tree_.Remove("dev/ttyUSB0");
    tree_.Link("dev/ttyUSB0", "real1");
    // The daemon has not checked yet whether the match includes that node.
    EXPECT_THAT(nodes(), testing::ElementsAre(HasSubstr("not the device that was found there")));
    tree_.Remove("dev/ttyUSB0");
    tree_.Link("dev/ttyUSB0", "file");
    EXPECT_THAT(nodes(), testing::ElementsAre(HasSubstr("not the device that was found there")));
    tree_.Remove("dev/ttyUSB0");
    tree_.Link("dev/ttyUSB0", "nowhere");
    EXPECT_THAT(nodes(), testing::ElementsAre(HasSubstr("node /dev/ttyUSB0 is missing")));
  });
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
  tree_.Remove("dev/ttyUSB0");
  tree_.Link("dev/ttyUSB0", "real1");
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  EXPECT_THAT(nodes(), testing::ElementsAre("/dev/real1:/dev/ttyUSB0:rw"));
}

TEST_P(Contract, Case47CallsThatWereNotAdvertised) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  EXPECT_EQ(View().options, SimPluginOptions{});
  const auto harmless = [](const grpc::Status& status) {
    return status.ok() || status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
  };
  v1beta1::PreferredAllocationRequest request;
  request.add_container_requests()->add_available_device_ids("ttyUSB0");
  request.add_container_requests()->set_allocation_size(-1);
  v1beta1::PreferredAllocationResponse response;
  EXPECT_TRUE(harmless(Stub().Preferred(request, &response)));
  EXPECT_TRUE(harmless(Stub().PreStart({"ttyUSB0", "nonsense"})));
  EXPECT_TRUE(harmless(Stub().PreStart({})));
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
}

TEST_P(Contract, Case48RequestOfMoreThanFourMebibytes) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (int i = 0; i < 50'000; ++i) container.add_available_device_ids(Format("{:0>90}", i));
  container.set_allocation_size(1);
  ASSERT_GT(request.ByteSizeLong(), 4U << 20);
  v1beta1::PreferredAllocationResponse response;
  const grpc::Status status = Stub().Preferred(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// Kubelets before 1.28 ignore CDI device names in the response. The rest of the response must
// therefore be as complete as without them.
TEST_P(Contract, Case57CdiDevicesDoNotReplaceNodesAndMounts) {
  tree_.CharDevice("dev/card0");
  constexpr std::string_view kPlain = R"(
[[resource]]
name = "example.com/card"
{}
  [[resource.match]]
  path = "/dev/card*"
  [[resource.mount]]
  host_path = "/opt/cards"
  container_path = "/opt/cards"
  [resource.env]
  CARD = "{{id}}"
)";
  StartKubelet();
  StartDaemon(Format(kPlain, "cdi_devices = [\"example.com/card={id}\"]"));
  ASSERT_TRUE(AwaitServed(kCard));
  const auto admitted = kubelet_->Admit("pod", "c", kCard, 1);
  ASSERT_TRUE(admitted) << admitted.error().message;
  v1beta1::ContainerAllocateResponse old = admitted->response;
  ASSERT_EQ(old.cdi_devices_size(), 1);
  EXPECT_EQ(old.cdi_devices(0).name(), "example.com/card=card0");
  old.clear_cdi_devices();  // like such a kubelet
  EXPECT_THAT(NodesOf(old), testing::ElementsAre("/dev/card0:/dev/card0:rw"));

  daemon_.reset();
  StartDaemon(Format(kPlain, ""));
  ASSERT_TRUE(AwaitServed(kCard));
  v1beta1::AllocateResponse plain;
  ASSERT_TRUE(Stub(kCard).Allocate({{"card0"}}, &plain).ok());
  EXPECT_EQ(old.SerializeAsString(), plain.container_responses(0).SerializeAsString());
}

INSTANTIATE_TEST_SUITE_P(All, Allocation,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
