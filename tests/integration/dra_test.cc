// Dynamic Resource Allocation: what the daemon publishes.

#include "integration/dra_fixture.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/format.h"
#include "integration/program.h"
#include "support/dra_cluster.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// Compares the answer of Allocate with what a container of a claim gets: the same, and metadata.
void ExpectSameContainer(const v1beta1::ContainerAllocateResponse& response,
                         const CdiEdits& edits) {
  EXPECT_EQ((std::map<std::string, std::string>(response.envs().begin(), response.envs().end())),
            edits.env);
  ASSERT_EQ(static_cast<std::size_t>(response.devices_size()), edits.device_nodes.size());
  for (int i = 0; i < response.devices_size(); ++i) {
    const auto& node = edits.device_nodes[static_cast<std::size_t>(i)];
    EXPECT_EQ(response.devices(i).container_path(), node.path);
    EXPECT_EQ(response.devices(i).host_path(), node.host_path);
    EXPECT_EQ(response.devices(i).permissions(), node.permissions);
  }
  ASSERT_EQ(static_cast<std::size_t>(response.mounts_size()) + 1, edits.mounts.size());
  EXPECT_THAT(edits.mounts.back().container_path, HasSubstr("/dra-device-attributes/"));
  for (int i = 0; i < response.mounts_size(); ++i) {
    const auto& mount = edits.mounts[static_cast<std::size_t>(i)];
    EXPECT_EQ(response.mounts(i).container_path(), mount.container_path);
    EXPECT_EQ(response.mounts(i).host_path(), mount.host_path);
    EXPECT_THAT(mount.options, testing::Contains(response.mounts(i).read_only() ? "ro" : "rw"));
  }
}

TEST_F(Dra, ACoreDumpDoesNotHaveTheToken) {
  prctl(PR_SET_DUMPABLE, 1);
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0);
}

TEST_F(Dra, PublishesDevicesAndPreparesClaims) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(Published(), ElementsAre("ttyusb0-8acffaeae38f2be1", "ttyusb1-fd2f95e15e15f216"));
  const std::vector<Json> slices = Slices();
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0]["spec"]["pool"]["name"], "node-1/example.com/serial");
  EXPECT_EQ(slices[0]["spec"]["devices"][0]["attributes"]["port"]["string"], "ttyUSB0");
  EXPECT_EQ(slices[0]["metadata"]["ownerReferences"][0]["name"], "node-1");

  CreateClass();
  const SimClaim claim = CreateClaim("two", 2);
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  const CdiEdits edits = EditsFor(prepared->at(claim.uid));
  EXPECT_THAT(edits.env, ElementsAre(testing::Pair("PORTS", "/dev/serial0,/dev/serial1")));
  std::vector<std::string> nodes;
  for (const auto& node : edits.device_nodes) nodes.push_back(node.path);
  EXPECT_THAT(nodes, UnorderedElementsAre("/dev/serial0", "/dev/serial1"));
  EXPECT_EQ(Files(), 1U);

  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
}

TEST_F(Dra, SlicesThatTheKubeletWipedAreBack) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<Json> before = Slices();
  ASSERT_TRUE(kubelet_->Restart());  // wipes all slices of the node
  EXPECT_TRUE(AwaitPublishedAgain(before));
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_F(Dra, AWatchEventAloneBringsBackWipedSlices) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<Json> before = Slices();
  ASSERT_TRUE(server_->Await([&] { return server_->Watches() == 1; }, kPatience));
  const auto lists = [&] {
    return std::ranges::count(server_->Calls(), api_sim::Verb::kList, &api_sim::ApiCall::verb);
  };
  const auto lists_before = lists();
  kubelet_->SetRegistrationFault(DraRegistrationFault::kNeverDial);
  ASSERT_TRUE(kubelet_->Restart());  // wipes all slices of the node
  EXPECT_TRUE(AwaitPublishedAgain(before));
  EXPECT_EQ(lists(), lists_before) << "no list has shown that they are gone";
  EXPECT_EQ(daemon_->log().Count("driver registered"), 1U) << "the kubelet did not notify it";
}

TEST_F(Dra, ARegistrationAloneBringsBackWipedSlices) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<Json> before = Slices();
  ASSERT_TRUE(server_->Await([&] { return server_->Watches() == 1; }, kPatience));
  server_->PauseWatches(true);  // until the end: they stay open without events
  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitPublishedAgain(before));
}

