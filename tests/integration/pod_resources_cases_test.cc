// Device usage, from the kubelet's PodResources API to the metrics and the list: case 56
// of the kubelet's contract.

#include "base/format.h"
#include "integration/contract.h"
#include "sim/kubelet/pod_resources_server.h"

namespace patchbay::test {
namespace {

using Fault = PodResourcesFault;

constexpr PodResourcesPace kFast{.period = std::chrono::milliseconds(50), .deadline = kPatience};
constexpr PodResourcesPace kImpatient{.period = std::chrono::milliseconds(50),
                                      .deadline = std::chrono::seconds(1)};

class PodResourcesCases : public Contract {
 protected:
  std::string Socket() const { return tree_.path("pod-resources/kubelet.sock"); }
  void StartKubeletWithPods() { StartKubelet({.directory = {}, .pod_resources = Socket()}); }
  void StartAsking(std::string_view resources = kSerial, PodResourcesPace pace = kFast) {
    StartDaemon(
        resources,
        {.daemon_keys = "rescan = \"24h\"", .pod_resources = Socket(), .pod_resources_pace = pace});
    ASSERT_TRUE(AwaitServed());
  }
  std::string Admit(const std::string& pod) {
    const auto admitted = kubelet_->Admit(pod, "c", kSerialName, 1);
    EXPECT_TRUE(admitted) << admitted.error().message;
    return admitted ? admitted->device_ids.front() : "";
  }

  bool AwaitUp(bool up) const { return daemon_->AwaitMetric("patchbay_pod_resources_up", up); }
  static std::string Units() {
    return Format("patchbay_units_in_use{{resource=\"{}\"}}", kSerialName);
  }
  static std::string Held(std::string_view pod, std::string_view device) {
    return Format(
        "patchbay_device_in_use{{container=\"c\",device=\"{}\",namespace=\"default\",pod=\"{}\","
        "resource=\"{}\"}}",
        device, pod, kSerialName);
  }
  bool AwaitUnits(int units) const { return daemon_->AwaitMetric(Units(), units); }
  /// Waits for this number of further polls.
  bool AwaitAsked(std::size_t times) const {
    const std::size_t before = kubelet_->PodResourcesCalls();
    return kubelet_->Await([&] { return kubelet_->PodResourcesCalls() >= before + times; },
                           kPatience);
  }
};

TEST_P(PodResourcesCases, Case56MetricsFollowThePods) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubeletWithPods();
  StartAsking();
  ASSERT_TRUE(AwaitUp(true));
  EXPECT_EQ(daemon_->Metric(Units()), 0);
  const std::string a = Admit("a"), b = Admit("b");
  ASSERT_TRUE(AwaitUnits(2));
  EXPECT_EQ(daemon_->Metric(Held("a", a)), 1);
  EXPECT_EQ(daemon_->Metric(Held("b", b)), 1);
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitUnits(1));
  EXPECT_EQ(daemon_->Metric(Held("a", a)), -1);
  EXPECT_EQ(daemon_->Metric(Held("b", b)), 1);
}

TEST_P(PodResourcesCases, PollsSoonAfterAnAllocate) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubeletWithPods();
  StartAsking(kSerial, {.period = std::chrono::hours(1), .deadline = kPatience});
  ASSERT_TRUE(AwaitUp(true));
  Admit("a");
  EXPECT_TRUE(AwaitUnits(1)) << daemon_->log().text();
}

TEST_P(PodResourcesCases, Case56DeviceHasTheHoldersOfItsReplicas) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubeletWithPods();
  StartAsking(Serial("replicas = 3"));
  Admit("a"), Admit("b");
  ASSERT_TRUE(AwaitUnits(2));
  EXPECT_EQ(daemon_->Metric(Held("a", "ttyUSB0")), 1);
  EXPECT_EQ(daemon_->Metric(Held("b", "ttyUSB0")), 1);
}

