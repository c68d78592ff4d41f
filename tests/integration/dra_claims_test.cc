// Dynamic Resource Allocation: claims that outlive reloads, restarts and instances of the daemon.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <utime.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>

#include "base/format.h"
#include "dra/claim_record.h"
#include "integration/dra_fixture.h"
#include "os/unique_fd.h"
#include "sim/kubelet/dra_client.h"
#include "support/hanging_mount.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DraClaimsOfDaemon : public Dra {
 protected:
  /// A resource with a shell script for a hook; "$1" is the ID of the device.
  static std::string WithHook(std::string_view hook, std::string_view script,
                              std::string_view resource = kDraSerial) {
    return Format(
        "{}[resource.hooks.{}]\ncommand = [\"/bin/sh\", \"-c\", '''{}''', \"sh\", "
        "\"{{id}}\"]\n",
        resource, hook, script);
  }
  /// kDraSerial with hooks that write a line to a file.
  std::string WithHooks() const {
    std::string resource(kDraSerial);
    for (const char* hook : {"allocate", "pre_start", "release"}) {
      resource = WithHook(hook, Format("echo {} $1 >> {}", hook, tree_.path("runs")), resource);
    }
    return resource;
  }
  std::vector<std::string> Runs() const {
    std::ifstream file(tree_.path("runs"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  /// The directory of records cannot be read until it is put back.
  void HideFiles() const {
    std::ofstream(tree_.path("hidden")) << "not a directory";
    Exchange();
  }
  void PutFilesBack() const {
    Exchange();
    std::filesystem::remove(tree_.path("hidden"));
  }
  /// At once: without a file there, the daemon would read that there are no claims.
  void Exchange() const {
    EXPECT_EQ(renameat2(AT_FDCWD, tree_.path("plugins/patchbay.dev/claims").c_str(), AT_FDCWD,
                        tree_.path("hidden").c_str(), RENAME_EXCHANGE),
              0);
  }
  /// Starts the daemon, and creates a claim for one device.
  /// Returns kDraSerial with a device whose path MoveLink leads to another node.
  std::string ByLink() {
    tree_.Link("dev/by-id/one", "../ttyUSB0");
    std::string by_link(kDraSerial);
    const std::string path = "/dev/ttyUSB*";
    return by_link.replace(by_link.find(path), path.size(), "/dev/by-id/*");
  }
  void MoveLink() {
    tree_.Link("dev/new", "../ttyUSB1");
    std::filesystem::rename(tree_.path("dev/new"), tree_.path("dev/by-id/one"));
  }
  std::string Text(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(tree_.path(file)).rdbuf();
    return text.str();
  }
  void Place(const std::string& file, const std::string& text) {
    tree_.File("new", text);
    std::filesystem::rename(tree_.path("new"), tree_.path(file));
  }
  SimClaim StartWithClaim(std::string_view resources) {
    StartDaemon(resources);
    EXPECT_TRUE(daemon_->AwaitReady());
    CreateClass();
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

/// After a power failure, nodes can be back before the control plane is.
TEST_F(DraClaimsOfDaemon, ADaemonThatStartsWithoutTheApiServerAnswersFromTheFile) {
  const std::string resources = WithHooks();
  const SimClaim claim = StartWithClaim(resources);
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_TRUE(daemon_->Stop());
  server_->Stop();
  StartDaemon(resources);
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitRegistered());
  const auto again = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *prepared);
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_THAT(Runs(), ElementsAre("allocate ttyUSB0", "pre_start ttyUSB0", "release ttyUSB0"));
}

TEST_F(DraClaimsOfDaemon, AReloadThatRemovesTheResourceWaitsForItsHooks) {
  for (const char* pipe : {"begun", "gate"}) {
    ASSERT_EQ(mkfifo(tree_.path(pipe).c_str(), 0600), 0);
  }
  const SimClaim claim = StartWithClaim(
      WithHook("pre_start",
               Format("echo > {0}/begun; read x < {0}/gate; echo $1 >> {0}/runs", tree_.path())));
  auto prepared =
      std::async(std::launch::async, [&] { return kubelet_->PrepareClaims("pod-1", {claim}); });
  std::ifstream(tree_.path("begun")).get();
  daemon_->Reload(Resource("example.com/other", "/dev/other*"));
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
  daemon_->Reload(kSerial);
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
  StartDaemon(kSerial);
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
  StartDaemon(kSerial);
  EXPECT_TRUE(daemon_->log().Await("which an earlier configuration may have left"));
  PutFilesBack();
  EXPECT_TRUE(AwaitRegistered()) << daemon_->log().text();
  EXPECT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
}

/// Also while the files cannot be read again. A missing device is published only if it is held.
TEST_F(DraClaimsOfDaemon, AResourceThatIsAddedAgainHasTheDevicesOfClaims) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  const std::vector<std::string> both = Published();
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->AwaitMetric("patchbay_prepared_claims{resource=\"example.com/serial\"}", 1));
  daemon_->Reload(Resource("example.com/other", "/dev/other*"));
  ASSERT_TRUE(server_->Await([&] { return Slices().empty(); }, kPatience));
  HideFiles();
  daemon_->Reload(kDraSerial);
  ASSERT_TRUE(AwaitPublished(both));
  tree_.Remove("dev/ttyUSB0");
  EXPECT_TRUE(AwaitPublished({both[0] + " NoExecute", both[1]})) << daemon_->log().text();
  PutFilesBack();
}

