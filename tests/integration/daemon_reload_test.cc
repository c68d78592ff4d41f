// A changed configuration takes effect, and does not affect unchanged resources.

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/format.h"
#include "integration/contract.h"
#include "support/leftovers.h"

namespace patchbay::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr PodResourcesPace kFastPods{.period = 50ms, .deadline = kPatience};
const std::string kCameraName = "example.com/camera";
std::string Camera(std::string_view keys = "", std::string_view tables = "") {
  return Resource(kCameraName, "/dev/video*", keys, tables);
}

class Reloading : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    for (const char* name : {"ttyUSB0", "ttyUSB1", "video0"}) {
      tree_.CharDevice(std::string("dev/") + name);
    }
    StartKubelet();
  }

  /// Starts with both resources served.
  void Begin(const std::string& camera = Camera(), const std::string& serial = Serial()) {
    StartDaemon(camera + serial);
    for (const std::string& name : {kCameraName, kSerialName}) {
      ASSERT_TRUE(AwaitServed(name)) << daemon_->log().text();
    }
    // The kubelet has the lists before the daemon has its reply to the registration.
    ASSERT_TRUE(daemon_->AwaitReady());
    serial_before_ = View(kSerialName);
    camera_before_ = View(kCameraName);
  }

  /// Reloads, and waits until the reload has ended.
  void Reload(const std::string& resources, std::string_view daemon_keys = "") {
    daemon_->Reload(resources, daemon_keys);
    ASSERT_TRUE(daemon_->log().Await("configuration reloaded", ++reloads_))
        << daemon_->log().text();
  }

  /// Checks that the kubelet received no list and no new stream.
  void ExpectUntouched(const ResourceView& before, const std::string& name) const {
    const ResourceView now = View(name);
    EXPECT_EQ(now.endpoint, before.endpoint) << name;
    EXPECT_EQ(now.lists, before.lists) << name;
    EXPECT_EQ(now.connections, before.connections) << name;
    EXPECT_EQ(now.registrations, before.registrations) << name;
    EXPECT_EQ(now.streams, 1U) << name;
  }

  /// Returns the environment of a container with one device.
  std::map<std::string, std::string> EnvOf(const std::string& id, const std::string& name) const {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Stub(name).Allocate({{id}}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (response.container_responses_size() != 1) return {};
    const auto& envs = response.container_responses(0).envs();
    return {envs.begin(), envs.end()};
  }
  bool AwaitEnv(const std::string& id, const std::map<std::string, std::string>& env) const {
    return Await([&] { return EnvOf(id, kSerialName) == env; });
  }
  /// For changes that cause no event.
  static bool Await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  ResourceView serial_before_, camera_before_;
  std::size_t reloads_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, Reloading,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

TEST_P(Reloading, LeavesUnchangedResourcesUntouched) {
  Begin();
  const std::string scans =
      Format("patchbay_discovery_scans_total{{resource=\"{}\"}}", kSerialName);
  ASSERT_TRUE(daemon_->AwaitMetricAtLeast(scans, 2)) << "the second one follows the watches";
  const double scans_before = daemon_->Metric(scans);
  Reload(Camera() + Serial());
  Reload(Serial() + Camera());
  EXPECT_EQ(daemon_->Metric(scans), scans_before) << "the host is not scanned";
  // The next list on the stream is the next change of the devices.
  ExpectUntouched(camera_before_, kCameraName);
  tree_.CharDevice("dev/ttyUSB2");
  EXPECT_TRUE(
      AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}, {"ttyUSB2", "Healthy"}}));
  EXPECT_EQ(View().lists, serial_before_.lists + 1);
  EXPECT_EQ(View().registrations, serial_before_.registrations);
  EXPECT_EQ(daemon_->Metric("patchbay_config_reloads_total{result=\"success\"}"), 3);
  EXPECT_EQ(daemon_->Metric("patchbay_config_last_reload_successful"), 1);
}

