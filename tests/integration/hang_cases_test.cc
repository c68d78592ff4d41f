// Behavior while a file system hangs: the effect is limited to the resource that uses it, and the
// process ends in time.

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/format.h"
#include "integration/contract.h"
#include "integration/program.h"
#include "support/hanging_mount.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kHungName = "example.com/hung";

/// A resource that uses files in /mnt of the tree.
struct Dependency {
  std::string resource;   ///< its keys, except the name
  bool allocates = true;  ///< while the file system hangs
};

/// /mnt works until a test mounts a file system that hangs. Independent of the kubelet profile.
class HangingFileSystem : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    tree_.CharDevice("dev/ttyUSB0");
    tree_.CharDevice("dev/card0");
    tree_.CharDevice("mnt/card1");
    tree_.File("mnt/state", "ok\n");
    tree_.File("mnt/program", "#!/bin/sh\necho '[{\"id\": \"card0\"}]'\n");
    ASSERT_EQ(chmod(tree_.path("mnt/program").c_str(), 0755), 0);
  }

  std::string Program() const { return tree_.path("mnt/program"); }
  void AddToConfig(std::string_view more) {
    std::ifstream in(tree_.path("config/test.toml"));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    tree_.File("new.toml", text + std::string(more));
    std::filesystem::rename(tree_.path("new.toml"), tree_.path("config/test.toml"));
  }

  /// Checks that the other resources are allocated, registered after a restart of the kubelet, and
  /// reloaded, and that the process ends in time.
  void ExpectTroubleStays(const Dependency& dependency) {
    StartKubelet();
    Process process(
        tree_, tree_.path("kubelet"),
        Format("{}\n[[resource]]\nname = \"{}\"\n{}\n", kSerial, kHungName, dependency.resource));
    ASSERT_TRUE(AwaitServed()) << process.log();
    ASSERT_TRUE(AwaitServed(kHungName)) << process.log();
    ASSERT_TRUE(AwaitHealth({{"card0", "Healthy"}}, kHungName)) << process.log();

    HangingMount mount(tree_.path("mnt"));
    if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
    process.Signal(SIGUSR1);  // requests a scan
    auto allocation = std::async(std::launch::async, [stub = Stub(kHungName)]() mutable {
      return stub.Allocate({{"card0"}});
    });
    ASSERT_TRUE(mount.AwaitHang(kPatience)) << process.log();
    EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 1));
    ASSERT_EQ(allocation.wait_for(kPatience), std::future_status::ready) << process.log();
    EXPECT_EQ(allocation.get().ok(), dependency.allocates) << process.log();
    const std::string before = View().endpoint;
    ASSERT_TRUE(kubelet_->Restart());
    EXPECT_TRUE(AwaitServed(kSerialName, before)) << process.log();
    AddToConfig("[[resource]]\nname = \"example.com/new\"\n[[resource.match]]\ncount = 1\n");
    EXPECT_TRUE(AwaitServed("example.com/new")) << process.log();
    EXPECT_TRUE(AwaitServed(kHungName)) << process.log();

    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait(), 0) << process.log();
    EXPECT_THAT(process.log(), Not(HasSubstr("shutdown timed out")));
    EXPECT_THAT(OwnSockets(), SizeIs(0));
  }
};

