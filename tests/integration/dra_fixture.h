#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "integration/entries.h"
#include "sim/cluster/cluster_sim.h"
#include "sim/kubelet/kubelet_sim.h"
#include "support/daemon_fixture.h"
#include "support/temp_tree.h"

namespace patchbay::test {

using Json = nlohmann::json;

inline constexpr std::string_view kDraSerial = R"(
[[resource]]
name = "example.com/serial"
api = "dra"
  [[resource.match]]
  path = "/dev/ttyUSB*"
  [[resource.device_node]]
  container_path = "/dev/serial{slot}"
  [resource.env]
  PORTS = "/dev/serial{slot}"
  [resource.attributes]
  port = "{name}"
)";
inline const std::string kDraDriver = "patchbay.dev";

/// The whole daemon between the built-in API server and the DRA side of the built-in kubelet, with
/// two serial devices. Nothing runs but these two until StartDaemon.
class Dra : public testing::Test {
 protected:
  void SetUp() override {
    tree_.CharDevice("dev/ttyUSB0");
    tree_.CharDevice("dev/ttyUSB1");
    StartCluster();
  }
  void TearDown() override {
    daemon_.reset();
    plugin_side_.reset();  // before the side whose claims it reports
  }

  /// Starts the cluster, in place of another one.
  void StartCluster(api_sim::ApiProfile server = api_sim::ApiProfile::k1_36,
                    DraProfile kubelet = DraProfile::kStableHealthV1) {
    cluster_.reset();
    auto cluster = ClusterSim::Create({.kubelet_root = tree_.path(),
                                       .server = {.profile = server},
                                       .kubelet = kubelet,
                                       .driver = kDraDriver});
    ASSERT_TRUE(cluster) << cluster.error().message;
    cluster_ = *std::move(cluster);
    server_ = &cluster_->server();
    kubelet_ = &cluster_->kubelet();
  }
  std::unique_ptr<RunningDaemon> MakeDaemon(std::string_view resources,
                                            const std::string& pod_uid = "") {
    const RunningDaemon::Settings settings{.cluster = cluster_->config(), .pod_uid = pod_uid};
    return std::make_unique<RunningDaemon>(tree_, resources, settings);
  }
  void StartDaemon(std::string_view resources = kDraSerial, const std::string& pod_uid = "") {
    daemon_ = MakeDaemon(resources, pod_uid);
  }

  /// Starts the device plugin side of the kubelet. Its PodResources API at the socket
  /// `pod_resources`, unless that is empty, reports the claims of the other side.
  void StartPluginSide(const std::string& pod_resources = "") {
    auto kubelet = KubeletSim::Create({.directory = tree_.path("kubelet"),
                                       .pod_resources = pod_resources,
                                       .prepared_claims = [this] { return kubelet_->Claims(); }});
    ASSERT_TRUE(kubelet) << kubelet.error().message;
    plugin_side_ = *std::move(kubelet);
    ASSERT_TRUE(plugin_side_->Start());
  }
  /// Starts the device plugin side and the daemon with two resources of the same entry:
  /// example.com/ serial through Dynamic Resource Allocation, and example.com/plugin.
  void ServeBothApis(std::string_view entry) {
    ASSERT_NO_FATAL_FAILURE(StartPluginSide());
    StartDaemon(
        Format("[[resource]]\nname = \"example.com/serial\"\napi = \"dra\"\n{0}"
               "[[resource]]\nname = \"example.com/plugin\"\n{0}",
               entry));
    ASSERT_TRUE(daemon_->AwaitReady());
    CreateClass();
  }
  /// Returns what a container of a pod gets for a new claim of the same name.
  CdiEdits PrepareNew(const std::string& name) {
    const SimClaim claim = CreateClaim(name);
    const auto prepared = kubelet_->PrepareClaims(name, {claim});
    if (prepared) return EditsFor(prepared->at(claim.uid));
    ADD_FAILURE() << prepared.error().message;
    return {};
  }
  /// Returns kDraSerial with a probe that fails for a device while the tree has a file of its name.
  std::string WithProbe() const {
    return Format(
        "{}[resource.health]\ncommand = [\"test\", \"!\", \"-e\", \"{}/{{name}}\"]\n"
        "period = \"100ms\"\nfailure_threshold = 1\n",
        kDraSerial, tree_.path());
  }

  std::vector<Json> Slices() const { return cluster_->Slices().get<std::vector<Json>>(); }
  /// Waits for a slice with the content of `before`, the only one, and another UID.
  bool AwaitPublishedAgain(const std::vector<Json>& before) {
    return server_->Await(
        [&] {
          const std::vector<Json> now = Slices();
          return now.size() == 1 && now[0]["spec"] == before.at(0)["spec"] &&
                 now[0]["metadata"]["uid"] != before.at(0)["metadata"]["uid"];
        },
        kPatience);
  }

  /// Returns the names of all published devices, with the effects of their taints: "a NoExecute".
  std::vector<std::string> Published() {
    std::vector<std::string> devices;
    for (const Json& slice : Slices()) {
      for (const Json& device : slice["spec"].value("devices", Json::array())) {
        std::string text = device["name"].get<std::string>();
        for (const Json& taint : device.value("taints", Json::array())) {
          text += " " + taint["effect"].get<std::string>();
        }
        devices.push_back(text);
      }
    }
    return devices;
  }
  bool AwaitPublished(const std::vector<std::string>& devices) {
    return server_->Await([&] { return Published() == devices; }, kPatience);
  }

  bool AwaitRegistered() const {
    return kubelet_->Await([&] { return cluster_->IsRegistered(); }, kPatience);
  }

  /// Creates the DeviceClass of kSerialName.
  void CreateClass() { EXPECT_TRUE(cluster_->CreateClass(std::string(kSerialName))); }
  /// Creates a claim for `count` devices, and allocates it as the scheduler does. `config` is
  /// spec.devices.config.
  SimClaim CreateClaim(const std::string& name, int count = 1, const Json& config = Json::array()) {
    return Allocated(cluster_->CreateClaim(name, std::string(kSerialName), count, config));
  }
  SimClaim Allocated(const Result<SimClaim>& claim) {
    if (!claim) {
      ADD_FAILURE() << claim.error().message;
      return {};
    }
    const Status allocated = cluster_->Allocate(*claim);
    EXPECT_TRUE(allocated) << allocated.error().message;
    return *claim;
  }
  /// Returns what a container gets that uses all devices of a claim.
  CdiEdits EditsFor(const std::vector<SimPreparedDevice>& devices) {
    const CdiDirectory directory(tree_.path("cdi"));
    const auto files = directory.List(kDraDriver + "/claim");
    if (!files) ADD_FAILURE() << files.error().message;
    for (const std::string& name : CdiDevicesOf(devices)) {
      for (const std::string& file : *files) {
        const auto spec = directory.Read(file);
        if (!spec) continue;
        for (const CdiDevice& device : spec->devices) {
          if (spec->kind + "=" + device.name == name) return device.edits;
        }
      }
    }
    ADD_FAILURE() << "no CDI device of the answer exists";
    return {};
  }
  std::size_t Files() const {
    const auto files = CdiDirectory(tree_.path("cdi")).List(kDraDriver + "/claim");
    return files ? files->size() : 0;
  }

  TempTree tree_;
  std::unique_ptr<ClusterSim> cluster_;
  api_sim::ApiServerSim* server_ = nullptr;  ///< of cluster_
  DraManager* kubelet_ = nullptr;            ///< of cluster_
  std::unique_ptr<KubeletSim> plugin_side_;
  std::unique_ptr<RunningDaemon> daemon_;
};

}  // namespace patchbay::test
