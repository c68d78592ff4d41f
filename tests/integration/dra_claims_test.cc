// Dynamic Resource Allocation: claims that outlive reloads, restarts and instances of the daemon.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "base/format.h"
#include "integration/dra_fixture.h"
#include "support/hanging_mount.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kPluginSerial = R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/ttyUSB*"
)";

constexpr std::string_view kOther = R"(
[[resource]]
name = "example.com/other"
  [[resource.match]]
  path = "/dev/other*"
)";

class DraClaimsOfDaemon : public Dra {
 protected:
  bool AwaitRegistered() const {
    return kubelet_->Await(
        [&] {
          return std::ranges::any_of(kubelet_->Instances(kDraDriver), &DraInstanceView::connected);
        },
        kPatience);
  }
  /// A resource with a shell script for a hook; "$1" is the ID of the device.
  static std::string WithHook(std::string_view hook, std::string_view script,
                              std::string_view resource = kDraSerial) {
    return format(
        "{}[resource.hooks.{}]\ncommand = [\"/bin/sh\", \"-c\", '''{}''', \"sh\", "
        "\"{{id}}\"]\n",
        resource, hook, script);
  }
  /// kDraSerial with hooks that write a line to a file.
  std::string WithHooks() const {
    std::string resource(kDraSerial);
    for (const char* hook : {"allocate", "pre_start", "release"}) {
      resource = WithHook(hook, format("echo {} $1 >> {}", hook, tree_.path("runs")), resource);
    }
    return resource;
  }
  std::vector<std::string> Runs() const {
    std::ifstream file(tree_.path("runs"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  /// The directory of CDI files cannot be read until it is put back.
  void HideFiles() const {
    std::filesystem::rename(tree_.path("cdi"), tree_.path("hidden"));
    std::ofstream(tree_.path("cdi")) << "not a directory";
  }
  void PutFilesBack() const {
    std::filesystem::remove(tree_.path("cdi"));
    std::filesystem::rename(tree_.path("hidden"), tree_.path("cdi"));
  }
  /// Starts the daemon, and creates a claim for one device.
  SimClaim StartWithClaim(std::string_view resources) {
    StartDaemon(resources);
    EXPECT_TRUE(daemon_->AwaitReady());
    CreateClass("example.com/serial");
    return CreateClaim("one");
  }
};

TEST_F(DraClaimsOfDaemon, HooksRunOnceForAClaimAlsoAcrossARestart) {
  const std::string resources = WithHooks();
  const SimClaim claim = StartWithClaim(resources);
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_TRUE(daemon_->Stop());
  StartDaemon(resources);
  ASSERT_TRUE(daemon_->AwaitReady());
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitRegistered());
  const auto again = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *prepared);
  EXPECT_THAT(Runs(), ElementsAre("allocate ttyUSB0", "pre_start ttyUSB0"));
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_THAT(Runs(), ElementsAre("allocate ttyUSB0", "pre_start ttyUSB0", "release ttyUSB0"));
  EXPECT_EQ(Files(), 0U);
}

TEST_F(DraClaimsOfDaemon, AReloadThatRemovesTheResourceWaitsForItsHooks) {
  for (const char* pipe : {"begun", "gate"}) {
    ASSERT_EQ(mkfifo(tree_.path(pipe).c_str(), 0600), 0);
  }
  const SimClaim claim = StartWithClaim(
      WithHook("pre_start",
               format("echo > {0}/begun; read x < {0}/gate; echo $1 >> {0}/runs", tree_.path())));
  auto prepared =
      std::async(std::launch::async, [&] { return kubelet_->PrepareClaims("pod-1", {claim}); });
  std::ifstream(tree_.path("begun")).get();
  daemon_->Reload(kOther);
  EXPECT_TRUE(daemon_->log().Await("resource removed resource=example.com/serial"));
  std::ofstream(tree_.path("gate")) << "\n";
  const auto result = prepared.get();
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_THAT(Runs(), ElementsAre("ttyUSB0"));
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1")) << "the driver serves claims until it ends";
  EXPECT_EQ(Files(), 0U);
}

TEST_F(DraClaimsOfDaemon, AClaimCanBeReleasedAfterItsResourceHasMovedToTheOtherApi) {
  const SimClaim claim = StartWithClaim(WithHooks());
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  // It reads the files of claims after it has answered.
  ASSERT_TRUE(daemon_->AwaitMetric("patchbay_prepared_claims{resource=\"example.com/serial\"}", 1));
  daemon_->Reload(kPluginSerial);
  EXPECT_TRUE(server_->Await([&] { return Slices().empty(); }, kPatience));
  EXPECT_TRUE(
      daemon_->log().Await("no release hook will run resource=example.com/serial devices=1"));
  EXPECT_EQ(Files(), 1U) << "the pod continues";
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
  EXPECT_TRUE(daemon_->log().Await("release hook was not run resource=example.com/serial"));
}

TEST_F(DraClaimsOfDaemon, AClaimIsReleasedByADaemonWithoutDraResources) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->Stop());
  StartDaemon(kPluginSerial);
  ASSERT_TRUE(AwaitRegistered()) << daemon_->log().text();
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
  EXPECT_TRUE(daemon_->log().Await("no resource is served by Dynamic Resource Allocation"));
}

