// Hooks, from the view of pods and the kubelet.

#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <future>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DeviceHooks : public Contract {
 protected:
  /// Serves every serial device, with a shell script as its hook; "$1" is the ID of the device.
  void Start(std::string_view hook, std::string_view script, std::string_view keys = "") {
    StartKubelet({.directory = {}, .pod_resources = Socket()});
    StartDaemon(Format("{}[resource.hooks.{}]\ncommand = [\"/bin/sh\", \"-c\", '''{}''', \"sh\", "
                       "\"{{id}}\"]\n{}\n",
                       kSerial, hook, script, keys),
                {.daemon_keys = "rescan = \"24h\"",
                 .pod_resources = Socket(),
                 .pod_resources_pace = {.period = period_, .deadline = deadline_}});
    ASSERT_TRUE(AwaitServed());
  }
  std::string Socket() const { return tree_.path("pod-resources/kubelet.sock"); }
  std::string Written(std::string_view file) const {
    std::ifstream in(tree_.path(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  double Runs(std::string_view hook, std::string_view result) const {
    return daemon_->Metric(
        Format(R"(patchbay_hooks_total{{hook="{}",resource="example.com/serial",result="{}"}})",
               hook, result));
  }
  /// A script that reports its start and waits until the gate opens.
  std::string WaitAtGate() {
    for (const char* pipe : {"gate", "begun"}) mkfifo(tree_.path(pipe).c_str(), 0600);
    return Format("echo > {}; read x < {}", tree_.path("begun"), tree_.path("gate"));
  }
  void AwaitBegun() { std::ifstream(tree_.path("begun")).get(); }
  void OpenGate() { std::ofstream(tree_.path("gate")) << "\n"; }
  /// Admits and starts a container of this pod. Returns its device.
  std::string Run(const std::string& pod) {
    const auto admitted = kubelet_->Admit(pod, "c", kSerialName, 1);
    EXPECT_TRUE(admitted) << admitted.error().message;
    const Status started = kubelet_->StartContainer(pod, "c");
    EXPECT_TRUE(started) << started.error().message;
    return admitted ? admitted->device_ids.front() : "";
  }
  bool AwaitReleased(int times) const {
    return daemon_->AwaitMetric(
        R"(patchbay_hooks_total{hook="release",resource="example.com/serial",result="success"})",
        times);
  }
  /// Waits for this number of further polls.
  bool AwaitAsked(std::size_t times) const {
    const std::size_t before = kubelet_->PodResourcesCalls();
    return kubelet_->Await([&] { return kubelet_->PodResourcesCalls() >= before + times; },
                           kPatience);
  }

  std::chrono::milliseconds period_{50};  ///< of polling the PodResources API
  std::chrono::milliseconds deadline_ = kPatience;
};

TEST_P(DeviceHooks, PreStartRunsAtEveryStart) {
  tree_.CharDevice("dev/ttyUSB0"), tree_.CharDevice("dev/ttyUSB1");
  Start("pre_start", Format("echo $1 >> {}", tree_.path("ran")));
  EXPECT_TRUE(View().options.pre_start_required);
  ASSERT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
  EXPECT_EQ(Written("ran"), "");
  EXPECT_TRUE(kubelet_->StartContainer("pod", "c"));
  EXPECT_TRUE(kubelet_->StartContainer("pod", "c"));
  const std::string ran = Written("ran");
  EXPECT_TRUE(ran == "ttyUSB0\nttyUSB0\n" || ran == "ttyUSB1\nttyUSB1\n") << ran;
  EXPECT_EQ(Runs("pre_start", "success"), 2);
}

TEST_P(DeviceHooks, PodEventContainsThePreStartFailure) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("pre_start",
        Format("test -e {} && exit; echo no medium in $1 >&2; exit 7", tree_.path("medium")));
  ASSERT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
  const Status refused = kubelet_->StartContainer("pod", "c");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("CreateContainerConfigError"), HasSubstr("pre_start"),
                    HasSubstr("\"ttyUSB0\""), HasSubstr("exit code 7: no medium in ttyUSB0")));
  EXPECT_TRUE(daemon_->log().Await("no medium in ttyUSB0"));
  EXPECT_EQ(Runs("pre_start", "failure"), 1);
  // The kubelet tries again, and the hook can succeed then.
  tree_.File("medium");
  EXPECT_TRUE(kubelet_->StartContainer("pod", "c"));
}

