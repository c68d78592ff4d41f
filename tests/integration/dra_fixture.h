#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"
#include "integration/entries.h"
#include "sim/api_server/api_server_sim.h"
#include "sim/kubelet/dra_manager.h"
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
inline constexpr const char* kSlicesTarget = "/apis/resource.k8s.io/v1/resourceslices";
inline constexpr const char* kClaimsTarget =
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
inline constexpr const char* kClassesTarget = "/apis/resource.k8s.io/v1/deviceclasses";
inline const std::string kDraDriver = "patchbay.dev";

/// The whole daemon between the built-in API server and the DRA side of the built-in kubelet, with
/// two serial devices. Nothing runs but these two until StartDaemon.
class Dra : public testing::Test {
 protected:
  void SetUp() override {
    tree_.CharDevice("dev/ttyUSB0");
    tree_.CharDevice("dev/ttyUSB1");
    StartApiServer(api_sim::ApiProfile::k1_36);
    StartKubelet(DraProfile::kStableHealthV1);
  }
  void TearDown() override {
    daemon_.reset();
    plugin_side_.reset();  // before the side whose claims it reports
    kubelet_.reset();
  }

  void StartApiServer(api_sim::ApiProfile profile) {
    auto server = api_sim::ApiServerSim::Create({.profile = profile});
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    ASSERT_TRUE(server_->Start());
    Post("/api/v1/nodes",
         {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "node-1"}}}});
  }
  void StartKubelet(DraProfile profile) {
    kubelet_.reset();
    kubelet_ = std::make_unique<DraManager>(DraSimOptions{
        .kubelet_root = tree_.path(), .profile = profile, .on_wipe = [this](const std::string&) {
          WipeSlices();
        }});
    ASSERT_TRUE(kubelet_->Start());
  }
  std::unique_ptr<RunningDaemon> MakeDaemon(std::string_view resources,
                                            const std::string& pod_uid = "") {
    const RunningDaemon::Settings settings{
        .cluster = ClusterConfigFrom({.server = server_->url()}, PlainHttp::kOnLoopback),
        .pod_uid = pod_uid};
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

  Json Call(const std::string& method, const std::string& target, const Json& body = {}) {
    const auto response = server_->Call(method, target, body);
    EXPECT_LT(response.status, 300) << method << " " << target << ": " << response.body;
    return Json::parse(response.body, nullptr, false);
  }
  Json Post(const std::string& target, const Json& body) { return Call("POST", target, body); }
  std::vector<Json> Slices() {
    return Call("GET", kSlicesTarget)["items"].get<std::vector<Json>>();
  }
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
  void WipeSlices() { Call("DELETE", kSlicesTarget); }

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
    return kubelet_->Await(
        [&] {
          return std::ranges::any_of(kubelet_->Instances(kDraDriver), &DraInstanceView::connected);
        },
        kPatience);
  }

  /// Creates the DeviceClass of kSerialName.
  void CreateClass() { Post(kClassesTarget, DeviceClassJson(kSerialName, kDraDriver)); }
  /// Creates a claim for `count` devices, and allocates it as the scheduler does. `config` is
  /// spec.devices.config.
  SimClaim CreateClaim(const std::string& name, int count = 1, const Json& config = Json::array()) {
    const Json created =
        Post(kClaimsTarget,
             {{"apiVersion", "resource.k8s.io/v1"},
              {"kind", "ResourceClaim"},
              {"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec",
               {{"devices",
                 {{"requests", Json::array({{{"name", "s"},
                                             {"exactly",
                                              {{"deviceClassName", DeviceClassName(kSerialName)},
                                               {"count", count}}}}})},
                  {"config", config}}}}}});
    const Status allocated = server_->Allocate("default", name, "node-1");
    EXPECT_TRUE(allocated) << allocated.error().message;
    return {"default", name, created["metadata"]["uid"].get<std::string>(), kDraDriver};
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
  std::unique_ptr<api_sim::ApiServerSim> server_;
  std::unique_ptr<DraManager> kubelet_;
  std::unique_ptr<KubeletSim> plugin_side_;
  std::unique_ptr<RunningDaemon> daemon_;
};

}  // namespace patchbay::test
