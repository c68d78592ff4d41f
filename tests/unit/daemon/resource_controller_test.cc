#include "daemon/resource_controller.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "base/format.h"
#include "cdi/net_hook.h"
#include "rpc/socket_file.h"
#include "support/fake_loop.h"
#include "support/fake_sysfs.h"
#include "support/observed_resource.h"
#include "support/pool_hold.h"
#include "support/rpc_server.h"
#include "support/temp_tree.h"
#include "support/unix_socket.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;

/// A resource with all regular files in /dev of a host tree, on a loop whose clock the test
/// controls.
class ResourceControllerTest : test::InMemory, public testing::Test {
 protected:
  ResourceControllerTest()
      : ResourceControllerTest(test::Resource({test::PathMatch({"/dev/*"}, NodeType::kFile)})) {}

  explicit ResourceControllerTest(ResourceSpec resource) : spec_(std::move(resource)) {
    spec_.forget_after = minutes(10);
    const ResourceController::Dependencies deps{
        scanner_,
        commands_,
        HostRoot(tree_.path()),
        watch_.get(),
        probes_,
        ResourcePlugin::Dependencies{
            loop_, servers_, test::StartRpc(), log_,
            AllocationHost{HostRoot(tree_.path()), "node-1", tree_.path("cdi")},
            tree_.path("kubelet"), "00000000", servers_made_, kubelet_identity_},
        {},
        nullptr,
        std::make_shared<ScanBudget>(),
        NetDirectory(tree_.path("net"))};
    controller_.emplace(
        deps, ResourceController::Entry{std::make_shared<const ResourceSpec>(spec_)},
        std::make_shared<const Cancellation>(Cancellation::Create().value()), observed_.observer(),
        ResourceController::Events{.on_scanned =
                                       [this](const DirWatch::Added& added, bool changed) {
                                         moves_ += changed;
                                         if (merges_watches_) MergeWatches(added);
                                       },
                                   .on_published = [] {},
                                   .check_directory = [this] { ++checks_asked_; },
                                   .on_registered = [] {},
                                   .on_kubelet_answers = [](bool) {}});
  }

  /// Listens like a kubelet that the daemon has detected, and never answers.
  UniqueFd ListenAsKubelet() {
    const std::string socket = tree_.path("kubelet/kubelet.sock");
    UniqueFd listener = test::BindSocket(socket, true);
    kubelet_identity_ = SocketIdentity(socket).value();
    return listener;
  }
  bool IsLogged(std::string_view text) const {
    return log_text_.str().find(text) != std::string::npos;
  }

  /// Merges watches as the daemon does: directories that are newly watched may have changed before,
  /// and are scanned again.
  void MergeWatches(const DirWatch::Added& added) {
    for (const std::string& changed : watch_->Merge(added).changed) controller_->OnChanged(changed);
  }
  void AwaitScans(int scans) {
    ASSERT_TRUE(loop_.RunUntil([&] { return observed_.scans() == scans; }));
  }
  /// Waits until no inotify events, scans, or pauses between scans are left.
  void Settle() {
    do {
      ASSERT_TRUE(loop_.RunUntil([&] { return !controller_->MayDependOn("/"); }));
      if (merges_watches_) watch_->Retain(controller_->directories());
      loop_.Advance(std::chrono::seconds(2));
    } while (loop_.RunReadable() || controller_->MayDependOn("/"));
  }
  /// Creates and lists these files in /dev, and removes some of them a minute later.
  void ListedAndGone(const std::vector<std::string>& listed, const std::vector<std::string>& gone) {
    for (const std::string& name : listed) tree_.File("dev/" + name);
    controller_->Scan();
    AwaitScans(1);
    loop_.Advance(minutes(1));
    for (const std::string& name : gone) tree_.Remove("dev/" + name);
    controller_->Scan();
    AwaitScans(2);
  }
  std::vector<std::string> Listed() const {
    std::vector<std::string> ids;
    for (const ListedDevice& listed : controller_->snapshot()->devices) {
      ids.push_back(listed.device->id + (listed.health == Health::kHealthy ? "" : "!"));
    }
    return ids;
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  ResourceSpec spec_;
  std::unique_ptr<DirWatch> watch_ =
      DirWatch::Create(loop_, [this](const std::string& directory, std::string_view) {
        controller_->OnChanged(directory);
      }).value();
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, log_text_};
  const test::ObservedResource observed_;
  int moves_ = 0;
  int checks_asked_ = 0;  ///< requested checks of the kubelet's directory
  bool merges_watches_ = false;
  ProbePool probes_{loop_, 8};
  ThreadPool scanner_{loop_, {.patience = minutes(10)}};
  ThreadPool commands_{loop_};
  ThreadPool servers_{loop_, {.max_running = 1}};
  std::string kubelet_identity_;
  std::optional<ResourceController> controller_;
  std::uint64_t servers_made_ = 0;
};