// The daemon was restarted, and the kubelet starts a container that was allocated before.
TEST_P(DeviceHooks, Case45PreStartWithoutAllocate) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("pre_start", Format("echo $1 >> {}", tree_.path("ran")));
  EXPECT_TRUE(Stub().PreStart({"ttyUSB0"}).ok());
  EXPECT_TRUE(Stub().PreStart({"ttyUSB0"}).ok());
  EXPECT_EQ(Written("ran"), "ttyUSB0\nttyUSB0\n");
  const grpc::Status unknown = Stub().PreStart({"ttyUSB0", "ttyUSB7"});
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("no device \"ttyUSB7\""));
  EXPECT_EQ(Written("ran"), "ttyUSB0\nttyUSB0\n");  // and the hook did not run for the others
  EXPECT_TRUE(daemon_->log().Await("start refused resource=example.com/serial reason="));
}

TEST_P(DeviceHooks, Case45SlowPreStartIsStopped) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("pre_start", "trap '' TERM; sleep 3600", "timeout = \"100ms\"");
  const grpc::Status late = Stub().PreStart({"ttyUSB0"});
  EXPECT_EQ(late.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(late.error_message(), HasSubstr("timed out after "));
}

TEST_P(DeviceHooks, AllocateRunsBeforeTheResponse) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("allocate", Format("echo $1 >> {}", tree_.path("ran")));
  EXPECT_FALSE(View().options.pre_start_required);
  ASSERT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
  EXPECT_EQ(Written("ran"), "ttyUSB0\n");
  EXPECT_EQ(Runs("allocate", "success"), 1);
  EXPECT_EQ(daemon_->Metric(
                R"(patchbay_allocations_total{resource="example.com/serial",result="success"})"),
            1);
}

TEST_P(DeviceHooks, FailedAllocateRejectsTheAllocation) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("allocate", "echo license server is down >&2; exit 1");
  const auto refused = kubelet_->Admit("pod", "c", kSerialName, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("the allocate hook of example.com/serial failed for \"ttyUSB0\""),
                    HasSubstr("license server is down")));
  EXPECT_EQ(daemon_->Metric(
                R"(patchbay_allocations_total{resource="example.com/serial",result="failure"})"),
            1);
}

// A hook that resets a device can make another one appear at its node.
TEST_P(DeviceHooks, NodesAreComparedAgainAfterTheAllocateHook) {
  tree_.CharDevice("dev/ttyUSB0", 4, 64);
  Start("allocate", Format("sh {}", tree_.path("change")));
  const std::string node = tree_.path("dev/ttyUSB0");
  tree_.File("change", Format("rm {0}; mknod {0} b 8 0", node));
  EXPECT_THAT(Stub().Allocate({{"ttyUSB0"}}).error_message(),
              HasSubstr("is not the device that was found there"));
  tree_.File("change", Format("rm {}", node));
  // The device is listed again with its other number.
  const auto missing = [&] {
    return Stub().Allocate({{"ttyUSB0"}}).error_message().find("is missing") != std::string::npos;
  };
  EXPECT_TRUE(kubelet_->Await(missing, kPatience));
  EXPECT_EQ(Runs("allocate", "failure"), 0);
}

TEST_P(DeviceHooks, RejectedAllocationRunsNoHook) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("allocate", Format("echo $1 >> {}", tree_.path("ran")));
  EXPECT_FALSE(Stub().Allocate({{"ttyUSB0"}, {"ttyUSB7"}}).ok());
  EXPECT_EQ(Written("ran"), "");
}