TEST_F(DraClaimsOfDaemon, ADamagedRecordIsLoggedOnce) {
  // A container of a former boot had it.
  tree_.File("plugins/patchbay.dev/claims/claim_broken.json", "[");
  const utimbuf old = {.actime = 1, .modtime = 1};
  ASSERT_EQ(utime(tree_.path("plugins/patchbay.dev/claims/claim_broken.json").c_str(), &old), 0);
  const SimClaim claim = StartWithClaim(kDraSerial);
  const char* const prepared = "patchbay_prepared_claims{resource=\"example.com/serial\"}";
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->AwaitMetric(prepared, 1)) << "the files were read again";
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  ASSERT_TRUE(daemon_->AwaitMetric(prepared, 0));
  const std::string log = daemon_->log().text();
  const std::string line =
      "record of a claim cannot be read; delete it if no container uses the claim";
  const std::size_t first = log.find(line);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find(line, first + 1), std::string::npos) << log;
}

/// Otherwise a container that restarts would fail permanently.
TEST_F(DraClaimsOfDaemon, ALostCdiFileIsWrittenAgain) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  const CdiEdits before = EditsFor(prepared->at(claim.uid));
  for (const auto& entry : std::filesystem::directory_iterator(tree_.path("cdi"))) {
    std::filesystem::remove(entry.path());
  }
  EXPECT_TRUE(daemon_->log().Await("CDI file of a claim was lost or changed"));
  ASSERT_TRUE(daemon_->AwaitTrue([&] { return Files() == 1; }));
  EXPECT_EQ(EditsFor(prepared->at(claim.uid)), before);
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

/// Those of claims and of sockets. A restart of the process would not help, so /healthz succeeds.
TEST_F(DraClaimsOfDaemon, DirectoriesThatHangDoNotAffectDevicePlugins) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  tree_.Dir("cdi");
  tree_.Dir("plugins/patchbay.dev");
  const HangingMount cdi(tree_.path("cdi"));
  const HangingMount data(tree_.path("plugins/patchbay.dev"));
  if (!data.why_not().empty()) GTEST_SKIP() << data.why_not();
  // Shorter than the time after which the directory of sockets is reported.
  constexpr std::chrono::seconds kLimit{5};
  const RunningDaemon::Settings settings{.progress_limits = {.server = kLimit, .directory = kLimit},
                                         .cluster = cluster_->config()};
  daemon_ = std::make_unique<RunningDaemon>(
      tree_, std::string(kDraSerial) + Resource("example.com/plugin", "/dev/ttyUSB*"), settings);
  EXPECT_TRUE(cdi.AwaitHang(kPatience) && data.AwaitHang(kPatience));
  EXPECT_TRUE(daemon_->log().Await("cannot read the records of claims"));
  EXPECT_TRUE(daemon_->AwaitUnready(Format(
      "example.com/serial is not served: {} or {} is not responding; check the file systems there",
      tree_.path("plugins/patchbay.dev"), tree_.path("plugins_registry"))))
      << daemon_->log().text();
  EXPECT_THAT(daemon_->Get("/readyz").body, Not(HasSubstr("example.com/plugin")));
  EXPECT_TRUE(plugin_side_->Admit("pod-1", "container", "example.com/plugin", 1));
  const HttpAnswer health = daemon_->Get("/healthz");
  EXPECT_EQ(health.status, 200) << health.body;
}