TEST_F(ResourceControllerTest, CoalescesScanRequests) {
  tree_.File("dev/a");
  for (int i = 0; i < 5; ++i) controller_->Scan();
  AwaitScans(1);
  loop_.Advance(minutes(1));  // longer than the pause after a scan
  AwaitScans(2);
  loop_.Advance(minutes(1));
  EXPECT_EQ(observed_.scans(), 2);
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

TEST_F(ResourceControllerTest, ScansLessOftenDuringEventBursts) {
  const auto storm = [&](std::chrono::milliseconds length) {
    const int before = observed_.scans();
    for (const auto end = loop_.Now() + length; loop_.Now() < end;) {
      controller_->Scan();
      // During a scan, every path may matter.
      ASSERT_TRUE(loop_.RunUntil([&] { return !controller_->MayDependOn("/"); }));
      loop_.Advance(std::chrono::milliseconds(5));
    }
    // One scan per second, plus those of the first second, while the pause doubles.
    EXPECT_LE(observed_.scans() - before, length / std::chrono::seconds(1) + 30);
    EXPECT_GE(observed_.scans() - before, length / std::chrono::seconds(2));
  };
  storm(minutes(2));
  loop_.Advance(minutes(1));
  // Afterwards, scans are as before.
  storm(std::chrono::milliseconds(100));
  const int before = observed_.scans();
  loop_.Advance(minutes(1));
  EXPECT_LE(observed_.scans(), before + 1);
}

/// A resource whose CDI devices have the name of the node. A name with a slash would be invalid.
class NodeNameTest : public ResourceControllerTest {
 protected:
  NodeNameTest() : ResourceControllerTest(Named()) {}

  static ResourceSpec Named() {
    ResourceSpec spec = test::Resource({test::PathMatch({"/dev/*"}, NodeType::kFile)});
    spec.cdi_devices = {test::MakeTemplate("example.com/card={node_name}")};
    return spec;
  }
};

TEST_F(NodeNameTest, TemplatesOfDevicesAreCheckedWithTheNodeName) {
  tree_.File("dev/a");
  controller_->Scan();
  AwaitScans(1);
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

/// A resource with a command that takes more than a second.
class SlowResourceTest : public ResourceControllerTest {
 protected:
  SlowResourceTest() : ResourceControllerTest(test::Resource({SlowMatch()})) {}

  static MatchSpec SlowMatch() {
    MatchSpec match;
    match.source = CommandSource{{"/bin/sh", "-c", "sleep 1.1; echo '[]'"}, minutes(1)};
    return match;
  }
};

TEST_F(SlowResourceTest, ScansAgainASecondAfterASlowScan) {
  controller_->Scan();
  AwaitScans(1);
  controller_->Refresh();
  EXPECT_FALSE(controller_->MayDependOn("/anything"));
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(controller_->MayDependOn("/anything")) << "it does not scan";
}

/// Network interfaces that move into pods.
class NetResourceTest : public ResourceControllerTest {
 protected:
  NetResourceTest() : ResourceControllerTest(Interfaces()) {
    sysfs_.Device("/sys/devices/platform/fec0", {.subsystem = "platform"});
    tree_.Dir("/sys/devices/platform/fec0/net");
    Return();
  }

  static ResourceSpec Interfaces() {
    MatchSpec match;
    match.source = UdevPattern{{NamePattern::Compile("net").value()}, {}, {}, {}};
    ResourceSpec spec = test::Resource({match});
    spec.net_device.emplace();
    return spec;
  }
  void Return() { sysfs_.Device(kInterface, {.subsystem = "net", .attributes = {{"type", "1"}}}); }
  void Scan() {
    controller_->Scan();
    Settle();
  }

  static inline const std::string kInterface = "/sys/devices/platform/fec0/net/eth1";
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(NetResourceTest, IsKnownToTheRuntimeAsLongAsItIsListed) {
  Scan();
  sysfs_.Remove("/sys/devices/platform/fec0");
  const std::string other = "/sys/devices/platform/fec1";
  sysfs_.Device(other, {.subsystem = "platform"});
  sysfs_.Device(other + "/net/eth2", {.subsystem = "net", .attributes = {{"type", "1"}}});
  Scan();
  ASSERT_THAT(Listed(), ElementsAre("fec0!", "fec1"));
  std::ifstream file(tree_.path("cdi/" + NetFileName(spec_.name)));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("fec0-0"), HasSubstr("fec1-0")));
}

TEST_F(NetResourceTest, IsUnhealthyIfItStaysOnTheHostAndNotWhenItReturns) {
  const DeviceHolders held{{"fec0", {{"default", "pod", "main"}}}};
  Scan();
  EXPECT_THAT(Listed(), ElementsAre("fec0"));
  controller_->OnHolders({held});
  loop_.Advance(minutes(1));
  Scan();
  EXPECT_THAT(Listed(), ElementsAre("fec0"));
  loop_.Advance(minutes(1));
  Settle();
  EXPECT_THAT(Listed(), ElementsAre("fec0!"));

  const NetDirectory directory(tree_.path("net"));
  const auto known = directory.Read(std::chrono::system_clock::now());
  ASSERT_EQ(known.size(), 1U);
  tree_.File("net/results/" + InterfaceFileName(known[0].record.interface), "0 0 1 c\n");
  sysfs_.Remove(kInterface);
  Scan();
  EXPECT_THAT(Listed(), ElementsAre("fec0"));
  loop_.Advance(minutes(10));
  Return();
  Scan();
  EXPECT_THAT(Listed(), ElementsAre("fec0")) << "its pod has ended, and has not released it yet";
  controller_->OnHolders({});
  controller_->OnHolders({held});
  loop_.Advance(minutes(3));
  Settle();
  EXPECT_THAT(Listed(), ElementsAre("fec0!"));
}

TEST_F(ResourceControllerTest, IgnoresScanResultsAfterTheEnd) {
  tree_.File("dev/a");
  controller_->Scan();
  AwaitScans(1);
  loop_.Advance(minutes(1));
  tree_.Remove("dev/a");
  controller_->Scan();
  bool ended = false;
  controller_->End([&] { ended = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return ended && !controller_->MayDependOn("/"); }));
  EXPECT_EQ(observed_.scans(), 1);
  EXPECT_THAT(Listed(), ElementsAre("a"));
  controller_->Scan();
  EXPECT_FALSE(controller_->MayDependOn("/"));
}