TEST_P(Reloading, ChangedMatchKeepsAnIdWithItsDevice) {
  const auto serial = [](std::string_view directories) {
    return Format(R"(
[[resource]]
name = "{}"
[[resource.match]]
regex = '/dev/{}/port(?P<port>\d)'
id = "port{{port}}"
)",
                  kSerialName, directories);
  };
  const std::string rejected =
      Format("patchbay_rejected_devices{{reason=\"duplicate_id\",resource=\"{}\"}}", kSerialName);
  tree_.CharDevice("dev/b/port1");
  Begin(Camera(), serial("[ab]"));
  tree_.CharDevice("dev/a/port1");
  ASSERT_TRUE(daemon_->AwaitMetric(rejected, 1));
  Reload(Camera() + serial("[abc]"));
  tree_.CharDevice("dev/c/port2");
  EXPECT_TRUE(AwaitHealth({{"port1", "Healthy"}, {"port2", "Healthy"}}));
  EXPECT_EQ(daemon_->Metric(rejected), 1);
}

TEST_P(Reloading, ChangedResponseDoesNotInvolveTheKubelet) {
  Begin();
  EXPECT_THAT(EnvOf("ttyUSB0", kSerialName), IsEmpty());
  Reload(Camera() + Serial("", "[resource.env]\nPORT = \"{path}\""));
  EXPECT_TRUE(AwaitEnv("ttyUSB0", {{"PORT", "/dev/ttyUSB0"}}));
  Reload(Camera() + Serial("description = \"ports\"", "[resource.env]\nPORT = \"{name}\""));
  EXPECT_TRUE(AwaitEnv("ttyUSB0", {{"PORT", "ttyUSB0"}}));
  ExpectUntouched(serial_before_, kSerialName);
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, SendsAChangedListOnTheSameStream) {
  Begin();
  Reload(Camera() + Serial("replicas = 2"));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0::0", "Healthy"},
                           {"ttyUSB0::1", "Healthy"},
                           {"ttyUSB1::0", "Healthy"},
                           {"ttyUSB1::1", "Healthy"}}));
  Reload(Camera() + Resource(kSerialName, "/dev/ttyUSB1"));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB1", "Healthy"}}))
      << "a device that no longer matches is removed immediately";
  EXPECT_EQ(View().endpoint, serial_before_.endpoint);
  EXPECT_EQ(View().connections, serial_before_.connections);
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, RegistersAgainWithChangedOptions) {
  Begin();
  EXPECT_FALSE(serial_before_.options.get_preferred_allocation_available);
  Reload(Camera() + Serial("preferred_allocation = \"packed\""));
  EXPECT_TRUE(AwaitServed(kSerialName, serial_before_.endpoint)) << daemon_->log().text();
  EXPECT_TRUE(AwaitView([](const ResourceView& view) {
    return view.options.get_preferred_allocation_available && view.streams == 1;
  }));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_THAT(Calls(), SizeIs(2));
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, RemovedResourceSendsAnEmptyListFirst) {
  Begin();
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 1));
  ASSERT_TRUE(AwaitView([](const ResourceView& view) { return view.extra_streams[0].lists == 1; }));
  Reload(Camera());
  // The last list was empty, and the stream ended after it.
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return !view.extra_streams[0].open; }));
  const ExtraStreamView extra = View().extra_streams[0];
  EXPECT_EQ(extra.lists, 2U);
  EXPECT_THAT(extra.devices, IsEmpty());
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return view.streams == 0; }));
  EXPECT_THAT(View().devices, IsEmpty());
  EXPECT_EQ(View().lists, serial_before_.lists + 1);
  EXPECT_TRUE(Await([&] { return OwnSockets().size() == 1; }));
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_resource_registered{resource=\"example.com/serial\"}", -1));
  EXPECT_THAT(daemon_->Get("/metrics").body, Not(HasSubstr("example.com/serial")));
  EXPECT_EQ(daemon_->Get("/readyz").status, 200);
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, ServesANewResource) {
  Begin();
  Reload(Camera() + Serial() + Resource("example.com/null", "/dev/null0"));
  ASSERT_TRUE(AwaitServed("example.com/null")) << daemon_->log().text();
  EXPECT_TRUE(daemon_->AwaitReady());
  tree_.CharDevice("dev/null0");
  EXPECT_TRUE(AwaitHealth({{"null0", "Healthy"}}, "example.com/null"));
  ExpectUntouched(camera_before_, kCameraName);
  ExpectUntouched(serial_before_, kSerialName);
}