TEST_F(Dra, ARestartWritesNothing) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<Json> before = Slices();
  ASSERT_TRUE(daemon_->Stop());
  EXPECT_EQ(Slices(), before) << "slices stay, because pods continue";
  const auto writes = [&] {
    int count = 0;
    for (const api_sim::ApiCall& call : server_->Calls()) {
      const bool is_slice = call.path.starts_with(ClusterSim::kSlices);
      if (is_slice && call.method != "GET" && !call.is_dry_run) ++count;
    }
    return count;
  };
  const int written = writes();
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_EQ(writes(), written);
  EXPECT_EQ(Slices(), before);
}

TEST_F(Dra, AVanishedDeviceStaysWhileAClaimHoldsIt) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<std::string> both = Published();
  CreateClass();
  const SimClaim claim = CreateClaim("one");
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  tree_.Remove("dev/ttyUSB0");
  EXPECT_TRUE(AwaitPublished({both[0] + " NoExecute", both[1]}));
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_TRUE(AwaitPublished({both[1]}));
}

TEST_F(Dra, ADeviceThatVanishesWhileTheDaemonDoesNotRunStaysToo) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<std::string> both = Published();
  CreateClass();
  const SimClaim claim = CreateClaim("one");
  ASSERT_TRUE(kubelet_->PrepareClaims("pod-1", {claim}));
  ASSERT_TRUE(daemon_->Stop());
  tree_.Remove("dev/ttyUSB0");
  StartDaemon();
  const std::vector<std::string> expected = {both[0] + " NoExecute", both[1]};
  EXPECT_TRUE(server_->Await([&] { return std::ranges::is_permutation(Published(), expected); },
                             kPatience));
  ASSERT_TRUE(daemon_->AwaitReady());
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_TRUE(AwaitPublished({both[1]}));
}

TEST_F(Dra, AClaimThatCannotBePreparedSaysWhy) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  const SimClaim unknown{"default", "absent", "11111111-2222-3333-4444-555555555555", kDraDriver};
  const auto prepared = kubelet_->PrepareClaims("pod-1", {unknown});
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("default/absent"));
  EXPECT_EQ(Files(), 0U);
}

TEST_F(Dra, AReloadMovesAResourceBetweenTheApis) {
  StartDaemon();
  ASSERT_TRUE(daemon_->AwaitReady());
  daemon_->Reload(kSerial);
  EXPECT_TRUE(server_->Await([&] { return Slices().empty(); }, kPatience));
  EXPECT_TRUE(daemon_->log().Await("resource changed resource=example.com/serial"));
  daemon_->Reload(kDraSerial);
  EXPECT_TRUE(server_->Await([&] { return Published().size() == 2; }, kPatience));
  EXPECT_TRUE(daemon_->AwaitReady());
}

TEST_F(Dra, AnInstanceOfAPodHasSocketsOfItsOwn) {
  StartDaemon(kDraSerial, "aaaa-bbbb");
  ASSERT_TRUE(daemon_->AwaitReady());
  EXPECT_TRUE(std::filesystem::exists(tree_.path("plugins/patchbay.dev/dra-aaaa-bbbb.sock")));
  EXPECT_THAT(kubelet_->Sockets(), ElementsAre(HasSubstr("patchbay.dev-aaaa-bbbb-reg.sock")));
  ASSERT_TRUE(daemon_->Stop());
  EXPECT_FALSE(std::filesystem::exists(tree_.path("plugins/patchbay.dev/dra-aaaa-bbbb.sock")));
}

TEST_F(Dra, BothApisGiveTheSameAndSharingIsReported) {
  // The rest of an entry for the node that both resources have.
  constexpr std::string_view kSame = R"(
  [[resource.match]]
  path = "/dev/ttyUSB0"
  [[resource.device_node]]
  container_path = "/dev/serial{slot}"
  permissions = "rw"
  [[resource.mount]]
  host_path = "{path}"
  container_path = "/run/port"
  read_only = false
  [resource.env]
  PORT = "/dev/serial{slot} {id}"
)";
  ASSERT_NO_FATAL_FAILURE(ServeBothApis(kSame));
  EXPECT_TRUE(daemon_->AwaitMetric("patchbay_shared_devices{resource=\"example.com/serial\"}", 1));

  const auto admitted = plugin_side_->Admit("pod-1", "container", "example.com/plugin", 1);
  ASSERT_TRUE(admitted) << admitted.error().message;
  const CdiEdits edits = PrepareNew("one");

  ExpectSameContainer(admitted->response, edits);
  EXPECT_EQ(edits.device_nodes.size(), 1U);
  EXPECT_EQ(edits.mounts.size(), 2U);
}