TEST_F(ResourceControllerTest, ExplainsWhyThereAreNoDevices) {
  tree_.File("dev/a");
  tree_.Remove("dev/a");
  controller_->Scan();
  AwaitScans(1);
  ASSERT_NE(observed_.status().explanation, nullptr);
  ASSERT_EQ(observed_.status().explanation->size(), 1U);
  EXPECT_THAT(observed_.status().explanation->front().lines,
              ElementsAre("scanned: /dev/: 0 names"));
  loop_.Advance(minutes(1));
  tree_.File("dev/a");
  controller_->Scan();
  AwaitScans(2);
  EXPECT_EQ(observed_.status().explanation, nullptr);
}

TEST_F(ResourceControllerTest, PublishesOnlyChanges) {
  tree_.File("dev/a");
  for (int scan = 1; scan <= 3; ++scan) {
    controller_->Scan();
    AwaitScans(scan);
    loop_.Advance(minutes(1));
  }
  EXPECT_EQ(observed_.status().snapshot->generation, 1U);
  tree_.File("dev/b");
  controller_->Scan();
  AwaitScans(4);
  EXPECT_EQ(observed_.status().snapshot->generation, 2U);
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
}

TEST_F(ResourceControllerTest, RescansOnceForAChangedEntry) {
  merges_watches_ = true;
  tree_.File("dev/a");
  controller_->Scan();
  Settle();
  tree_.Remove("dev");
  tree_.File("dev/a");
  tree_.File("dev/b");
  controller_->Scan();  // finds the new directory, for the entry before Apply
  controller_->Apply({std::make_shared<const ResourceSpec>(spec_)});
  Settle();
  // No scan hung, so the scan includes the owners.
  ResourceSpec owner = test::Resource({test::PathMatch({"/dev/b"}, NodeType::kFile)});
  owner.name = "example.com/owner";
  controller_->Apply(
      {std::make_shared<const ResourceSpec>(spec_), {std::make_shared<const ResourceSpec>(owner)}});
  Settle();
  ASSERT_THAT(Listed(), ElementsAre("a"));
  EXPECT_THAT(controller_->snapshot()->rejected.front().detail,
              testing::HasSubstr("belongs to example.com/owner, which is exclusive"));
}

