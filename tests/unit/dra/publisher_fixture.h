#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dra/device_name.h"
#include "dra/slice_publisher.h"
#include "dra/wanted_pool.h"
#include "kube/api_client.h"
#include "sim/api_server/api_server_sim.h"
#include "support/certificates.h"
#include "support/net_loop.h"
#include "support/temp_tree.h"
#include "unit/dra/pools.h"

namespace patchbay::test {

/// A publisher of slices and the built-in API server, over TLS. Pools are computed as the daemon
/// does: from snapshots, when one of them or the features of the server have changed. Sockets and
/// the server are real; the clock of the publisher is virtual. No test may send an object that the
/// server rejects.
class PublisherFixture : public testing::Test {
 public:
  using Json = nlohmann::json;
  using Profile = api_sim::ApiProfile;

  inline static const std::string kSlices = "/apis/resource.k8s.io/v1/resourceslices";
  inline static const std::string kResource = "example.com/serial";

 protected:
  /// Starts the server with a node, and a publisher that has no pools yet.
  void Serve(Profile profile) {
    tree_.File("ca.crt", authority_.pem());
    tree_.File("token", "secret\n");
    const Certificate certificate = authority_.Issue();
    auto created = api_sim::ApiServerSim::Create(
        {.profile = profile,
         .tokens = {"secret"},
         .tls = api_sim::TlsIdentity{.certificate = certificate.pem, .key = certificate.key}});
    ASSERT_TRUE(created) << created.error().message;
    server_ = *std::move(created);
    ASSERT_TRUE(server_->Start());
    CreateNode();
    Restart();
  }
  void CreateNode() {
    const Json node = {{"metadata", {{"name", node_name_}}}};
    EXPECT_EQ(server_->Call("POST", "/api/v1/nodes", node).status, 201);
  }
  /// Replaces the token of the publisher in its file and at the server.
  void RotateToken(const std::string& token) {
    tree_.File("token", token + "\n");
    server_->SetTokens({token});
  }
  /// Replaces the publisher by that of another process with the same resources.
  void Restart() {
    publisher_.reset();
    client_ = std::make_unique<ApiClient>(ClusterConfigFrom({.server = server_->url(),
                                                             .ca = tree_.path("ca.crt"),
                                                             .token_file = tree_.path("token")})
                                              .value(),
                                          loop_, loop_.io(), threads_);
    publisher_.emplace(
        SlicePublisher::Dependencies{*client_, loop_, log_},
        SlicePublisher::Options{.driver = driver_, .node_name = node_name_, .seed = 3},
        SlicePublisher::Functions{.on_features = [this] { SetPools(); },
                                  .wanted = [this](const auto& pool) { return PoolOf(pool); }});
    if (!resources_.empty()) SetPools();
  }
  void TearDown() override {
    if (!server_) return;
    for (const api_sim::ApiCall& call : server_->Calls()) {
      EXPECT_NE(call.status, 400) << call.method << ' ' << call.path;
      EXPECT_NE(call.status, 422) << call.method << ' ' << call.path;
    }
  }

  /// Sets the devices of a resource, as after a scan or a probe.
  void SetDevices(std::vector<ListedDevice> devices, int replicas = 1,
                  const std::string& resource = kResource) {
    resources_[resource] = SnapshotOf(std::move(devices), replicas, resource);
    SetPools();
  }

  /// Removes a resource from the configuration.
  void RemoveResource(const std::string& resource) {
    resources_.erase(resource);
    SetPools();
  }

  /// Runs the loop until `done` holds. Time passes only while no request is pending, from one timer
  /// to the next.
  bool Await(const std::function<bool()>& done) {
    constexpr int kMaxTimers = 1000;
    for (int timers = 0; !done();) {
      if (loop_.RunPosted() || loop_.io().poll() > 0) continue;
      if (IsBusy()) {
        if (loop_.io().run_one_for(std::chrono::seconds(60)) == 0) return false;
      } else {
        if (loop_.timers() == 0 || ++timers > kMaxTimers) return false;
        loop_.Advance(loop_.UntilNextTimer());
      }
    }
    return true;
  }
  /// Waits until the server has the pool of a resource, and the publisher follows its changes.
  bool AwaitCurrent(const std::string& resource = kResource) {
    return Await([&] { return StateOf(resource).is_current && IsWatching(); });
  }
  /// Waits, without a passing of time, until the publisher has learned of a change by others.
  bool AwaitNotice(const std::string& resource = kResource) {
    return loop_.RunUntil([&] { return !StateOf(resource).is_current; });
  }
  bool AwaitDevices(const std::vector<std::string>& names) {
    return Await([&] { return Devices() == names && IsWatching(); });
  }
  /// Lets everything happen that is due within `time`.
  void Pass(Loop::Duration time) {
    bool is_over = false;
    const Subscription timer = loop_.After(time, [&] { is_over = true; });
    EXPECT_TRUE(Await([&] { return is_over && !IsBusy(); }));
  }