TEST_P(Reloading, RenameReplacesAResource) {
  Begin();
  Reload(Camera() + Resource("example.com/port", "/dev/ttyUSB*"));
  EXPECT_TRUE(AwaitServed("example.com/port")) << daemon_->log().text();
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}, "example.com/port"));
  EXPECT_TRUE(AwaitView(
      [](const ResourceView& view) { return view.streams == 0 && view.devices.empty(); }));
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, ServesAnImmediatelyRestoredResourceOnce) {
  Begin();
  daemon_->Reload(Camera());
  daemon_->Reload(Camera() + Serial("replicas = 2"));
  daemon_->Reload(Camera() + Serial());
  ASSERT_TRUE(AwaitServed(kSerialName, serial_before_.endpoint)) << daemon_->log().text();
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_THAT(Calls(), SizeIs(2));
  EXPECT_THAT(OwnSockets(), SizeIs(2));
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, InvalidFileChangesNothing) {
  Begin();
  daemon_->Reload(Camera() + "[[resource]]\nname = \"example.com/serial\"\nreplica = 2\n");
  ASSERT_TRUE(daemon_->log().Await("config reload failed"));
  EXPECT_THAT(daemon_->log().text(), HasSubstr("unknown-key"));
  EXPECT_THAT(daemon_->log().text(), HasSubstr("test.toml:"));
  EXPECT_EQ(daemon_->Metric("patchbay_config_last_reload_successful"), 0);
  EXPECT_EQ(daemon_->Metric("patchbay_config_reloads_total{result=\"failure\"}"), 1);
  EXPECT_EQ(daemon_->Get("/readyz").status, 200);
  ExpectUntouched(camera_before_, kCameraName);
  ExpectUntouched(serial_before_, kSerialName);
  // The next valid configuration is applied.
  Reload(Camera() + Serial("", "[resource.env]\nPORT = \"{path}\""));
  EXPECT_EQ(daemon_->Metric("patchbay_config_last_reload_successful"), 1);
  EXPECT_TRUE(AwaitEnv("ttyUSB0", {{"PORT", "/dev/ttyUSB0"}}));
  ExpectUntouched(serial_before_, kSerialName);
}

TEST_P(Reloading, InvalidFileKeepsAResourceWaitingForItsName) {
  Begin();
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 1, /*reading=*/false));
  daemon_->Reload(Camera());                           // removes serial, which takes a while
  daemon_->Reload(Camera("replicas = 2") + Serial());  // adds it again
  EXPECT_TRUE(AwaitHealth({{"video0::0", "Healthy"}, {"video0::1", "Healthy"}}, kCameraName))
      << "no other resource waits for it";
  daemon_->Reload("nonsense");
  ASSERT_TRUE(AwaitServed(kSerialName, serial_before_.endpoint)) << daemon_->log().text();
  EXPECT_EQ(daemon_->Metric("patchbay_config_last_reload_successful"), 0);
}

