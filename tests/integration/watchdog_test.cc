// /healthz, whose failure makes the kubelet restart the pod: it fails if the daemon hangs, and not
// if something outside of the daemon hangs.

#include <sys/stat.h>

#include <fstream>
#include <future>
#include <thread>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Independent of the kubelet profile.
class Watchdog : public Contract {
 protected:
  /// A shell script that reports its start, then waits indefinitely.
  std::string Hanging(const std::string& name) {
    for (const char* pipe : {"begun", "gate"}) {
      EXPECT_EQ(mkfifo(tree_.path(name + pipe).c_str(), 0600), 0);
    }
    return Format(R"(["/bin/sh", "-c", "trap '' TERM; echo > {0}begun; read x < {0}gate"])",
                  tree_.path(name));
  }
  void AwaitBegun(const std::string& name) { std::ifstream(tree_.path(name + "begun")).get(); }

  /// The second request detects whether the loop has run since the first.
  void ExpectTurning() {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(daemon_->Get("/healthz").status, 200);
      daemon_->OnLoop([] {});
    }
  }
};

TEST_P(Watchdog, StaysAliveWhileExternalCallsHang) {
  const std::string pods = tree_.path("pod-resources/kubelet.sock");
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/card0");
  tree_.CharDevice("dev/disk0");
  StartKubelet({.directory = {}, .pod_resources = pods});
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(PodResourcesFault::kHang));
  StartDaemon(Format(R"({}
[[resource]]
name = "example.com/probed"
  [[resource.match]]
  path = "/dev/card*"
  [resource.health]
  command = {}
  timeout = "5m"
[[resource]]
name = "example.com/hooked"
  [[resource.match]]
  path = "/dev/disk*"
  [resource.hooks.allocate]
  command = {}
  timeout = "27s"
[[resource]]
name = "example.com/waiting"
  [[resource.match]]
  command = {}
  timeout = "5m"
)",
                     kSerial, Hanging("probe"), Hanging("hook"), Hanging("source")),
              {.pod_resources = pods,
               .pod_resources_pace = {.period = 10ms, .deadline = 1h},
               .max_loop_stall = {}});
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(AwaitServed("example.com/probed"));
  ASSERT_TRUE(AwaitServed("example.com/hooked"));
  std::thread admission([stub = Stub("example.com/hooked")]() mutable {
    EXPECT_FALSE(stub.Allocate({{"disk0"}}).ok());
  });
  AwaitBegun("probe"), AwaitBegun("hook"), AwaitBegun("source");
  ASSERT_TRUE(kubelet_->Await([&] { return kubelet_->PodResourcesCalls() > 0; }, kPatience));

  ExpectTurning();
  EXPECT_EQ(daemon_->Get("/metrics").status, 200);
  EXPECT_THAT(daemon_->Get("/readyz").body, HasSubstr("example.com/waiting is not registered"));
  // Everything else works.
  tree_.CharDevice("dev/ttyUSB1");
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 2));
  ExpectTurning();
  EXPECT_TRUE(daemon_->Stop());
  admission.join();
}

TEST_P(Watchdog, ReportsAStalledLoopAndItsRecovery) {
  tree_.CharDevice("dev/ttyUSB0");
  StartKubelet();
  StartDaemon(kSerial, {.max_loop_stall = {}});
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(daemon_->AwaitReady());
  ExpectTurning();
  for (int i = 0; i < 3; ++i) {
    std::promise<void> stalled, resume;
    std::thread blocker([&] {
      daemon_->OnLoop([&] {
        stalled.set_value();
        resume.get_future().wait();
      });
    });
    stalled.get_future().wait();
    EXPECT_EQ(daemon_->Get("/healthz").status, 200);  // not detected yet
    for (int j = 0; j < 3; ++j) {
      const HttpAnswer answer = daemon_->Get("/healthz");
      EXPECT_EQ(answer.status, 503);
      EXPECT_EQ(answer.body, "the main loop is stalled\n");
    }
    // Functions that do not need the loop remain available.
    EXPECT_EQ(daemon_->Get("/readyz").status, 200);
    EXPECT_EQ(daemon_->Get("/metrics").status, 200);
    EXPECT_TRUE(Stub().Allocate({{"ttyUSB0"}}).ok());
    resume.set_value();
    blocker.join();
    daemon_->OnLoop([] {});
    ExpectTurning();
  }
}

INSTANTIATE_TEST_SUITE_P(AKubelet, Watchdog, testing::Values(KubeletProfile::kSync), ProfileName);

}  // namespace
}  // namespace patchbay::test