TEST_F(ResourceControllerTest, ForgetsVanishedDevicesAfterForgetAfter) {
  ListedAndGone({"a", "b"}, {"a"});
  EXPECT_THAT(Listed(), ElementsAre("a!", "b"));
  loop_.Advance(minutes(9));
  EXPECT_THAT(Listed(), ElementsAre("a!", "b"));
  loop_.Advance(minutes(2));
  EXPECT_THAT(Listed(), ElementsAre("b"));
}

const std::set<Holder> kPod = {{"default", "pod", "c"}};

TEST_F(ResourceControllerTest, KeepsVanishedDevicesThatAreInUse) {
  controller_->OnHolders({{{"a", kPod}}});
  ListedAndGone({"a", "b"}, {"a", "b"});
  loop_.Advance(minutes(60));
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  controller_->OnHolders({});
  loop_.Advance({});
  EXPECT_THAT(Listed(), ElementsAre());
}

TEST_F(ResourceControllerTest, ForgetsADeviceReleasedBeforeForgetAfter) {
  ListedAndGone({"a"}, {"a"});
  loop_.Advance(minutes(4));
  controller_->OnHolders({{{"a", kPod}}});
  loop_.Advance(minutes(1));
  controller_->OnHolders({});
  loop_.Advance(minutes(4));
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  loop_.Advance(minutes(2));
  EXPECT_THAT(Listed(), ElementsAre());
}

TEST_F(ResourceControllerTest, ReportsUnchangedUsageOnce) {
  controller_->OnHolders({});
  EXPECT_NE(observed_.status().usage, nullptr);  // an empty usage is reported, too
  controller_->OnHolders({{{"a", kPod}}});
  const auto usage = observed_.status().usage;
  EXPECT_EQ(*usage, (PodUsage{{{"a", kPod}}, 1}));
  controller_->OnHolders({{{"a", kPod}}});
  EXPECT_EQ(observed_.status().usage, usage);
  // The host has not been scanned yet; usage alone does not list a device.
  loop_.Advance(minutes(60));
  EXPECT_EQ(observed_.status().snapshot, nullptr);
  bool ended = false;
  controller_->End([&] { ended = true; });
  controller_->OnHolders({});
  EXPECT_EQ(observed_.status().usage, usage);
  ASSERT_TRUE(loop_.RunUntil([&] { return ended; }));
}

TEST_F(ResourceControllerTest, MayDependOnOnlyWatchedDirectories) {
  tree_.Dir("dev");
  EXPECT_FALSE(controller_->MayDependOn(tree_.path("dev")));
  controller_->Scan();
  EXPECT_TRUE(controller_->MayDependOn("/anything"));  // unknown until the scan has ended
  AwaitScans(1);
  EXPECT_TRUE(controller_->MayDependOn(tree_.path("dev")));
  EXPECT_FALSE(controller_->MayDependOn("/anything"));
  EXPECT_EQ(moves_, 1);
  loop_.Advance(minutes(1));
  controller_->Scan();
  AwaitScans(2);
  EXPECT_EQ(moves_, 1);
}

TEST_F(ResourceControllerTest, DoesNotRegisterBeforeTheFirstScan) {
  tree_.Dir("kubelet");
  controller_->OnKubelet(1);
  loop_.RunPosted();
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("kubelet")));
  controller_->Scan();
  AwaitScans(1);
  // The server starts first. No kubelet is listening.
  ASSERT_TRUE(loop_.RunUntil(
      [&] { return log_text_.str().find("the kubelet is not responding") != std::string::npos; }));
  bool ended = false;
  controller_->End([&] { ended = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return ended; }));
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("kubelet")));
}

TEST_F(ResourceControllerTest, IgnoresChecksOlderThanItsSocket) {
  tree_.Dir("kubelet");
  const UniqueFd silent = ListenAsKubelet();
  controller_->Scan();
  controller_->OnKubelet(1);
  ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=registering"); }));
  const PluginSockets none;
  controller_->CheckSocket(none, loop_.Now() - std::chrono::milliseconds(1));
  EXPECT_FALSE(IsLogged("phase=stopping"));
  controller_->CheckSocket(none, loop_.Now());
  EXPECT_TRUE(IsLogged("phase=stopping"));
}

