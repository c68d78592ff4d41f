// Dynamic Resource Allocation: what the daemon reports in metrics, in its status and to the
// kubelet.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "base/format.h"
#include "dra/driver_endpoint.h"
#include "integration/dra_fixture.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kSerialLabel = "resource=\"example.com/serial\"";

class DraStatusOfDaemon : public Dra {
 protected:
  bool AwaitSeries(const char* name, double value, const std::string& labels = kSerialLabel) {
    return daemon_->AwaitMetric(Format("{}{{{}}}", name, labels), value);
  }
  /// Waits for this number of successful writes of slices. If a change is seen in two steps, there
  /// is one more.
  bool AwaitWrites(double count) {
    return daemon_->AwaitMetricAtLeast(
        Format("patchbay_resource_slice_writes_total{{{},result=\"success\"}}", kSerialLabel),
        count);
  }
  /// Starts the daemon with the PodResources API of the plugin side.
  bool StartWithPods() {
    StartWith(kDraSerial);
    return daemon_->AwaitReady();
  }
  void StartWith(std::string_view resources) {
    const std::string socket = tree_.path("pods/kubelet.sock");
    if (!plugin_side_) StartPluginSide(socket);
    const RunningDaemon::Settings settings{
        .pod_resources = socket,
        .pod_resources_pace = {.period = std::chrono::milliseconds(50), .deadline = kPatience},
        .cluster = cluster_->config()};
    daemon_ = std::make_unique<RunningDaemon>(tree_, resources, settings);
  }
  /// Waits until the kubelet knows the health of the devices, in the order of their names.
  bool AwaitHealth(const std::vector<SimHealth>& expected) {
    return kubelet_->Await(
        [&] {
          std::vector<SimHealth> health;
          for (const auto& device : kubelet_->Health(kDraDriver)) health.push_back(device.health);
          return health == expected;
        },
        kPatience);
  }
  Json StatusJson() const { return Json::parse(daemon_->Get("/api/v1/status").body); }
};

TEST_F(DraStatusOfDaemon, MetricsHaveSlicesRequestsAndClaims) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_api_server_up", 1));
  EXPECT_TRUE(
      daemon_->AwaitMetricAtLeast("patchbay_api_requests_total{code=\"201\",verb=\"create\"}", 1));
  EXPECT_TRUE(AwaitSeries("patchbay_resource_slices", 1));
  EXPECT_TRUE(AwaitWrites(1));
  EXPECT_TRUE(AwaitSeries("patchbay_prepared_claims", 0));
  CreateClass();
  const SimClaim claim = CreateClaim("one");
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  EXPECT_TRUE(AwaitSeries("patchbay_prepared_claims", 1));
  EXPECT_TRUE(AwaitSeries("patchbay_claim_prepares_total", 1,
                          Format("{},result=\"success\"", kSerialLabel)));
  EXPECT_TRUE(AwaitSeries("patchbay_claim_prepare_duration_seconds_count", 1));
  ASSERT_FALSE(kubelet_->PrepareClaims("pod-2", {{"default", "absent", "u", kDraDriver}}));
  EXPECT_TRUE(AwaitSeries("patchbay_claim_prepares_total", 1, "resource=\"\",result=\"failure\""));
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_TRUE(AwaitSeries("patchbay_prepared_claims", 0));
  EXPECT_TRUE(AwaitSeries("patchbay_claim_unprepares_total", 1,
                          Format("{},result=\"success\"", kSerialLabel)));
  for (const auto& [method, count] : std::map<std::string, int>{{"GetInfo", 1},
                                                                {"NotifyRegistrationStatus", 1},
                                                                {"NodePrepareResources", 2},
                                                                {"NodeUnprepareResources", 1},
                                                                {"NodeWatchResources", 0}}) {
    EXPECT_TRUE(AwaitSeries("patchbay_rpcs_total", count,
                            Format("code=\"OK\",method=\"{}\",resource=\"\"", method)))
        << method;
  }
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_health_streams", 1));
  server_->Stop();
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_api_server_up", 0));
}