TEST_P(PodResourcesCases, Case56OutageKeepsTheLastReport) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubeletWithPods();
  StartAsking(kSerial, kImpatient);
  HealthById health = {{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}};
  for (const Fault fault : {Fault::kAbsent, Fault::kUnimplemented, Fault::kUnknownError,
                            Fault::kGarbage, Fault::kTooLong, Fault::kHang}) {
    SCOPED_TRACE(static_cast<int>(fault));
    const std::string pod = Format("pod-{}", static_cast<int>(fault));
    const std::string held = Admit(pod);
    ASSERT_TRUE(AwaitUp(true));
    ASSERT_TRUE(AwaitUnits(1));
    ASSERT_TRUE(kubelet_->SetPodResourcesFault(fault));
    ASSERT_TRUE(AwaitUp(false));
    kubelet_->Release(pod);
    EXPECT_EQ(daemon_->Metric(Units()), 1);
    EXPECT_EQ(daemon_->Metric(Held(pod, held)), 1);
    EXPECT_TRUE(Stub().Allocate({{held}}).ok());
    const std::string device = Format("ttyUSB{}", 10 + static_cast<int>(fault));
    tree_.CharDevice("dev/" + device);
    health[device] = "Healthy";
    EXPECT_TRUE(AwaitHealth(health));
    EXPECT_EQ(daemon_->Metric(Units()), 1);
    ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kNone));
    ASSERT_TRUE(AwaitUp(true));
    ASSERT_TRUE(AwaitUnits(0));
  }
}

TEST_P(PodResourcesCases, Case56LogsAMissingSocketOnceWithAHint) {
  StartKubeletWithPods();
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kAbsent));
  StartAsking();
  ASSERT_TRUE(daemon_->log().Await("mount its directory, /var/lib/kubelet/pod-resources"));
  EXPECT_EQ(daemon_->Metric("patchbay_pod_resources_up"), 0);
  EXPECT_EQ(daemon_->Metric(Units()), 0);
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kNone));
  ASSERT_TRUE(AwaitUp(true));
  EXPECT_EQ(daemon_->log().Count("mount its directory, /var/lib/kubelet/pod-resources"), 1U);
}

TEST_P(PodResourcesCases, Case56RateLimitsAreNotAnOutage) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubeletWithPods();
  StartAsking();
  const std::string held = Admit("a");
  ASSERT_TRUE(AwaitUp(true));
  ASSERT_TRUE(AwaitUnits(1));
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kRateLimited));
  ASSERT_TRUE(daemon_->log().Await("rate-limits PodResources requests"));
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitAsked(2));
  EXPECT_EQ(daemon_->Metric("patchbay_pod_resources_up"), 1);
  EXPECT_EQ(daemon_->Metric(Held("a", held)), 1);
  EXPECT_EQ(daemon_->log().Count("rate-limits PodResources requests"), 1U);
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kNone));
  ASSERT_TRUE(AwaitUnits(0));
}

TEST_P(PodResourcesCases, Case56UsesV1alpha1WithOldKubelets) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubeletWithPods();
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kOnlyV1alpha1));
  StartAsking();
  const std::string held = Admit("a");
  ASSERT_TRUE(AwaitUp(true));
  ASSERT_TRUE(AwaitUnits(1));
  EXPECT_EQ(daemon_->Metric(Held("a", held)), 1);
  EXPECT_EQ(daemon_->log().Count("is not known"), 0U);
}

TEST_P(PodResourcesCases, KubeletRestartKeepsHolders) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubeletWithPods();
  StartAsking();
  const std::string held = Admit("a");
  ASSERT_TRUE(AwaitUnits(1));
  kubelet_->Crash();
  ASSERT_TRUE(AwaitUp(false));
  EXPECT_EQ(daemon_->Metric(Held("a", held)), 1);
  ASSERT_TRUE(kubelet_->Start());
  ASSERT_TRUE(AwaitUp(true));
  EXPECT_EQ(daemon_->Metric(Held("a", held)), 1);
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitUnits(0));
}