// The kubelet deletes the socket between the start of the server and its report to the loop. The
// check that the deletion caused ends before the report, and no event follows.
TEST_F(ResourceControllerTest, DetectsASocketDeletedDuringServerStart) {
  tree_.Dir("kubelet");
  const UniqueFd silent = ListenAsKubelet();
  const PluginSockets none;
  {
    const test::PoolHold hold(servers_);
    controller_->Scan();
    controller_->OnKubelet(1);
    ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=starting"); }));
    controller_->CheckSocket(none, loop_.Now());
    EXPECT_EQ(checks_asked_, 0);
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=registering"); }));
  ASSERT_EQ(checks_asked_, 1);
  controller_->CheckSocket(none, loop_.Now());
  EXPECT_TRUE(IsLogged("phase=stopping"));
}

// A server that has just started can reach a new kubelet before the daemon detects that kubelet.
TEST_F(ResourceControllerTest, KubeletNotYetDetectedIsNotAFailure) {
  tree_.Dir("kubelet");
  const UniqueFd silent = ListenAsKubelet();
  kubelet_identity_ = "the kubelet before";
  controller_->Scan();
  controller_->OnKubelet(1);
  ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=stopping"); }));
  EXPECT_EQ(checks_asked_, 2) << "one for the new socket, one to detect the kubelet";
  EXPECT_EQ(observed_.registrations(), 0);
  EXPECT_THAT(log_text_.str(), testing::Not(testing::HasSubstr("does not answer")));
  kubelet_identity_ = SocketIdentity(tree_.path("kubelet/kubelet.sock")).value();
  controller_->OnKubelet(2);
  log_text_.str("");
  ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=registering"); }));
}

TEST_F(ResourceControllerTest, ReportsThatItsSocketIsDeletedRepeatedly) {
  tree_.Dir("kubelet");
  const UniqueFd silent = ListenAsKubelet();
  controller_->Scan();
  controller_->OnKubelet(1);
  const PluginSockets none;
  for (int deletions = 1; deletions <= 3; ++deletions) {
    ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=registering"); }));
    EXPECT_FALSE(IsLogged("the plugin socket was deleted")) << deletions;
    log_text_.str("");
    loop_.Advance(std::chrono::milliseconds(1));
    controller_->CheckSocket(none, loop_.Now());
    if (deletions != 2) continue;  // the first retry is immediate
    ASSERT_TRUE(loop_.RunUntil([&] { return IsLogged("phase=waiting"); }));
    loop_.Advance(kFirstBackOff);
  }
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("the plugin socket was deleted"));
}

TEST_F(ResourceControllerTest, LogsChangesOnceAndStartsWithASummary) {
  tree_.File("dev/a");
  tree_.Link("dev/dangling", "nowhere");
  controller_->Scan();
  AwaitScans(1);
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("listed=1 unhealthy=0 rejected=1"));
  EXPECT_THAT(log_text_.str(), testing::Not(testing::HasSubstr("device appeared")));
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("device rejected"));
  loop_.Advance(minutes(1));
  log_text_.str("");
  tree_.File("dev/b");
  tree_.Remove("dev/a");
  controller_->Scan();
  AwaitScans(2);
  EXPECT_THAT(log_text_.str(),
              testing::HasSubstr("device appeared resource=example.com/thing device=b"));
  EXPECT_THAT(log_text_.str(),
              testing::HasSubstr("device is unhealthy resource=example.com/thing device=a"));
  EXPECT_THAT(log_text_.str(), testing::Not(testing::HasSubstr("rejected")));
}

TEST_F(ResourceControllerTest, LogsOnceThatDevicesDisappearTooFast) {
  constexpr std::string_view kWarning = "devices disappear faster than they expire";
  const auto warnings = [&] {
    std::size_t count = 0;
    for (auto at = log_text_.str().find(kWarning); at != std::string::npos;
         at = log_text_.str().find(kWarning, at + 1)) {
      ++count;
    }
    return count;
  };
  for (int i = 0; i < 700; ++i) {
    tree_.File(Format("dev/a{}", i));
    tree_.File(Format("next/b{}", i));
  }
  tree_.Dir("last");
  int scans = 0;
  const auto scan = [&] {
    controller_->Scan();
    AwaitScans(++scans);
    loop_.Advance(std::chrono::seconds(2));
  };
  const auto replace_by = [&](std::string_view directory) {
    tree_.Remove("dev");
    std::filesystem::rename(tree_.path(directory), tree_.path("dev"));
    scan();
  };
  scan();
  replace_by("next");
  EXPECT_EQ(warnings(), 0U) << "700 are remembered";
  replace_by("last");
  EXPECT_EQ(warnings(), 1U);
  EXPECT_THAT(Listed(), testing::SizeIs(Inventory::kMaxVanished));
  scan();
  EXPECT_EQ(warnings(), 1U);
}