TEST_F(Dra, BothApisGiveTheSameForEachReplicaOfAGroup) {
  for (const char* node : {"dev/pcm0c", "dev/pcm0p", "dev/pcm1c", "dev/pcm1p"}) {
    tree_.CharDevice(node);
  }
  constexpr std::string_view kPairs = R"(
replicas = 3
  [[resource.match]]
  regex = '/dev/pcm(?P<card>[0-9]+)[cp]'
  group_by = "card"
  [[resource.device_node]]
  container_path = "/dev/{name}-{replica}"
  [[resource.mount]]
  host_path = "{path}"
  container_path = "/run/{name}"
  [[resource.mount]]
  host_path = "{path}"
  container_path = "/run/{replica}/{name}"
  read_only = false
  [resource.env]
  UNIT = "{id}"
  "REPLICA_{replica}" = "{slot} {index}"
)";
  ASSERT_NO_FATAL_FAILURE(ServeBothApis(kPairs));
  std::map<std::string, CdiEdits> by_unit;
  for (int i = 0; i < 6; ++i) {
    CdiEdits edits = PrepareNew(Format("claim-{}", i));
    EXPECT_EQ(edits.device_nodes.size(), 2U);
    EXPECT_EQ(edits.mounts.size(), 3U);
    by_unit[edits.env.at("UNIT")] = std::move(edits);
  }
  EXPECT_EQ(by_unit.size(), 6U);
  for (int i = 0; i < 6; ++i) {
    const auto admitted =
        plugin_side_->Admit(Format("plugin-{}", i), "container", "example.com/plugin", 1);
    ASSERT_TRUE(admitted) << admitted.error().message;
    const std::string unit = admitted->device_ids.at(0);
    SCOPED_TRACE(unit);
    ASSERT_TRUE(by_unit.contains(unit));
    ExpectSameContainer(admitted->response, by_unit.at(unit));
  }
}

TEST_F(Dra, DevicePluginsAreServedWithoutAnApiServer) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  daemon_ = std::make_unique<RunningDaemon>(
      tree_, std::string(kDraSerial) + Resource("example.com/plugin", "/dev/ttyUSB*"));
  EXPECT_TRUE(
      daemon_->AwaitMetric("patchbay_resource_registered{resource=\"example.com/plugin\"}", 1));
  EXPECT_TRUE(daemon_->AwaitUnready("example.com/serial"));
  EXPECT_TRUE(daemon_->AwaitUnready("or add [daemon.kubernetes] to the configuration"));
}

TEST_F(Dra, DevicePluginsAreServedWithoutSocketsOfTheDriver) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  const std::string plugin = Resource("example.com/plugin", "/dev/ttyUSB*");
  StartDaemon(std::string(kDraSerial) + plugin, "../uid");
  const std::string registered = "patchbay_resource_registered{resource=\"example.com/";
  ASSERT_TRUE(daemon_->AwaitMetric(registered + "plugin\"}", 1));
  EXPECT_TRUE(daemon_->AwaitUnready("set POD_UID from the field metadata.uid"));
  EXPECT_EQ(daemon_->Metric(registered + "serial\"}"), 0);
  EXPECT_TRUE(daemon_->log().Await("driver sockets cannot be created"));
  // A reload is applied as well.
  StartDaemon(plugin, "../uid");
  ASSERT_TRUE(daemon_->AwaitReady());
  daemon_->Reload(std::string(kDraSerial) + plugin);
  EXPECT_TRUE(daemon_->AwaitUnready("set POD_UID from the field metadata.uid"));
}

/// An editor of the configuration must not get the token of the pod by naming another server.
TEST_F(Dra, AConfigurationInAPodNamesNoOtherApiServer) {
  const std::string keys = Format(
      "[daemon.kubernetes]\nserver = \"https://10.9.9.9:6443\"\nca = \"{0}/ca.crt\"\n"
      "token_file = \"{0}/token\"\n",
      tree_.path());
  const RunningDaemon::Settings settings{.daemon_keys = keys, .cluster = cluster_->config()};
  daemon_ = std::make_unique<RunningDaemon>(tree_, kDraSerial, settings);
  EXPECT_TRUE(daemon_->AwaitUnready("server of [daemon.kubernetes] is https://10.9.9.9:6443"));
  EXPECT_TRUE(daemon_->AwaitUnready("--allow-other-server"));
  // The section is not read again.
  StartDaemon(Resource("example.com/other", "/dev/other*"));
  daemon_->Reload(kDraSerial, keys);
  EXPECT_TRUE(daemon_->log().Await("need a restart to take effect"));
  EXPECT_TRUE(daemon_->AwaitReady());
  EXPECT_THAT(Slices(), SizeIs(1));
}