TEST_P(Reloading, ReadyzReportsAResourceThatCannotStart) {
  std::atomic<bool> can_start = true;
  RunningDaemon::Settings settings;
  settings.make_cancellation = [&]() -> Result<Cancellation> {
    if (!can_start) return Fail(ErrorKind::kUnavailable, "no descriptors are left");
    return Cancellation::Create();
  };
  StartDaemon(Camera() + Serial(), settings);
  ASSERT_TRUE(AwaitServed(kSerialName));
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::string endpoint = View(kSerialName).endpoint;
  can_start = false;
  daemon_->Reload(Camera());             // removes serial
  daemon_->Reload(Camera() + Serial());  // adds it again
  EXPECT_TRUE(daemon_->AwaitUnready("example.com/serial "));
  ASSERT_TRUE(daemon_->log().Await("resources cannot start yet")) << daemon_->log().text();
  EXPECT_THAT(daemon_->log().text(), HasSubstr("no descriptors are left"));
  EXPECT_TRUE(daemon_->AwaitUnready("example.com/serial cannot start: no descriptors are left\n"));
  EXPECT_EQ(daemon_->Metric("patchbay_config_last_reload_successful"), 1);
  can_start = true;
  ASSERT_TRUE(AwaitServed(kSerialName, endpoint)) << daemon_->log().text();
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_P(Reloading, AppliesChangesOfOnNodes) {
  Begin();
  Reload(Camera() + Serial("on_nodes = [\"elsewhere-*\"]"));
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return view.streams == 0; }));
  Reload(Camera() + Serial("on_nodes = [\"node-*\"]"));
  ASSERT_TRUE(AwaitServed(kSerialName, serial_before_.endpoint)) << daemon_->log().text();
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, RunsOnlyAChangedCommand) {
  const auto command = [&](std::string_view id, std::string_view keys = "") {
    return Camera() +
           Format(
               "[[resource]]\nname = \"{}\"\n{}\n[[resource.match]]\ncommand = [\"/bin/sh\", "
               "\"-c\", \"echo x >> {}; echo '[{{\\\"id\\\": \\\"{}\\\"}}]'\"]\n",
               kSerialName, keys, tree_.path("runs"), id);
  };
  StartDaemon(command("a"));
  ASSERT_TRUE(AwaitServed()) << daemon_->log().text();
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}})) << daemon_->log().text();
  Reload(command("a", "replicas = 2"));
  ASSERT_TRUE(AwaitHealth({{"a::0", "Healthy"}, {"a::1", "Healthy"}}));
  EXPECT_EQ(std::filesystem::file_size(tree_.path("runs")), 2u) << "it ran once";
  Reload(command("b"));
  EXPECT_TRUE(AwaitHealth({{"b", "Healthy"}})) << daemon_->log().text();
  EXPECT_EQ(std::filesystem::file_size(tree_.path("runs")), 4u);
}

TEST_P(Reloading, StalledKubeletDoesNotBlockARemoval) {
  Begin();
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 1, /*reading=*/false));
  kubelet_->StopReading(kSerialName);
  Reload(Camera());
  EXPECT_TRUE(Await([&] { return OwnSockets().size() == 1; })) << daemon_->log().text();
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, AppliesChangesMadeWithoutAKubelet) {
  Begin();
  kubelet_->Stop();
  Reload(Resource("example.com/port", "/dev/ttyUSB*") + Camera("replicas = 2"));
  ASSERT_TRUE(kubelet_->Start());
  EXPECT_TRUE(AwaitServed("example.com/port")) << daemon_->log().text();
  EXPECT_TRUE(AwaitHealth({{"video0::0", "Healthy"}, {"video0::1", "Healthy"}}, kCameraName));
  EXPECT_TRUE(Calls(kSerialName).size() == 1);
}

TEST_P(Reloading, KeepsHealthWhileTheProbeIsUnchanged) {
  tree_.File("state-ttyUSB0", "up");
  tree_.File("state-ttyUSB1", "down");
  const auto health = [](std::string_view more) {
    return Format(
        "[resource.health]\nfile = \"/state-{{name}}\"\nfailure_threshold = 1\n"
        "before_first = \"unhealthy\"\n{}\n",
        more);
  };
  Begin(Camera(), Serial("", health("equals = \"up\"")));
  const HealthById known = {{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}};
  ASSERT_TRUE(AwaitHealth(known));
  const std::string probes =
      "patchbay_probes_total{resource=\"example.com/serial\",result=\"success\"}";
  ASSERT_TRUE(daemon_->AwaitMetric(probes, 1));
  const std::size_t lists = View().lists;
  // No probe runs again, and no health is reset.
  Reload(Camera() + Serial("", health("equals = \"up\"") + "[resource.env]\nA = \"b\""));
  EXPECT_TRUE(AwaitEnv("ttyUSB0", {{"A", "b"}}));
  EXPECT_EQ(daemon_->Metric(probes), 1);
  EXPECT_EQ(View().lists, lists);
  // A new probe: the health stays until its first result.
  Reload(Camera() + Serial("", health("matches = \"up|down\"\nperiod = \"1s\"")));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_EQ(View().lists, lists + 1) << "no device changed its health in between";
  // Without a probe, its results are dropped.
  tree_.File("state-ttyUSB0", "broken");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}, {"ttyUSB1", "Healthy"}}));
  Reload(Camera() + Serial());
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
}