TEST_P(DeviceHooks, RunningHookDoesNotBlockOtherDevices) {
  tree_.CharDevice("dev/ttyUSB0"), tree_.CharDevice("dev/ttyUSB1");
  Start("pre_start", WaitAtGate());
  auto starting = std::async(std::launch::async, [this] { return Stub().PreStart({"ttyUSB0"}); });
  AwaitBegun();
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB1"}}).ok());
  tree_.CharDevice("dev/ttyUSB2");
  EXPECT_TRUE(
      AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}, {"ttyUSB2", "Healthy"}}));
  OpenGate();
  EXPECT_TRUE(starting.get().ok());
}

TEST_P(DeviceHooks, RegistersAgainWhileAHookRuns) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("pre_start", WaitAtGate());
  const std::string before = View().endpoint;
  auto starting = std::async(std::launch::async, [this] { return Stub().PreStart({"ttyUSB0"}); });
  AwaitBegun();
  ASSERT_TRUE(kubelet_->Restart());
  // The old server and its call end before the new server starts.
  ASSERT_TRUE(AwaitServed(kSerialName, before));
  EXPECT_FALSE(starting.get().ok());
  OpenGate();
}

TEST_P(DeviceHooks, ShutdownDoesNotWaitForHooks) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("pre_start", "trap '' TERM; " + WaitAtGate(), "timeout = \"27s\"");
  auto starting = std::async(std::launch::async, [this] { return Stub().PreStart({"ttyUSB0"}); });
  AwaitBegun();
  EXPECT_TRUE(daemon_->Stop(std::chrono::seconds(15)));
  EXPECT_FALSE(starting.get().ok());
}

TEST_P(DeviceHooks, ReleaseRunsOnceWhenThePodIsGone) {
  tree_.CharDevice("dev/ttyUSB0"), tree_.CharDevice("dev/ttyUSB1");
  Start("release", Format("echo $1 >> {}", tree_.path("ran")));
  EXPECT_TRUE(View().options.pre_start_required);  // the next container can have to wait
  const std::string a = Run("a"), b = Run("b");
  ASSERT_TRUE(kubelet_->StartContainer("a", "c"));  // again, after a crash
  ASSERT_TRUE(AwaitAsked(3));
  EXPECT_EQ(Written("ran"), "");
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitReleased(1));
  ASSERT_TRUE(AwaitAsked(3));
  EXPECT_EQ(Written("ran"), a + "\n");
  kubelet_->Release("b");
  ASSERT_TRUE(AwaitReleased(2));
  EXPECT_EQ(Written("ran"), a + "\n" + b + "\n");
}

TEST_P(DeviceHooks, PodResourcesOutageReleasesNothing) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("release", Format("echo $1 >> {}", tree_.path("ran")));
  Run("a");
  for (const auto fault : {PodResourcesFault::kUnknownError, PodResourcesFault::kGarbage,
                           PodResourcesFault::kTooLong, PodResourcesFault::kUnimplemented,
                           PodResourcesFault::kRateLimited, PodResourcesFault::kAbsent}) {
    SCOPED_TRACE(static_cast<int>(fault));
    ASSERT_TRUE(kubelet_->SetPodResourcesFault(fault));
    if (fault == PodResourcesFault::kRateLimited) {
      ASSERT_TRUE(AwaitAsked(2));
    } else {
      ASSERT_TRUE(daemon_->AwaitMetric("patchbay_pod_resources_up", 0));
    }
    ASSERT_TRUE(kubelet_->SetPodResourcesFault(PodResourcesFault::kNone));
    ASSERT_TRUE(daemon_->AwaitMetric("patchbay_pod_resources_up", 1));
    ASSERT_TRUE(AwaitAsked(2));
  }
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitServed());
  ASSERT_TRUE(AwaitAsked(3));
  EXPECT_EQ(Written("ran"), "");
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitReleased(1));
  EXPECT_EQ(Written("ran"), "ttyUSB0\n");
}