  bool IsWatching() const { return publisher_->watch_state().is_watching; }
  SlicePublisher::PoolState StateOf(const std::string& resource = kResource) const {
    return publisher_->StateOf(PoolName(node_name_, resource));
  }

  /// Returns the slices that the server has, ordered by name.
  std::vector<Json> Slices() const {
    return Json::parse(server_->Call("GET", kSlices).body)["items"];
  }
  std::string NodeUid() const {
    const Json node = Json::parse(server_->Call("GET", "/api/v1/nodes/" + node_name_).body);
    return node["metadata"]["uid"];
  }
  static std::string OwnerUid(const Json& slice) {
    return slice["metadata"]["ownerReferences"].at(0)["uid"];
  }
  /// Returns all devices, in the order of the slices, and their names.
  std::vector<Json> FullDevices() const {
    std::vector<Json> devices;
    for (const Json& slice : Slices()) {
      const Json& list = slice["spec"].value("devices", Json::array());
      devices.insert(devices.end(), list.begin(), list.end());
    }
    return devices;
  }
  std::vector<std::string> Devices() const {
    const std::vector<Json> devices = FullDevices();
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const Json& device : devices) names.push_back(device["name"]);
    return names;
  }
  /// Changes the only slice as another client does.
  void EditSlice(const std::function<void(Json&)>& edit) {
    Json slice = Slices().at(0);
    edit(slice);
    EXPECT_EQ(server_->Call("PUT", TargetOf(slice), slice).status, 200);
  }
  void DeleteSlice() { EXPECT_EQ(server_->Call("DELETE", TargetOf(Slices().at(0))).status, 200); }
  /// Deletes all slices of the node, as the kubelet does.
  void Wipe() {
    EXPECT_EQ(
        server_->Call("DELETE", kSlices + "?fieldSelector=spec.nodeName%3D" + node_name_).status,
        200);
  }

  /// Returns the writes of the publisher that changed slices or failed: "create 201".
  std::vector<std::string> Writes() const {
    std::vector<std::string> writes;
    for (const api_sim::ApiCall& call : server_->Calls()) {
      const bool is_write = call.verb && call.method != "GET" && !call.is_dry_run;
      if (!is_write) continue;
      writes.push_back(std::string(NameOf(*call.verb)) + " " + std::to_string(call.status));
    }
    return writes;
  }
  std::size_t Logged(std::string_view part) const {
    const std::string text = log_text_.str();
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

 private:
  /// Returns whether a request other than the watch is pending.
  bool IsBusy() const { return client_->pending() > (IsWatching() ? 1U : 0U); }

  static std::string TargetOf(const Json& slice) {
    return kSlices + "/" + slice["metadata"]["name"].get<std::string>();
  }

  void SetPools() {
    std::set<std::string> names;
    for (const auto& [resource, snapshot] : resources_) {
      names.insert(PoolName(node_name_, resource));
    }
    publisher_->SetNames(names);
    for (const std::string& name : names) publisher_->Changed(name);
  }
  std::optional<WantedPool> PoolOf(const std::string& pool) const {
    for (const auto& [resource, snapshot] : resources_) {
      if (PoolName(node_name_, resource) != pool) continue;
      ResourceSpec spec = *snapshot->spec;
      spec.attributes = attributes_;
      spec.capacity = capacity_;
      Snapshot changed = *snapshot;
      changed.spec = std::make_shared<const ResourceSpec>(std::move(spec));
      const NamedDevices devices(std::make_shared<const Snapshot>(std::move(changed)));
      return ComputePool({.devices = devices,
                          .node_name = node_name_,
                          .allocated = {},
                          .features = publisher_->features().value_or(ServerFeatures{})});
    }
    return std::nullopt;
  }

  TempTree tree_;
  CertificateAuthority authority_;
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, log_text_};
  std::map<std::string, std::shared_ptr<const Snapshot>> resources_;

 protected:
  std::string node_name_ = "node-1";
  std::string driver_ = "patchbay.dev";
  std::vector<AttributeSpec> attributes_;
  std::vector<CapacitySpec> capacity_;
  std::unique_ptr<api_sim::ApiServerSim> server_;
  NetLoop loop_;
  ThreadPool threads_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::optional<SlicePublisher> publisher_;
};

}  // namespace patchbay::test