// The kubelet keeps reporting the device of a pod by the ID it had at allocation.
TEST_P(Reloading, ChangedReplicasDoNotReleaseDevicesInUse) {
  const std::string release = Format(
      "[resource.hooks.release]\ncommand = [\"/bin/sh\", \"-c\", \"echo $0 >> {}\", "
      "\"{{id}}\"]\n",
      tree_.path("released"));
  kubelet_.reset();
  KubeletSimOptions options;
  options.pod_resources = tree_.path("pods/kubelet.sock");
  StartKubelet(options);
  StartDaemon(Serial("replicas = 2", release),
              {.pod_resources = options.pod_resources, .pod_resources_pace = kFastPods});
  ASSERT_TRUE(AwaitServed()) << daemon_->log().text();
  const auto admitted = kubelet_->Admit("pod", "c", kSerialName, 1);
  ASSERT_TRUE(admitted) << admitted.error().message;
  const std::string device = admitted->device_ids.front().substr(0, 7);
  const std::string held = Format(
      "patchbay_device_in_use{{container=\"c\",device=\"{}\",namespace=\"default\",pod=\"pod\","
      "resource=\"{}\"}}",
      device, kSerialName);
  ASSERT_TRUE(daemon_->AwaitMetric(held, 1)) << daemon_->Get("/metrics").body;
  for (const char* replicas : {"", "replicas = 3", "replicas = 1"}) {
    Reload(Serial(replicas, release));
    const std::size_t polls = kubelet_->PodResourcesCalls();
    ASSERT_TRUE(
        kubelet_->Await([&] { return kubelet_->PodResourcesCalls() >= polls + 2; }, kPatience));
    EXPECT_EQ(daemon_->Metric(held), 1) << replicas;
  }
  EXPECT_FALSE(std::filesystem::exists(tree_.path("released")));
  kubelet_->Release("pod");
  EXPECT_TRUE(Await([&] { return std::filesystem::exists(tree_.path("released")); }));
}

TEST_P(Reloading, ExclusiveResourceTakesAndReturnsDevices) {
  const std::string one = "example.com/one";
  Begin();
  Reload(Camera() + Serial() + Resource(one, "/dev/ttyUSB1", "exclusive = true"));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB1", "Healthy"}}, one));
  Reload(Camera() + Serial());
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  ExpectUntouched(camera_before_, kCameraName);
}

TEST_P(Reloading, HangingHookDoesNotBlockOtherResources) {
  const std::string hook = Format(
      "[resource.hooks.allocate]\ncommand = [\"/bin/sh\", \"-c\", \"trap '' TERM; : > {}; sleep "
      "3600\"]\ntimeout = \"60s\"\n",
      tree_.path("hangs"));
  Begin(Camera(), Serial("", hook));
  PluginStub stub = Stub();
  std::thread allocate([&] { EXPECT_FALSE(stub.Allocate({{"ttyUSB0"}}).ok()); });
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(tree_.path("hangs")); }));
  Reload(Camera("", "[resource.env]\nA = \"b\""));
  EXPECT_TRUE(Await([&] { return EnvOf("video0", kCameraName).contains("A"); }));
  allocate.join();
  EXPECT_TRUE(Await([&] { return OwnSockets().size() == 1; }));
  ExpectUntouched(camera_before_, kCameraName);
  daemon_.reset();
  Leftovers::ReapOrphans();
}