/// The same with a probe: /dev/NAME is healthy while /sys/state/NAME contains "ok".
class ProbedResourceTest : public ResourceControllerTest {
 protected:
  explicit ProbedResourceTest(ResourceSpec spec = Probed(Health::kHealthy))
      : ResourceControllerTest(std::move(spec)) {}

  static ResourceSpec Probed(Health before_first) {
    ResourceSpec spec = test::Resource({test::PathMatch({"/dev/*"}, NodeType::kFile)});
    ProbeSpec probe;
    probe.kind = FileProbe{test::MakeTemplate("/sys/state/{name}"), "ok"};
    probe.period = std::chrono::seconds(10);
    probe.timeout = minutes(10);  // long, because the clock jumps
    probe.failure_threshold = 1;
    probe.before_first = before_first;
    spec.health = probe;
    return spec;
  }

  void Make(const std::string& name, const std::string& state = "ok\n") {
    tree_.File("dev/" + name);
    tree_.File("sys/state/" + name, state);
  }
  /// Waits until every present device has been probed once or twice more.
  void Probe() {
    for (int second = 0; second < 12; ++second) {
      loop_.Advance(std::chrono::seconds(1));
      ASSERT_TRUE(loop_.RunUntil([&] { return probes_.running() == 0; }));
    }
    loop_.Advance(std::chrono::milliseconds(1));
  }
  std::string ReasonOf(std::size_t index) const {
    return controller_->snapshot()->devices[index].reason;
  }
};

TEST_F(ProbedResourceTest, HealthFollowsTheProbe) {
  Make("a"), Make("b");
  controller_->Scan();
  AwaitScans(1);
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  Probe();
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  EXPECT_EQ(observed_.status().snapshot->generation, 1U);
  tree_.File("sys/state/b", "no link\n");
  Probe();
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  EXPECT_EQ(ReasonOf(1), "/sys/state/b contains \"no link\", not \"ok\"");
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("device is unhealthy"));
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("no link"));
  log_text_.str("");
  Probe();
  EXPECT_EQ(log_text_.str(), "");  // logged once per change
  tree_.File("sys/state/b", "dead\n");
  Probe();
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(ReasonOf(1), "/sys/state/b contains \"dead\", not \"ok\"");
  EXPECT_EQ(log_text_.str(), "");
  tree_.File("sys/state/b", "ok\n");
  Probe();
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("device is healthy"));
}

TEST_F(ProbedResourceTest, ProbesAReturnedDeviceImmediately) {
  Make("a"), Make("b", "broken");
  controller_->Scan();
  AwaitScans(1);
  Probe();
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  tree_.Remove("dev/b");
  controller_->Scan();
  AwaitScans(2);
  EXPECT_EQ(ReasonOf(1), "/dev/b no longer exists");
  loop_.Advance(std::chrono::seconds(1));
  Probe();
  EXPECT_EQ(ReasonOf(1), "/dev/b no longer exists");
  const int before = observed_.probes();
  tree_.File("sys/state/b", "ok");
  tree_.File("dev/b");
  controller_->Scan();
  AwaitScans(3);
  // The result of the last probe stays in force until the next one, which is due at once.
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  loop_.Advance({});
  ASSERT_TRUE(loop_.RunUntil([&] { return observed_.probes() > before; }));
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
}