TEST_F(Dra, AFlagLetsAConfigurationInAPodNameAnotherApiServer) {
  cluster_.reset();  // the test has its own
  DraCluster cluster(tree_.path());
  const auto enter_pod = [] {
    return setenv("KUBERNETES_SERVICE_HOST", "10.9.9.9", 1) == 0 &&
           setenv("KUBERNETES_SERVICE_PORT", "6443", 1) == 0;
  };
  const Process process(tree_, tree_.path("kubelet"),
                        cluster.DaemonKeys() + std::string(kDraSerial), enter_pod,
                        "--allow-other-server");
  EXPECT_TRUE(cluster.server().Await([&] { return cluster.CountPublished() == 2; }, kPatience))
      << process.log();
}

TEST_F(Dra, SharedDevicesNeedAnApiServerThatKeepsThem) {
  StartCluster(api_sim::ApiProfile::k1_34);
  StartDaemon(Serial("api = \"dra\"\nreplicas = 3"));
  EXPECT_TRUE(daemon_->log().Await("resource is not served"));
  EXPECT_TRUE(daemon_->AwaitUnready("DRAConsumableCapacity"));
  EXPECT_THAT(Published(), IsEmpty());
}

TEST_F(Dra, DevicePluginsNeedNoApiServer) {
  ASSERT_NO_FATAL_FAILURE(StartPluginSide());
  const std::size_t before = server_->Calls().size();
  StartDaemon(
      "[[resource]]\nname = \"example.com/serial\"\nmatch = [{ path = \"/dev/ttyUSB*\" }]\n");
  ASSERT_TRUE(plugin_side_->Await(
      [&] {
        const auto view = plugin_side_->View(std::string(kSerialName));
        return view && view->allocatable == 2;
      },
      kPatience));
  ASSERT_TRUE(plugin_side_->Admit("pod", "main", std::string(kSerialName), 1));
  EXPECT_EQ(server_->Calls().size(), before) << "the API server is known, but nothing needs it";
}

/// A release of Kubernetes, by the API server and the kubelet.
struct Release {
  std::string name;
  api_sim::ApiProfile server;
  DraProfile kubelet;
};

class DraReleases : public Dra, public testing::WithParamInterface<Release> {};

TEST_P(DraReleases, PublishPrepareReportHealthAndSurviveARestart) {
  StartCluster(GetParam().server, GetParam().kubelet);
  StartDaemon(WithProbe());
  ASSERT_TRUE(daemon_->AwaitReady());
  const std::vector<std::string> published = Published();
  EXPECT_THAT(published, ElementsAre("ttyusb0-8acffaeae38f2be1", "ttyusb1-fd2f95e15e15f216"));
  CreateClass();
  const SimClaim claim = CreateClaim("one");
  const auto prepared = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(EditsFor(prepared->at(claim.uid)).device_nodes.size(), 1U);

  const bool has_health = GetParam().kubelet != DraProfile::kBeta;
  const auto is_unhealthy = [](const SimDeviceHealth& device) {
    return device.health == SimHealth::kUnhealthy;
  };
  tree_.File("ttyUSB1");
  const auto has_unhealthy = [&] {
    return std::ranges::any_of(kubelet_->Health(kDraDriver), is_unhealthy);
  };
  // An API server that drops taints must not offer the device.
  std::vector<std::string> without{published[0]};
  if (GetParam().server == api_sim::ApiProfile::k1_36)
    without.push_back(published[1] + " NoSchedule");
  EXPECT_TRUE(AwaitPublished(without));
  EXPECT_TRUE(!has_health || kubelet_->Await(has_unhealthy, kPatience));
  tree_.Remove("ttyUSB1");
  EXPECT_TRUE(AwaitPublished(published));
  EXPECT_TRUE(kubelet_->Await([&] { return !has_unhealthy(); }, kPatience));
  EXPECT_EQ(kubelet_->Health(kDraDriver).empty(), !has_health);

  ASSERT_TRUE(kubelet_->Restart());
  EXPECT_TRUE(AwaitPublished(published));
  ASSERT_TRUE(AwaitRegistered());
  const auto again = kubelet_->PrepareClaims("pod-1", {claim});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(CdiDevicesOf(again->at(claim.uid)), CdiDevicesOf(prepared->at(claim.uid)));
  ASSERT_TRUE(kubelet_->UnprepareClaims("pod-1"));
  EXPECT_EQ(Files(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, DraReleases,
    testing::Values(Release{"Beta", api_sim::ApiProfile::k1_34, DraProfile::kBeta},
                    Release{"V1_34", api_sim::ApiProfile::k1_34, DraProfile::kStable},
                    Release{"V1_36", api_sim::ApiProfile::k1_36, DraProfile::kStable},
                    Release{"Later", api_sim::ApiProfile::k1_36, DraProfile::kStableHealthV1}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace patchbay::test