TEST_P(Reloading, AppliesDaemonKeysWithoutARestart) {
  Begin();
  EXPECT_THAT(daemon_->Get("/metrics").body, HasSubstr("patchbay_device_healthy{"));
  Reload(Camera() + Serial(),
         "rescan = \"1s\"\nmax_probes = 2\ndevice_metrics = false\nlog_level = \"info\"");
  EXPECT_THAT(daemon_->Get("/metrics").body, Not(HasSubstr("patchbay_device_healthy{")));
  EXPECT_THAT(daemon_->log().text(), Not(HasSubstr("need a restart to take effect")));
  // The periodic scan runs without an event.
  const std::string scans = "patchbay_discovery_scans_total{resource=\"example.com/serial\"}";
  EXPECT_TRUE(daemon_->AwaitMetricAtLeast(scans, daemon_->Metric(scans) + 2));
  ExpectUntouched(camera_before_, kCameraName);
}

std::size_t Entries(const char* directory) {
  const auto entries = std::filesystem::directory_iterator(directory);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST_P(Reloading, LeaksNothingOfRemovedResources) {
  Begin();
  const auto churn = [&] {
    Reload(Camera() + Serial() + Resource("example.com/guest", "/dev/ttyUSB*"));
    ASSERT_TRUE(AwaitServed("example.com/guest")) << daemon_->log().text();
    Reload(Camera() + Serial());
    ASSERT_TRUE(Await([&] { return OwnSockets().size() == 2; }));
  };
  churn();
  churn();
  const std::size_t descriptors = Entries("/proc/self/fd"), threads = Entries("/proc/self/task");
  for (int i = 0; i < 5; ++i) churn();
  EXPECT_TRUE(Await([&] { return Entries("/proc/self/fd") <= descriptors; }));
  EXPECT_TRUE(Await([&] { return Entries("/proc/self/task") <= threads + 2; }))
      << "gRPC can keep one or two descriptors";
  ExpectUntouched(serial_before_, kSerialName);
}

/// Fifty resources, one with more devices, under constant allocation.
TEST_P(Reloading, EditOfOneResourceUnderLoadKeepsTheOthers) {
  constexpr int kResources = 50;
  const auto name = [](int i) { return Format("example.com/r{}", i); };
  const auto file = [&](int edited) {
    std::string text;
    for (int i = 0; i < kResources; ++i) {
      text += Resource(name(i), i == edited ? "/dev/{ttyUSB,video}*" : "/dev/ttyUSB*");
    }
    return text;
  };
  StartDaemon(file(-1));
  std::vector<ResourceView> before;
  for (int i = 0; i < kResources; ++i) {
    ASSERT_TRUE(AwaitServed(name(i))) << daemon_->log().text();
    before.push_back(View(name(i)));
  }
  std::atomic<bool> wanted = true;
  std::atomic<int> failed = 0, rounds = 0;
  std::thread load([&] {
    std::vector<PluginStub> stubs;
    for (const ResourceView& view : before) stubs.emplace_back(view.endpoint);
    for (; wanted; ++rounds) {
      for (PluginStub& stub : stubs) failed += !stub.Allocate({{"ttyUSB0"}}).ok();
    }
  });
  for (const int edited : {7, 23}) {
    const int seen = rounds;
    Reload(file(edited));
    EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}, {"video0", "Healthy"}},
                            name(edited)));
    ASSERT_TRUE(Await([&] { return rounds >= seen + 2; }));
  }
  wanted = false;
  load.join();
  EXPECT_EQ(failed, 0);
  for (int i = 0; i < kResources; ++i) {
    const ResourceView& then = before[static_cast<std::size_t>(i)];
    if (i != 7 && i != 23) ExpectUntouched(then, name(i));
    EXPECT_EQ(View(name(i)).endpoint, then.endpoint);
    EXPECT_EQ(View(name(i)).connections, then.connections);
  }
}

TEST_P(Reloading, ShutdownDuringAReloadCompletes) {
  Begin();
  ASSERT_TRUE(kubelet_->OpenExtraStreams(kSerialName, 1, /*reading=*/false));
  daemon_->Reload(Camera());
  daemon_->Reload(Serial());
  EXPECT_TRUE(daemon_->Stop(2s)) << daemon_->log().text();
  EXPECT_THAT(OwnSockets(), IsEmpty());
}

}  // namespace
}  // namespace patchbay::test