TEST_F(DraClaimsOfDaemon, FilesThatCannotBeReadAtTheStartAreReadAgain) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->Stop());
  HideFiles();
  StartDaemon(kPluginSerial);
  EXPECT_TRUE(daemon_->log().Await("which an earlier configuration may have left"));
  PutFilesBack();
  EXPECT_TRUE(AwaitRegistered()) << daemon_->log().text();
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
}

/// Also while the files cannot be read again. A missing device is published only if it is held.
TEST_F(DraClaimsOfDaemon, AResourceThatIsAddedAgainKnowsTheDevicesOfClaims) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  const std::vector<std::string> both = Published();
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->AwaitMetric("patchbay_prepared_claims{resource=\"example.com/serial\"}", 1));
  daemon_->Reload(kOther);
  ASSERT_TRUE(server_->Await([&] { return Slices().empty(); }, kPatience));
  HideFiles();
  daemon_->Reload(kDraSerial);
  ASSERT_TRUE(AwaitPublished(both));
  tree_.Remove("dev/ttyUSB0");
  EXPECT_TRUE(AwaitPublished({both[0] + " NoExecute", both[1]})) << daemon_->log().text();
  PutFilesBack();
}

TEST_F(DraClaimsOfDaemon, ADamagedFileIsLoggedOnce) {
  tree_.File("cdi/patchbay.dev-claim_broken.json", "[");
  const SimClaim claim = StartWithClaim(kDraSerial);
  const char* const prepared = "patchbay_prepared_claims{resource=\"example.com/serial\"}";
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->AwaitMetric(prepared, 1)) << "the files were read again";
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  ASSERT_TRUE(daemon_->AwaitMetric(prepared, 0));
  const std::string log = daemon_->log().text();
  const std::string line = "CDI file of a claim is damaged; delete it if no pod uses the claim";
  const std::size_t first = log.find(line);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find(line, first + 1), std::string::npos) << log;
}

TEST_F(DraClaimsOfDaemon, ADeletedSocketIsCreatedAgain) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  std::filesystem::remove(tree_.path("plugins/patchbay.dev/dra.sock"));
  EXPECT_TRUE(daemon_->log().Await("driver socket was deleted"));
  EXPECT_TRUE(daemon_->log().Await("driver registered", 2));
  EXPECT_TRUE(AwaitRegistered());
  EXPECT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
}

TEST_F(DraClaimsOfDaemon, ADirectoryOfClaimsThatHangsIsReportedAndReadAgain) {
  tree_.Dir("cdi");
  std::optional<HangingMount> hang(tree_.path("cdi"));
  if (!hang->why_not().empty()) GTEST_SKIP() << hang->why_not();
  StartDaemon();
  EXPECT_TRUE(daemon_->AwaitUnready("cdi is not responding"));
  EXPECT_THAT(Published(), IsEmpty()) << "devices of claims could be missing in the pool";
  hang.reset();
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_F(DraClaimsOfDaemon, AnUnhealthyDeviceGetsTheTaintOfItsResource) {
  const std::string probed = WithProbe();
  std::string evicting = probed;
  evicting.insert(evicting.find("api ="), "on_unhealthy = \"evict\"\n");
  StartDaemon(probed);
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<std::string> healthy = Published();
  tree_.File("ttyUSB1");
  EXPECT_TRUE(AwaitPublished({healthy[0], healthy[1] + " NoSchedule"}));
  daemon_->Reload(evicting);
  EXPECT_TRUE(AwaitPublished({healthy[0], healthy[1] + " NoExecute"}));
  tree_.Remove("ttyUSB1");
  EXPECT_TRUE(AwaitPublished(healthy));
}

TEST_F(DraClaimsOfDaemon, AnInstanceReleasesWhatAnotherOneHasPrepared) {
  const std::string resources = WithHooks();
  StartDaemon(resources, "aaaa");
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<Json> slices = Slices();
  CreateClass("example.com/serial");
  const SimClaim claim = CreateClaim("one");
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));

  const auto newer = MakeDaemon(resources, "bbbb");
  ASSERT_TRUE(newer->AwaitReady());
  EXPECT_EQ(Slices(), slices) << "they do not overwrite each other";
  ASSERT_TRUE(daemon_->Stop());
  EXPECT_EQ(Slices(), slices);
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_THAT(Runs(), ElementsAre("allocate ttyUSB0", "pre_start ttyUSB0", "release ttyUSB0"));
  EXPECT_EQ(Files(), 0U);
  EXPECT_THAT(kubelet_->Sockets(), ElementsAre(HasSubstr("patchbay.dev-bbbb-reg.sock")));
}

}  // namespace
}  // namespace patchbay::test