TEST_F(DraStatusOfDaemon, StatusHasSlicesTaintsAndClaims) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  CreateClass();
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {CreateClaim("one")}));
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(server_->Await(
      [&] { return Published().size() == 2 && Published()[0].ends_with(" NoExecute"); },
      kPatience));
  ASSERT_TRUE(AwaitSeries("patchbay_prepared_claims", 1));
  ASSERT_TRUE(AwaitWrites(2));
  const Json status = StatusJson();
  EXPECT_EQ(status["dra"]["driver"], kDraDriver);
  EXPECT_EQ(status["dra"]["registered"], true);
  EXPECT_EQ(status["dra"]["api_server"]["url"], server_->url());
  EXPECT_EQ(status["dra"]["api_server"]["up"], true);
  ASSERT_EQ(status["dra"]["claims"].size(), 1U);
  const Json& claim = status["dra"]["claims"][0];
  EXPECT_EQ(claim["namespace"], "default");
  EXPECT_EQ(claim["name"], "one");
  EXPECT_EQ(claim["devices"][0]["device"], "ttyUSB0");
  const Json& pool = status["resources"][0]["dra"];
  EXPECT_EQ(pool["slices"], 1);
  EXPECT_EQ(pool["generation"], Slices()[0]["spec"]["pool"]["generation"]);
  EXPECT_EQ(pool["taints"], Json({{"ttyUSB0", "patchbay.dev/gone:NoExecute"}}));
}

TEST_F(DraStatusOfDaemon, AnOlderApiServerGetsNoTaintsAndThisIsReported) {
  StartCluster(api_sim::ApiProfile::k1_34);
  StartDaemon(WithProbe());
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<std::string> both = Published();
  CreateClass();
  const auto prepared = kubelet_->PrepareClaims("pod-1", {CreateClaim("one")});
  EXPECT_TRUE(prepared) << prepared.error().message;
  tree_.File("ttyUSB1");
  EXPECT_TRUE(AwaitPublished({both[0]})) << "no claim has the unhealthy device";
  EXPECT_EQ(StatusJson()["dra"]["dropped_fields"],
            Json::array({"taints", "allowMultipleAllocations"}));
  EXPECT_TRUE(AwaitSeries("patchbay_api_dropped_fields", 1, "field=\"taints\""));
  tree_.Remove("ttyUSB1");
  EXPECT_TRUE(AwaitPublished(both));
}

TEST_F(DraStatusOfDaemon, CountsWhatTheKubeletAnswersToTheRegistration) {
  kubelet_->SetRegistrationFault(DraRegistrationFault::kReject, "no room");
  StartDaemon();
  EXPECT_TRUE(daemon_->AwaitMetricAtLeast(
      Format("patchbay_registrations_total{{{},result=\"failure\"}}", kSerialLabel), 1));
  EXPECT_TRUE(daemon_->AwaitUnready("no room"));
  kubelet_->SetRegistrationFault(DraRegistrationFault::kNone);
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_TRUE(AwaitSeries("patchbay_registrations_total", 1,
                          Format("{},result=\"success\"", kSerialLabel)));
}

TEST_F(DraStatusOfDaemon, AKubeletThatDiesMakesResourcesUnready) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  ASSERT_TRUE(AwaitHealth({SimHealth::kHealthy, SimHealth::kHealthy})) << "its stream is open";
  kubelet_->Stop();
  EXPECT_TRUE(daemon_->AwaitUnready("the kubelet has ended its connection"));
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(daemon_->AwaitReady());
}

/// Other failures are not answers of the kubelet.
TEST_F(DraStatusOfDaemon, ARejectedSliceIsNoFailedRegistration) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  server_->SetFaults({{.verb = api_sim::Verb::kUpdate, .code = 500}});
  tree_.CharDevice("dev/ttyUSB2");
  EXPECT_TRUE(AwaitSeries("patchbay_resource_slice_writes_total", 1,
                          Format("{},result=\"failure\"", kSerialLabel)));
  EXPECT_TRUE(server_->Await([&] { return Published().size() == 3; }, kPatience));
  EXPECT_EQ(daemon_->Metric(
                Format("patchbay_registrations_total{{{},result=\"failure\"}}", kSerialLabel)),
            0);
}

TEST_F(DraStatusOfDaemon, PodsOfClaimsHoldDevices) {
  ASSERT_TRUE(StartWithPods());
  CreateClass();
  const auto prepared = kubelet_->PrepareClaims("uid", {CreateClaim("one")});
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_NE(prepared->begin()->second.at(0).device, "ttyUSB0") << "the name in the slice";
  plugin_side_->UseClaims("default/pod", "c", {"one"});
  EXPECT_TRUE(AwaitSeries("patchbay_device_in_use", 1,
                          Format("container=\"c\",device=\"ttyUSB0\",namespace=\"default\","
                                 "pod=\"pod\",{}",
                                 kSerialLabel)))
      << daemon_->Get("/metrics").body;
  EXPECT_EQ(StatusJson()["resources"][0]["in_use"], 1);
  ASSERT_TRUE(kubelet_->UnprepareClaims("uid"));
  EXPECT_TRUE(AwaitSeries("patchbay_units_in_use", 0));
}