TEST_F(DraClaimsOfDaemon, AfterARebootAClaimHasNoFileUntilItIsPreparedAgain) {
  const SimClaim claim = StartWithClaim(WithHooks());
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->Stop());
  const std::string file = Format("plugins/patchbay.dev/claims/claim_{}.json", claim.uid);
  auto record = RecordFromJson(Text(file), claim.uid);
  ASSERT_TRUE(record) << record.error().message;
  record->boot = "the former one";
  tree_.File(file, RecordToJson(*record));
  StartDaemon(WithHooks());
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(Files(), 0U);
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitRegistered());
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  EXPECT_EQ(Files(), 1U);
  EXPECT_THAT(Runs(), ElementsAre("allocate ttyUSB0", "pre_start ttyUSB0", "allocate ttyUSB0",
                                  "pre_start ttyUSB0"));
}

TEST_F(DraClaimsOfDaemon, ADeviceThatVanishesWhileTheDaemonDoesNotRunLeavesNoFile) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->Stop());
  tree_.Remove("dev/ttyUSB0");
  StartDaemon();
  EXPECT_TRUE(daemon_->log().Await("devices of a claim are not where they were"));
  ASSERT_TRUE(daemon_->AwaitReady());
  ASSERT_TRUE(kubelet_->Restart());
  ASSERT_TRUE(AwaitRegistered());
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("ttyUSB0\" of example.com/serial is missing"));
  EXPECT_EQ(Files(), 0U);
}

/// As an adapter does that is unplugged and gets another node while a container has it.
TEST_F(DraClaimsOfDaemon, AMovedDeviceOfAClaimIsTaintedAndUnhealthyUntilItIsReleased) {
  const SimClaim claim = StartWithClaim(ByLink());
  const std::vector<std::string> healthy = Published();
  ASSERT_EQ(healthy.size(), 1U);
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_EQ(Files(), 1U);
  MoveLink();
  EXPECT_TRUE(AwaitPublished({healthy[0] + " NoSchedule"}));
  EXPECT_TRUE(kubelet_->Await(
      [&] {
        const auto devices = kubelet_->Health(kDraDriver);
        return devices.size() == 1 && devices[0].health == SimHealth::kUnhealthy &&
               devices[0].message.find("has moved from c ") != std::string::npos;
      },
      kPatience));
  EXPECT_EQ(Files(), 0U) << "a container that restarts would get the former node";
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_TRUE(AwaitPublished(healthy));
}

/// As with a module of the kernel that is loaded again and gets another number: no event shows it.
TEST_F(DraClaimsOfDaemon, ANodeOfNoDeviceThatChangedIsFoundWhenTheClaimIsPreparedAgain) {
  tree_.CharDevice("dev/control", 1000, 50);
  const std::string resources =
      std::string(kDraSerial) + "[[resource.device_node]]\nhost_path = \"/dev/control\"\n";
  const SimClaim claim = StartWithClaim(resources);
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_EQ(Files(), 1U);
  const auto change = [&](unsigned minor) {
    tree_.Remove("dev/control");
    tree_.CharDevice("dev/control", 1000, minor);
    ASSERT_TRUE(kubelet_->Restart());
    ASSERT_TRUE(AwaitRegistered());
  };
  const auto has_health = [&](SimHealth health) {
    return kubelet_->Await(
        [&] {
          const auto devices = kubelet_->Health(kDraDriver);
          return std::ranges::any_of(devices, [&](const auto& d) { return d.health == health; });
        },
        kPatience);
  };
  change(51);
  const auto refused = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the device node at /dev/control has changed from c 1000:50 to c 1000:51"));
  EXPECT_EQ(Files(), 0U);
  EXPECT_TRUE(has_health(SimHealth::kUnhealthy));
  change(50);
  daemon_->Refresh();
  EXPECT_TRUE(daemon_->log().Await("CDI file of a claim was lost"));
  EXPECT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
}

/// As another instance does that began before the device moved.
TEST_F(DraClaimsOfDaemon, FilesOfADeviceThatHadMovedBeforeAreRemoved) {
  const SimClaim claim = StartWithClaim(ByLink());
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  const std::string record = Format("plugins/patchbay.dev/claims/claim_{}.json", claim.uid);
  const std::string cdi = Format("cdi/patchbay.dev-claim_{}.json", claim.uid);
  const std::string record_text = Text(record), cdi_text = Text(cdi);
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  MoveLink();
  ASSERT_TRUE(daemon_->log().Await("device ID moved to another node"));
  Place(record, record_text);
  Place(cdi, cdi_text);
  EXPECT_TRUE(daemon_->log().Await("devices of a claim are not where they were"));
  EXPECT_EQ(Files(), 0U);
  Place(cdi, cdi_text);
  EXPECT_TRUE(daemon_->log().Await("devices of a claim are not where they were", 2));
  EXPECT_EQ(Files(), 0U);
}