TEST_P(HangingFileSystem, OfAMatchAffectsOnlyItsResource) {
  ExpectTroubleStays({R"(
  [[resource.match]]
  path = ["/dev/card*", "/mnt/none*"])"});
}

/// All other resources need its nodes.
TEST_P(HangingFileSystem, OfAnExclusiveResourceAffectsOnlyIt) {
  ExpectTroubleStays({R"(
  exclusive = true
  [[resource.match]]
  path = ["/dev/card*", "/mnt/none*"])"});
}

TEST_P(HangingFileSystem, OfADeviceNodeAffectsOnlyItsResource) {
  ExpectTroubleStays({R"(
  [[resource.match]]
  path = "/dev/card*"
  [[resource.device_node]]
  host_path = "/mnt/card1")",
                      false});
}

TEST_P(HangingFileSystem, OfAMountAffectsOnlyItsResource) {
  ExpectTroubleStays({R"(
  [[resource.match]]
  path = "/dev/card*"
  [[resource.mount]]
  host_path = "/mnt/state"
  container_path = "/state")"});
}

TEST_P(HangingFileSystem, OfAProbedFileAffectsOnlyItsResource) {
  ExpectTroubleStays({R"(
  [[resource.match]]
  path = "/dev/card*"
  [resource.health]
  file = "/mnt/state"
  equals = "ok"
  period = "1s"
  timeout = "500ms"
  failure_threshold = 1000)"});
}

TEST_P(HangingFileSystem, OfAnOpenProbeAffectsOnlyItsResource) {
  tree_.Dir("links");
  tree_.CharDevice("mnt/card0");
  ExpectTroubleStays({R"(
  [[resource.match]]
  path = "/mnt/card0"
  [resource.health]
  open = true
  period = "1s"
  timeout = "500ms"
  failure_threshold = 1000)",
                      false});
}

TEST_P(HangingFileSystem, OfAProbeCommandAffectsOnlyItsResource) {
  ExpectTroubleStays({Format(R"(
  [[resource.match]]
  path = "/dev/card*"
  [resource.health]
  command = ["{}"]
  period = "1s"
  timeout = "500ms"
  failure_threshold = 1000)",
                             Program())});
}

// A hook that cannot start in time is not run, so the timeout is long enough for a busy machine.
TEST_P(HangingFileSystem, OfAHookAffectsOnlyItsResource) {
  ExpectTroubleStays({Format(R"(
  [[resource.match]]
  path = "/dev/card*"
  [resource.hooks.allocate]
  command = ["{}"]
  timeout = "4s")",
                             Program()),
                      false});
}

TEST_P(HangingFileSystem, OfADiscoveryCommandAffectsOnlyItsResource) {
  ExpectTroubleStays({Format(R"(
  [[resource.match]]
  command = ["{}"]
  timeout = "2s")",
                             Program())});
}

TEST_P(HangingFileSystem, OfTheConfigurationDoesNotBlockTheDaemon) {
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"), kSerial);
  ASSERT_TRUE(AwaitServed()) << process.log();
  HangingMount mount(tree_.path("config"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  process.Signal(SIGHUP);
  ASSERT_TRUE(mount.AwaitHang(kPatience)) << process.log();
  tree_.CharDevice("dev/ttyUSB1");
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}})) << process.log();
  EXPECT_TRUE(kubelet_->Admit("pod", "c", kSerialName, 2));
  const std::string before = View().endpoint;
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitServed(kSerialName, before)) << process.log();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
  EXPECT_THAT(process.log(), Not(HasSubstr("shutdown timed out")));
}