TEST_F(DraStatusOfDaemon, PodsHoldDevicesOfAResourceBeforeItsFirstScanEnds) {
  ASSERT_TRUE(StartWithPods());
  CreateClass();
  const auto prepared = kubelet_->PrepareClaims("uid", {CreateClaim("one")});
  ASSERT_TRUE(prepared) << prepared.error().message;
  plugin_side_->UseClaims("default/pod", "c", {"one"});
  ASSERT_TRUE(AwaitSeries("patchbay_units_in_use", 1));
  ASSERT_TRUE(daemon_->Stop());
  const std::string gate = tree_.path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  std::string by_command(kDraSerial);
  const std::string path = "path = \"/dev/ttyUSB*\"";
  by_command.replace(by_command.find(path), path.size(),
                     Format("command = [\"/bin/cat\", \"{}\"]\n  timeout = \"60s\"", gate));
  StartWith(by_command);
  ASSERT_TRUE(daemon_->AwaitMetric("patchbay_pod_resources_up", 1));
  std::ofstream(gate) << R"([{"id": "ttyUSB0", "paths": ["/dev/ttyUSB0"]}])";
  EXPECT_TRUE(AwaitSeries("patchbay_units_in_use", 1)) << daemon_->Get("/metrics").body;
}

/// The alert for a device that is in use and unhealthy needs both series.
TEST_F(DraStatusOfDaemon, ADeviceThatVanishedBeforeAStartIsInUseAndUnhealthy) {
  ASSERT_TRUE(StartWithPods());
  CreateClass();
  const auto prepared = kubelet_->PrepareClaims("uid", {CreateClaim("one")});
  ASSERT_TRUE(prepared) << prepared.error().message;
  plugin_side_->UseClaims("default/pod", "c", {"one"});
  ASSERT_TRUE(daemon_->Stop());
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(StartWithPods());
  EXPECT_TRUE(AwaitSeries("patchbay_device_in_use", 1,
                          Format("container=\"c\",device=\"ttyUSB0\",namespace=\"default\","
                                 "pod=\"pod\",{}",
                                 kSerialLabel)))
      << daemon_->Get("/metrics").body;
  EXPECT_TRUE(
      AwaitSeries("patchbay_device_healthy", 0, Format("device=\"ttyUSB0\",{}", kSerialLabel)))
      << daemon_->Get("/metrics").body;
  EXPECT_TRUE(AwaitHealth({SimHealth::kUnhealthy, SimHealth::kHealthy}));
  EXPECT_TRUE(server_->Await([&] { return Published().at(0).ends_with(" NoExecute"); }, kPatience));
  EXPECT_TRUE(AwaitWrites(1));
  EXPECT_EQ(StatusJson()["resources"][0]["dra"]["taints"],
            Json({{"ttyUSB0", "patchbay.dev/gone:NoExecute"}}));
  ASSERT_TRUE(kubelet_->UnprepareClaims("uid"));
  EXPECT_TRUE(server_->Await([&] { return Published().size() == 1; }, kPatience));
}

TEST_F(DraStatusOfDaemon, TheKubeletKnowsTheHealthOfEachDevice) {
  EXPECT_LT(2 * kHealthResendInterval, SimDeviceHealth().timeout) << "one list can be late";
  StartDaemon(WithProbe());
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_TRUE(AwaitHealth({SimHealth::kHealthy, SimHealth::kHealthy}));
  tree_.File("ttyUSB1");
  EXPECT_TRUE(AwaitHealth({SimHealth::kHealthy, SimHealth::kUnhealthy}));
  const auto devices = kubelet_->Health(kDraDriver);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].pool, "node-1/example.com/serial");
  EXPECT_TRUE(devices[1].device.starts_with("ttyusb1-"));
  EXPECT_THAT(devices[1].message, HasSubstr("exit code 1"));
  tree_.Remove("ttyUSB1");
  EXPECT_TRUE(AwaitHealth({SimHealth::kHealthy, SimHealth::kHealthy}));
}

}  // namespace
}  // namespace patchbay::test