TEST_P(PodResourcesCases, KeepsVanishedDevicesThatAreInUse) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubeletWithPods();
  StartAsking(Serial("forget_after = \"100ms\""));
  const std::string held = Admit("a");
  ASSERT_TRUE(AwaitUnits(1));
  // The device in use disappears first, so its period is also over when the other one is dropped.
  tree_.Remove("dev/" + held);
  tree_.Remove(held == "ttyUSB0" ? "dev/ttyUSB1" : "dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{held, "Unhealthy"}}));
  EXPECT_EQ(daemon_->Metric(Held("a", held)), 1);
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitHealth({}));
}

TEST_P(PodResourcesCases, HangingPollDoesNotBlockShutdown) {
  StartKubeletWithPods();
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(Fault::kHang));
  StartAsking(kSerial, {.deadline = std::chrono::hours(1)});
  ASSERT_TRUE(kubelet_->Await([&] { return kubelet_->PodResourcesCalls() > 0; }, kPatience));
  EXPECT_TRUE(daemon_->Stop());
}

TEST_P(PodResourcesCases, DoesNotPollUnlessConfigured) {
  StartKubeletWithPods();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(daemon_->Metric("patchbay_pod_resources_up"), -1);
  EXPECT_EQ(kubelet_->PodResourcesCalls(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, PodResourcesCases,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

/// A kubelet with a custom response. Independent of the kubelet profile.
class FakePods : public PodResourcesCases {
 protected:
  void Say(const std::string& pod, const std::string& resource,
           const std::vector<std::string>& ids) {
    v1::PodResources& added = *list_.add_pod_resources();
    added.set_namespace_("default");
    added.set_name(pod);
    v1::ContainerResources& container = *added.add_containers();
    container.set_name("c");
    for (int numa = 0; numa < 2; ++numa) {
      v1::ContainerDevices& devices = *container.add_devices();
      devices.set_resource_name(resource);
      devices.mutable_topology()->add_nodes()->set_id(numa);
      for (const std::string& id : ids) devices.add_device_ids(id);
    }
  }
  void Serve() {
    auto server = PodResourcesServer::Create(Socket(), {.list = [this] { return list_; }});
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  v1::ListPodResourcesResponse list_;
  std::unique_ptr<PodResourcesServer> server_;
};

TEST_P(FakePods, Case56CountsADeviceReportedPerNumaNodeOnce) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  Say("a", kSerialName, {"ttyUSB0", "ttyUSB0"});
  Say("a", kSerialName, {"ttyUSB0"});
  Say("a", "example.com/other", {"ttyUSB1"});
  Serve();
  StartAsking();
  ASSERT_TRUE(AwaitUnits(1));
  const std::string metrics = daemon_->Get("/metrics").body;
  EXPECT_EQ(MetricValue(metrics, Held("a", "ttyUSB0")), 1);
  EXPECT_EQ(metrics.find("ttyUSB1"), std::string::npos);
  EXPECT_EQ(metrics.find("example.com/other"), std::string::npos);
}

TEST_P(FakePods, CountsUnlistedDevicesAsInUse) {
  StartKubelet();
  Say("a", kSerialName, {"of-yesterday", std::string(10'000, 'x'), "a \"\n\\"});
  Serve();
  StartAsking();
  ASSERT_TRUE(AwaitUnits(2));
  EXPECT_EQ(daemon_->Metric(Held("a", "of-yesterday")), 1);
  EXPECT_EQ(daemon_->Metric(Held("a", "a \\\"\\n\\\\")), 1);
  EXPECT_TRUE(AwaitHealth({}));
}

TEST_P(FakePods, ReconnectsToARestartedServer) {
  StartKubelet();
  Say("a", kSerialName, {"x"});
  Serve();
  StartAsking();
  ASSERT_TRUE(AwaitUp(true));
  server_.reset();
  ASSERT_TRUE(AwaitUp(false));
  EXPECT_EQ(daemon_->Metric(Units()), 1);
  list_.Clear();
  Serve();
  ASSERT_TRUE(AwaitUp(true));
  EXPECT_EQ(daemon_->Metric(Units()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, FakePods, testing::Values(KubeletProfile::kSync), ProfileName);

}  // namespace
}  // namespace patchbay::test