TEST_P(DeviceHooks, NextContainerStartsAfterTheRelease) {
  tree_.CharDevice("dev/ttyUSB0");
  period_ = std::chrono::hours(1);  // only its start causes a poll
  Start("release", WaitAtGate());
  Run("a");
  kubelet_->Release("a");
  ASSERT_TRUE(kubelet_->Admit("b", "c", kSerialName, 1));
  auto starting =
      std::async(std::launch::async, [&] { return kubelet_->StartContainer("b", "c"); });
  AwaitBegun();
  EXPECT_EQ(starting.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  OpenGate();
  EXPECT_TRUE(starting.get());
  EXPECT_EQ(Runs("release", "success"), 1);
}

TEST_P(DeviceHooks, DoesNotReleaseADeviceInUseByTheNextContainer) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("release", Format("echo $1 >> {}", tree_.path("ran")));
  Run("a");
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(PodResourcesFault::kUnknownError));
  ASSERT_TRUE(daemon_->AwaitMetric("patchbay_pod_resources_up", 0));
  kubelet_->Release("a");
  Run("b");
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(PodResourcesFault::kNone));
  ASSERT_TRUE(daemon_->log().Await("release hook was not run")) << daemon_->log().text();
  EXPECT_EQ(Written("ran"), "");
  EXPECT_EQ(Runs("release", "failure"), 1);
  kubelet_->Release("b");
  ASSERT_TRUE(AwaitReleased(1));
}

// Without this order, the kubelet would allocate before the previous pod returned its license.
TEST_P(DeviceHooks, ReleaseRunsBeforeTheNextAllocateHook) {
  tree_.CharDevice("dev/ttyUSB0");
  period_ = std::chrono::hours(1);
  const std::string file = tree_.path("ran");
  StartKubelet({.directory = {}, .pod_resources = Socket()});
  StartDaemon(
      Format("{0}[resource.hooks.allocate]\ncommand = [\"sh\", \"-c\", \"echo take >> {1}\"]\n"
             "[resource.hooks.release]\ncommand = [\"sh\", \"-c\", \"echo drop >> {1}\"]\n",
             kSerial, file),
      {.pod_resources = Socket(),
       .pod_resources_pace = {.period = period_, .deadline = kPatience}});
  ASSERT_TRUE(AwaitServed());
  Run("a");
  kubelet_->Release("a");
  Run("b");
  EXPECT_EQ(Written("ran"), "take\ndrop\ntake\n");
}

TEST_P(DeviceHooks, FailedReleaseIsLoggedAndDoesNotBlockTheNext) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("release", "echo stuck >&2; exit 1");
  Run("a");
  kubelet_->Release("a");
  EXPECT_TRUE(daemon_->log().Await("exit code 1: stuck"));
  Run("b");
  EXPECT_EQ(Runs("release", "failure"), 1);
}

TEST_P(DeviceHooks, ContainersStartWithoutPodResources) {
  tree_.CharDevice("dev/ttyUSB0");
  deadline_ = std::chrono::milliseconds(200);
  Start("release", "true");
  ASSERT_TRUE(kubelet_->SetPodResourcesFault(PodResourcesFault::kHang));
  Run("a");
}

TEST_P(DeviceHooks, VanishedDeviceIsReleased) {
  tree_.CharDevice("dev/ttyUSB0");
  Start("release", Format("echo $1 >> {}", tree_.path("ran")));
  Run("a");
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
  kubelet_->Release("a");
  ASSERT_TRUE(AwaitReleased(1));
  EXPECT_EQ(Written("ran"), "ttyUSB0\n");
}

INSTANTIATE_TEST_SUITE_P(All, DeviceHooks,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
