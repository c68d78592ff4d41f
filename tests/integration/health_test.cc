// Health, from a probe on the host to the table of the kubelet, the metrics and the log.

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/format.h"
#include "integration/contract.h"
#include "support/hanging_mount.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// [resource.health]: /dev/ttyUSBn works while /sys/state/ttyUSBn holds "ok".
constexpr std::string_view kFileProbe = R"(
  file = "/sys/state/{name}"
  equals = "ok"
  period = "100ms"
  failure_threshold = 2
)";

class DeviceHealth : public Contract {
 protected:
  /// Serves every serial device, with these lines in [resource.health].
  void Start(std::string_view health) {
    StartKubelet();
    StartDaemon(Format("{}[resource.health]\n{}", kSerial, health),
                {.daemon_keys = "rescan = \"24h\""});
    ASSERT_TRUE(AwaitServed());
  }
  void Make(int number, std::string_view state = "ok\n") {
    tree_.CharDevice(Format("dev/ttyUSB{}", number));
    Set(number, state);
  }
  /// Replaces the text atomically, like a driver.
  void Set(int number, std::string_view state) {
    tree_.File("sys/state/new", state);
    std::filesystem::rename(tree_.path("sys/state/new"),
                            tree_.path(Format("sys/state/ttyUSB{}", number)));
  }
};

TEST_P(DeviceHealth, FollowsTheProbedFile) {
  Make(0), Make(1);
  Start(kFileProbe);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  Set(1, "no link\n");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("no link"));
  EXPECT_EQ(daemon_->log().Count("device is unhealthy"), 1U);
  EXPECT_EQ(
      daemon_->Metric(R"(patchbay_device_healthy{device="ttyUSB1",resource="example.com/serial"})"),
      0);
  EXPECT_EQ(daemon_->Metric(R"(patchbay_units{health="unhealthy",resource="example.com/serial"})"),
            1);
  EXPECT_GE(
      daemon_->Metric(R"(patchbay_probes_total{resource="example.com/serial",result="failure"})"),
      2);
  // A device that does not work is not allocated.
  const grpc::Status refused = Stub().Allocate({{"ttyUSB1"}});
  EXPECT_THAT(refused.error_message(), HasSubstr("no link"));
  Set(1, "ok\n");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB1"}}).ok());
}

TEST_P(DeviceHealth, IsKeptForAReturnedDevice) {
  Make(0), Make(1, "broken");
  Start(kFileProbe);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("/dev/ttyUSB0 no longer exists"));
  tree_.CharDevice("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
}

TEST_P(DeviceHealth, StartsUnhealthyIfConfigured) {
  Make(0), Make(1, "broken");
  std::string doubting(kFileProbe);
  doubting += "before_first = \"unhealthy\"\n";
  Start(doubting);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
}

TEST_P(DeviceHealth, FollowsTheProbeCommand) {
  Make(0), Make(1);
  Start(R"(
  command = ["/bin/sh", "-c", "echo no answer from $0; test $0 = ttyUSB0", "{name}"]
  period = "100ms"
  failure_threshold = 1
)");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("/bin/sh ended with exit code 1: no answer from ttyUSB1"));
}

TEST_P(DeviceHealth, HangingProbeDoesNotBlockOthersOrShutdown) {
  Make(0), Make(1);
  Start(R"(
  command = ["/bin/sh", "-c", "trap '' TERM; test $0 = ttyUSB0 || exec sleep 1000", "{name}"]
  period = "100ms"
  timeout = "5m"
  failure_threshold = 1
  before_first = "unhealthy"
)");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  daemon_.reset();  // well before the program's timeout
}

/// A device whose containers need a node that can be missing on the host.
class ExtraDeviceNodes : public DeviceHealth {
 protected:
  void SetUp() override {
    DeviceHealth::SetUp();
    Make(0);
    StartKubelet();
    StartDaemon(Format(R"({}
  [[resource.device_node]]
  [[resource.device_node]]
  host_path = "/dev/control"
)",
                       kSerial),
                {.daemon_keys = "rescan = \"24h\""});
    ASSERT_TRUE(AwaitServed());
  }
};

TEST_P(ExtraDeviceNodes, MissingNodeMakesADeviceUnhealthy) {
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("/dev/control of device_node is missing"));
  EXPECT_THAT(Stub().Allocate({{"ttyUSB0"}}).error_message(),
              HasSubstr("/dev/control of device_node is missing"));
  EXPECT_THAT(daemon_->Get("/api/v1/status").body, HasSubstr("/dev/control of device_node"));
  tree_.CharDevice("dev/control");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB0"}}).ok());
  tree_.Remove("dev/control");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
}

INSTANTIATE_TEST_SUITE_P(All, ExtraDeviceNodes,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

/// The probe of ttyUSB1 hangs in the kernel and cannot be killed; ttyUSB0 works.
class HangingProbes : public DeviceHealth {
 protected:
  static constexpr std::string_view kHangingProbe = R"(
  file = "/{name}/state"
  equals = "ok"
  period = "100ms"
  timeout = "50ms"
  failure_threshold = 3
)";

  void SetUp() override {
    DeviceHealth::SetUp();
    tree_.Dir("ttyUSB1");
    tree_.File("ttyUSB0/state", "ok\n");
    tree_.CharDevice("dev/ttyUSB0");
    tree_.CharDevice("dev/ttyUSB1");
    mount_.emplace(tree_.path("ttyUSB1"));
    if (!mount_->why_not().empty()) GTEST_SKIP() << mount_->why_not();
  }
  void TearDown() override {
    mount_.reset();
    daemon_.reset();
  }
  /// Waits until `count` probes had this result.
  bool AwaitResults(std::string_view result, int count) const {
    return daemon_->AwaitMetricAtLeast(
        Format(R"(patchbay_probes_total{{resource="example.com/serial",result="{}"}})", result),
        count);
  }
  std::string WhyRefused() const { return Stub().Allocate({{"ttyUSB1"}}).error_message(); }

  std::optional<HangingMount> mount_;
};

TEST_P(HangingProbes, FailEveryPeriodUntilTheyReturn) {
  Start(kHangingProbe);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("its probe has been hanging in the kernel since"));
  EXPECT_THAT(WhyRefused(), HasSubstr("hanging in the kernel since"));
  EXPECT_TRUE(AwaitResults("timeout", 5));
  EXPECT_EQ(daemon_->log().Count("device is unhealthy"), 1U);
  mount_->End();  // the directory below it has no such file
  EXPECT_TRUE(AwaitResults("failure", 1));
  tree_.File("ttyUSB1/state", "ok\n");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
}

TEST_P(HangingProbes, AreRememberedWhenHealthIsRemovedAndRestored) {
  Start(kHangingProbe);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  const std::string why = WhyRefused();
  daemon_->Reload(kSerial);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  daemon_->Reload(Format("{}[resource.health]\n{}", kSerial, kHangingProbe));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_EQ(WhyRefused(), why) << "it is the probe that hung before";
}

INSTANTIATE_TEST_SUITE_P(All, HangingProbes,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

INSTANTIATE_TEST_SUITE_P(All, DeviceHealth,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