/// Checks of it hang while everything else continues, and /healthz reports that they do not end.
TEST_P(HangingFileSystem, OfTheKubeletDirectoryIsReportedByHealthz) {
  StartKubelet();
  StartDaemon(kSerial, {.daemon_keys = "rescan = \"1s\"",
                        .progress_limits = {.directory = std::chrono::milliseconds(200)}});
  ASSERT_TRUE(AwaitServed());
  kubelet_->Stop();  // it would hang in the directory and hold its lock
  ASSERT_TRUE(daemon_->log().Await("kubelet socket disappeared"));
  HangingMount mount(tree_.path("kubelet"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  ASSERT_TRUE(mount.AwaitHang(kPatience)) << daemon_->log().text();
  tree_.CharDevice("dev/ttyUSB1");
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_units{health=\"healthy\",resource=\"example.com/serial\"}", 2))
      << daemon_->Get("/metrics").body;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  HttpAnswer health;
  do {
    health = daemon_->Get("/healthz");
  } while (health.status != 503 && std::chrono::steady_clock::now() < deadline);
  EXPECT_THAT(health.body, HasSubstr("the kubelet's directory has not responded"));
}

TEST_P(HangingFileSystem, OfTheKubeletDirectoryDoesNotBlockShutdown) {
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"), kSerial);
  ASSERT_TRUE(AwaitServed()) << process.log();
  kubelet_->Stop();  // it would hang in the directory and hold its lock
  HangingMount mount(tree_.path("kubelet"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  ASSERT_TRUE(mount.AwaitHang(kPatience)) << process.log();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
}

TEST_P(HangingFileSystem, OfPodResourcesDoesNotBlockTheDaemon) {
  StartKubelet();
  HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  Process process(tree_, tree_.path("kubelet"),
                  Format("pod_resources = \"{}\"\n{}", tree_.path("mnt/kubelet.sock"), kSerial));
  ASSERT_TRUE(mount.AwaitHang(kPatience)) << process.log();
  ASSERT_TRUE(AwaitServed()) << process.log();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
  EXPECT_THAT(process.log(), Not(HasSubstr("shutdown timed out")));
}

TEST_P(HangingFileSystem, OfTheConfigurationAtStartDoesNotBlockShutdown) {
  StartKubelet();
  const std::string gate = tree_.path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  Process process(tree_, tree_.path("kubelet"), kSerial, [&] {
    const UniqueFd fd(open(gate.c_str(), O_RDONLY | O_CLOEXEC));
    return static_cast<bool>(fd);
  });
  HangingMount mount(tree_.path("config"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  const UniqueFd opens_gate(open(gate.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(mount.AwaitHang(kPatience)) << process.log();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.log();
}

/// A device with a container node in /mnt, and others.
constexpr std::string_view kHungNode = R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/ttyUSB*"
[[resource]]
name = "example.com/hung"
  [[resource.match]]
  path = "/dev/card*"
  [[resource.device_node]]
  host_path = "/mnt/card1"
)";

TEST_P(HangingFileSystem, AllocateTimesOutWithAReason) {
  StartKubelet();
  StartDaemon(kHungNode);
  ASSERT_TRUE(AwaitServed(kHungName));
  EXPECT_TRUE(Stub(kHungName).Allocate({{"card0"}}).ok());
  HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  // More calls than gRPC threads, and more than can hang at the same time.
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(std::async(std::launch::async, [stub = Stub(kHungName)]() mutable {
      return stub.Allocate({{"card0"}});
    }));
  }
  ASSERT_TRUE(mount.AwaitHang(kPatience));
  EXPECT_TRUE(Stub().Allocate({{"ttyUSB0"}}).ok());
  for (auto& call : calls) {
    ASSERT_EQ(call.wait_for(kPatience), std::future_status::ready);
    const grpc::Status status = call.get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    // The latter if it came when eight had hung for a second.
    EXPECT_THAT(status.error_message(),
                testing::AnyOf(HasSubstr("timed out looking up /mnt/card1 after 5 s"),
                               HasSubstr("8 lookups hang, the first of /mnt/card1;")));
  }
  EXPECT_EQ(daemon_->Get("/healthz").status, 200);
  mount.End();
  // The threads return.
  const auto works = [&] { return Stub(kHungName).Allocate({{"card0"}}).ok(); };
  EXPECT_TRUE(kubelet_->Await(works, kPatience));
}

TEST_P(HangingFileSystem, OldEntryStaysInEffectUntilTheNewScanEnds) {
  const auto entry = [&](std::string_view path, std::string_view version) {
    return Format(R"(
[[resource]]
name = "example.com/hung"
  [[resource.match]]
  path = "{}"
  [resource.env]
  VERSION = "{}"
  [resource.hooks.allocate]
  command = ["/bin/sh", "-c", "echo {} >> {}"]
)",
                  path, version, version, tree_.path("hooks"));
  };
  StartKubelet();
  StartDaemon(entry("/dev/card*", "old"));
  ASSERT_TRUE(AwaitHealth({{"card0", "Healthy"}}, kHungName));
  HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  daemon_->Reload(entry("/mnt/card*", "new"));
  ASSERT_TRUE(mount.AwaitHang(kPatience));
  v1beta1::AllocateResponse response;
  EXPECT_TRUE(Stub(kHungName).Allocate({{"card0"}}, &response).ok());
  EXPECT_EQ(response.container_responses(0).envs().at("VERSION"), "old");
  std::ifstream hooks(tree_.path("hooks"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(hooks), {}), "old\n");
  mount.End();
  EXPECT_TRUE(AwaitHealth({{"card1", "Healthy"}}, kHungName)) << daemon_->log().text();
}

// The scan of a removed entry does not delay the entry that replaces it.
TEST_P(HangingFileSystem, ReloadReplacesAHangingScan) {
  const auto entry = [](std::string_view path) {
    return Format("[[resource]]\nname = \"{}\"\n[[resource.match]]\npath = \"{}\"\n", kHungName,
                  path);
  };
  StartKubelet();
  HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  StartDaemon(entry("/mnt/card*"));
  ASSERT_TRUE(daemon_->log().Await("host scan has not completed"));
  daemon_->Reload(entry("/dev/card*"));
  EXPECT_TRUE(AwaitHealth({{"card0", "Healthy"}}, kHungName)) << daemon_->log().text();
}

INSTANTIATE_TEST_SUITE_P(AKubelet, HangingFileSystem, testing::Values(KubeletProfile::kSync),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