TEST_F(ProbedResourceTest, CoalescesManyHealthChangesIntoFewLists) {
  const auto make_all = [&](const std::string& state) {
    for (int i = 0; i < 200; ++i) Make("d" + std::to_string(i), state);
  };
  make_all("ok");
  controller_->Scan();
  AwaitScans(1);
  Probe();
  tree_.Remove("dev");
  controller_->Scan();
  AwaitScans(2);
  loop_.Advance(std::chrono::seconds(1));
  make_all("broken");
  controller_->Scan();
  AwaitScans(3);
  // All devices are back and are probed at once.
  const int probes = observed_.probes();
  const std::uint64_t generation = controller_->snapshot()->generation;
  loop_.Advance({});
  ASSERT_TRUE(loop_.RunUntil([&] { return observed_.probes() == probes + 200; }));
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Listed().size(), 200U);
  for (const std::string& device : Listed()) EXPECT_TRUE(device.ends_with("!")) << device;
  EXPECT_LE(controller_->snapshot()->generation, generation + 2);
}

TEST_F(ProbedResourceTest, DoesNotProbeAfterTheEnd) {
  Make("a");
  controller_->Scan();
  AwaitScans(1);
  bool ended = false;
  controller_->End([&] { ended = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return ended; }));
  loop_.Advance(minutes(1));
  loop_.RunPosted();
  EXPECT_EQ(observed_.probes(), 0);
}

/// Devices are Unhealthy until the first probe.
class InitiallyUnhealthyResourceTest : public ProbedResourceTest {
 protected:
  InitiallyUnhealthyResourceTest() : ProbedResourceTest(Probed(Health::kUnhealthy)) {}
};

TEST_F(InitiallyUnhealthyResourceTest, IsUnhealthyBeforeTheFirstProbe) {
  Make("a");
  controller_->Scan();
  AwaitScans(1);
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  EXPECT_EQ(ReasonOf(0), "it has not been probed yet");
  Probe();
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

/// A resource with files and links to files in two levels of directories, which are watched.
class WatchedResourceTest : public ResourceControllerTest {
 protected:
  WatchedResourceTest()
      : ResourceControllerTest(test::Resource({
            test::PathMatch({"/dev/*/n*", "/dev/{a,b}/x/*"}, NodeType::kFile),
            test::RegexMatch("/more/(?P<name>.*)", NodeType::kFile),
        })) {
    merges_watches_ = true;
    controller_->Scan();
    Settle();
  }

  /// Devices by node key, because the name differs: if a device has two names, the inventory keeps
  /// the one that was found first.
  using Nodes = std::vector<NodeKey>;
  Nodes Healthy() const {
    Nodes nodes;
    for (const ListedDevice& listed : controller_->snapshot()->devices) {
      if (listed.health == Health::kHealthy) nodes.push_back(KeyOf(listed.device->nodes.front()));
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
  Nodes FoundByFullScan() const {
    Nodes nodes;
    for (const Device& device : Discover(spec_, HostRoot(tree_.path()), ScanRequest{}).devices) {
      nodes.push_back(KeyOf(device.nodes.front()));
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  /// Performs a random operation on a few names. Impossible operations are skipped.
  void Disturb() {
    const auto one_of = [&](std::initializer_list<const char*> names) {
      return std::string(names.begin()[random_() % names.size()]);
    };
    const auto directory = [&] { return one_of({"dev/a", "dev/b", "dev/a/x", "more", "more/d"}); };
    const std::string name = directory() + "/" + one_of({"n1", "n2", "n3"});
    std::error_code ignored;
    switch (random_() % 7) {
      case 0:
      case 1: return tree_.Remove(name), tree_.File(name);
      case 2: return tree_.Remove(name), tree_.Link(name, "../b/" + one_of({"n1", "n2", "x/n1"}));
      case 3: return tree_.Remove(name);
      case 4: return tree_.Remove(directory());
      case 5:
        return std::filesystem::rename(tree_.path(directory()), tree_.path(directory()), ignored);
      case 6:
        tree_.Remove("dev/b");
        return tree_.Link("dev/b", one_of({"a", "../more", "../more/d", "nowhere"}));
    }
  }

  std::minstd_rand random_{20};
};

TEST_F(WatchedResourceTest, IncrementalScansEqualFullScans) {
  std::size_t most = 0;
  for (int round = 0; round < 400; ++round) {
    for (auto changes = random_() % 3 + 1; changes > 0; --changes) {
      try {
        Disturb();
      } catch (const std::filesystem::filesystem_error&) {  // a link where a directory should be
      }
    }
    ASSERT_NO_FATAL_FAILURE(Settle());
    ASSERT_EQ(Healthy(), FoundByFullScan()) << "round " << round;
    most = std::max(most, Healthy().size());
  }
  EXPECT_GE(most, 6U);
}

}  // namespace
}  // namespace patchbay
