// Compares /metrics and /readyz with the view of the kubelet.

#include <algorithm>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

class DaemonMetrics : public Contract {
 protected:
  bool Agrees(std::string_view name, std::string_view labels, std::size_t value) {
    const std::string series = Format("patchbay_{}{{{}}}", name, labels);
    const bool agrees =
        daemon_->AwaitMetric(series, static_cast<double>(value), std::chrono::seconds(5));
    EXPECT_TRUE(agrees) << daemon_->log().text() << series << " is " << daemon_->Metric(series)
                        << ", not " << value;
    return agrees;
  }
};

TEST_P(DaemonMetrics, AgreeWithTheKubelet) {
  const std::string r = "resource=\"example.com/serial\"";
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  StartKubelet();
  StartDaemon();
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());
  std::size_t registrations = 0, connections = 0, lists = 0, granted = 0, refused = 0;
  const auto take = [&] {
    registrations += View().registrations;
    connections += View().connections;
    lists += View().lists;
  };

  ASSERT_TRUE(kubelet_->Admit("pod-1", "c", kSerialName, 2));
  ++granted;
  tree_.Remove("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_FALSE(Stub().Allocate({{"nonsense"}}).ok());
  ++refused;
  // A request for an unknown device sends the list again.
  ASSERT_TRUE(AwaitView([](const ResourceView& view) { return view.lists == 3; }));
  Agrees("list_watch_streams", r, 1);
  take();

  const std::string before = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  ASSERT_TRUE(daemon_->AwaitReady());
  take();
  kubelet_->SetRegisterFault(RegisterFault::kUnknownError);
  const std::size_t calls = kubelet_->RegisterCalls().size();
  kubelet_->DropStreams(kSerialName);
  ASSERT_TRUE(AwaitCalls(calls + 1));
  ASSERT_TRUE(daemon_->log().Await("fault injected"));
  EXPECT_EQ(daemon_->Get("/readyz").status, 503);
  Agrees("resource_registered", r, 0);
  kubelet_->SetRegisterFault(RegisterFault::kNone);
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());
  lists += View().lists - 1;
  connections += View().connections - 1;
  registrations += View().registrations - 1;

  std::size_t accepted = 0, failed = 0;
  for (const RegisterCall& call : Calls()) {
    ASSERT_TRUE(call.answered);
    ++(call.code == 0 ? accepted : failed);
  }
  EXPECT_EQ(accepted, registrations);
  Agrees("registrations_total", r + ",result=\"success\"", accepted);
  // Calls between the bind of kubelet.sock and its listen fail without being counted.
  const auto failures = static_cast<std::size_t>(
      daemon_->Metric(Format("patchbay_registrations_total{{{},result=\"failure\"}}", r)));
  EXPECT_GE(failures, failed) << daemon_->log().text();
  EXPECT_LE(failures, daemon_->log().Count("phase=registering") - accepted)
      << daemon_->log().text();
  Agrees("resource_registered", r, 1);
  Agrees("list_watch_updates_total", r, lists);
  Agrees("list_watch_streams", r, 1);
  Agrees("allocations_total", r + ",result=\"success\"", granted);
  Agrees("allocations_total", r + ",result=\"failure\"", refused);
  Agrees("allocated_units_total", r, 2);
  Agrees("rpcs_total", "code=\"OK\",method=\"Allocate\"," + r, granted);
  Agrees("rpcs_total", "code=\"NOT_FOUND\",method=\"Allocate\"," + r, refused);
  // One for each connection of a kubelet that calls it.
  const std::size_t asked = GetParam() == KubeletProfile::kAsync ? 0 : connections;
  Agrees("rpcs_total", "code=\"OK\",method=\"GetDevicePluginOptions\"," + r, asked);
  // At a restart, either side can end the stream first.
  const auto ended = [&](std::string_view code) {
    return std::max(
        0.0, daemon_->Metric(
                 Format("patchbay_rpcs_total{{code=\"{}\",method=\"ListAndWatch\",{}}}", code, r)));
  };
  EXPECT_EQ(ended("CANCELLED") + ended("OK"), 2);
  EXPECT_GE(ended("CANCELLED"), 1);
  Agrees("units", "health=\"healthy\"," + r, 1);
  Agrees("units", "health=\"unhealthy\"," + r, 1);
  Agrees("device_healthy", "device=\"ttyUSB1\"," + r, 0);
  Agrees("device_health_transitions_total", r + ",to=\"unhealthy\"", 1);
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_up"), 1);
  EXPECT_EQ(daemon_->Metric("patchbay_kubelet_restarts_total"), 1);
}

TEST_P(DaemonMetrics, ReadyzReportsMissingResources) {
  StartDaemon();
  HttpAnswer ready = daemon_->Get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, HasSubstr(kSerialName));
  EXPECT_EQ(daemon_->Get("/healthz").status, 200);
  StartKubelet();
  ASSERT_TRUE(AwaitServed());
  EXPECT_TRUE(daemon_->AwaitReady());
  kubelet_->Stop();
  EXPECT_TRUE(daemon_->AwaitUnready(kSerialName));
  EXPECT_EQ(daemon_->Get("/healthz").status, 200);
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_kubelet_up", 0));
}

TEST_P(DaemonMetrics, OmitResourcesOfOtherNodes) {
  StartKubelet();
  StartDaemon(Serial() +
              Resource("example.com/elsewhere", "/dev/ttyACM*", "on_nodes = [\"other-*\"]"));
  ASSERT_TRUE(AwaitServed());
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(Calls("example.com/elsewhere").size(), 0U);
  EXPECT_EQ(daemon_->Metric("patchbay_resource_registered{resource=\"example.com/elsewhere\"}"),
            -1);
}

INSTANTIATE_TEST_SUITE_P(All, DaemonMetrics,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
