// Health, from a probe on the host to the kubelet's table, the metrics and the log.

#include <csignal>
#include <filesystem>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// [resource.health]: /dev/ttyUSBn works while /state/ttyUSBn holds "ok".
constexpr std::string_view kFileProbe = R"(
  file = "/state/{name}"
  equals = "ok"
  period = "100ms"
  failure_threshold = 2
)";

class HealthOfDevices : public Contract {
 protected:
  /// Serves every serial line, with these lines in [resource.health].
  void Start(std::string_view health) {
    StartKubelet();
    StartDaemon(format("{}[resource.health]\n{}", kSerial, health),
                {.daemon_keys = "rescan = \"24h\""});
    ASSERT_TRUE(AwaitServed());
  }
  void Make(int number, std::string_view state = "ok\n") {
    tree_.CharDevice(format("dev/ttyUSB{}", number));
    Set(number, state);
  }
  /// As a driver would: readers see the old text or the new.
  void Set(int number, std::string_view state) {
    tree_.File("state/new", state);
    std::filesystem::rename(tree_.path("state/new"), tree_.path(format("state/ttyUSB{}", number)));
  }
};

TEST_P(HealthOfDevices, FollowTheirFile) {
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
  EXPECT_EQ(
      daemon_->Metric(R"(patchbay_devices{health="unhealthy",resource="example.com/serial"})"), 1);
  EXPECT_GE(
      daemon_->Metric(R"(patchbay_probes_total{resource="example.com/serial",result="failure"})"),
      2);
  // What does not work is not given out.
  const grpc::Status refused = Stub().Allocate({{"ttyUSB1"}});
  EXPECT_THAT(refused.error_message(), HasSubstr("no link"));
  Set(1, "ok\n");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB1"}}).ok());
}

TEST_P(HealthOfDevices, AreKnownToOneThatComesBackAsTheyWere) {
  Make(0), Make(1, "broken");
  Start(kFileProbe);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("/dev/ttyUSB0 is gone"));
  tree_.CharDevice("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
}

TEST_P(HealthOfDevices, AreDoubtedWhereTheFileSaysSo) {
  Make(0), Make(1, "broken");
  std::string doubting(kFileProbe);
  doubting += "before_first = \"unhealthy\"\n";
  Start(doubting);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
}

TEST_P(HealthOfDevices, AreAskedOfPrograms) {
  Make(0), Make(1);
  Start(R"(
  command = ["/bin/sh", "-c", "echo no answer from $0; test $0 = ttyUSB0", "{name}"]
  period = "100ms"
  failure_threshold = 1
)");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  EXPECT_TRUE(daemon_->log().Await("/bin/sh ended with exit code 1: no answer from ttyUSB1"));
}

TEST_P(HealthOfDevices, AProgramThatHangsKeepsNeitherTheOthersNorTheEndWaiting) {
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

INSTANTIATE_TEST_SUITE_P(All, HealthOfDevices,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