TEST_F(DraClaimsOfDaemon, TheFirstClaimOfAPrivateNodeIsLogged) {
  ASSERT_EQ(chmod(tree_.path("dev/ttyUSB0").c_str(), 0600), 0);
  ASSERT_EQ(chmod(tree_.path("dev/ttyUSB1").c_str(), 0600), 0);
  const SimClaim one = StartWithClaim(kDraSerial);
  const SimClaim two = CreateClaim("two");
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {one}));
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-2", {two}));
  EXPECT_TRUE(daemon_->log().Await("claim prepared", 2));
  const std::string log = daemon_->log().text();
  const std::string line = "device nodes keep the owner that they have on the host";
  const std::size_t first = log.find(line);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find(line, first + 1), std::string::npos) << log;
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
  CreateClass();
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

TEST_F(DraClaimsOfDaemon, AnInstanceFollowsTheClaimsOfAnotherOne) {
  const SimClaim claim = StartWithClaim(kDraSerial);
  ASSERT_TRUE(AwaitRegistered());
  const std::vector<std::string> both = Published();
  const auto newer = MakeDaemon(kDraSerial, "bbbb");
  ASSERT_TRUE(newer->AwaitReady());
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(newer->Stop());

  tree_.Remove("dev/ttyUSB0");
  EXPECT_TRUE(AwaitPublished({both[0] + " NoExecute", both[1]}));
  const auto newest = MakeDaemon(kDraSerial, "cccc");
  ASSERT_TRUE(newest->AwaitReady());
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  ASSERT_TRUE(newest->Stop());
  EXPECT_TRUE(AwaitPublished({both[1]}));
}

TEST_F(DraClaimsOfDaemon, TwoInstancesThatStartAtOncePublishOnePool) {
  StartDaemon(kDraSerial, "aaaa");
  const auto newer = MakeDaemon(kDraSerial, "bbbb");
  ASSERT_TRUE(daemon_->AwaitReady());
  ASSERT_TRUE(newer->AwaitReady());
  // Each can have created slices before it has seen those of the other one.
  EXPECT_TRUE(server_->Await([&] { return Slices().size() == 1 && Published().size() == 2; },
                             2 * kPatience))
      << Json(Slices()).dump(2) << daemon_->log().text() << newer->log().text();
}

TEST_F(DraClaimsOfDaemon, TwoInstancesThatPrepareAClaimAtOnceRunItsHooksOnce) {
  for (const char* pipe : {"begun", "gate"}) {
    ASSERT_EQ(mkfifo(tree_.path(pipe).c_str(), 0600), 0);
  }
  const std::string resources = WithHook(
      "allocate", Format("echo $1 >> {0}/runs; echo > {0}/begun; read x < {0}/gate", tree_.path()));
  StartDaemon(resources, "aaaa");
  ASSERT_TRUE(daemon_->AwaitReady());
  const auto newer = MakeDaemon(resources, "bbbb");
  ASSERT_TRUE(newer->AwaitReady());
  CreateClass();
  const SimClaim claim = CreateClaim("one");
  ASSERT_FALSE(HasFailure()) << "no hook would open the pipe";
  const auto prepare = [&](const std::string& pod_uid) {
    return std::async(std::launch::async, [this, claim, pod_uid] {
      PluginChannel channel(tree_.path(Format("plugins/patchbay.dev/dra-{}.sock", pod_uid)),
                            "localhost");
      return PrepareOnDriver(channel, DraApi::kV1, {claim}, kPatience);
    });
  };
  auto first = prepare("aaaa");
  std::ifstream(tree_.path("begun")).get();
  // From now on, only the other instance opens the file.
  const UniqueFd watch(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(),
                              tree_.path("plugins/patchbay.dev/serialize.lock").c_str(), IN_OPEN),
            0);
  auto second = prepare("bbbb");
  pollfd is_locking{watch.get(), POLLIN, 0};
  EXPECT_EQ(poll(&is_locking, 1, static_cast<int>(kPatience.count())), 1);
  std::ofstream(tree_.path("gate")) << "\n";
  const auto answers = {first.get(), second.get()};
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at(claim.uid).error, "");
    EXPECT_EQ(answer->at(claim.uid).devices, answers.begin()->value().at(claim.uid).devices);
    EXPECT_EQ(answer->at(claim.uid).devices.size(), 1U);
  }
  EXPECT_THAT(Runs(), ElementsAre("ttyUSB0"));
  EXPECT_EQ(Files(), 1U);
}

}  // namespace
}  // namespace patchbay::test
