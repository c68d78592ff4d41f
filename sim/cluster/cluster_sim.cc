#include "sim/cluster/cluster_sim.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"

// The API server is called as its methods, without HTTP: only the daemon needs a connection.

namespace patchbay {
namespace {

using api_sim::Json;

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

}  // namespace

ClusterSim::ClusterSim(Options options, std::unique_ptr<api_sim::ApiServerSim> server)
    : options_(std::move(options)),
      server_(std::move(server)),
      kubelet_({.kubelet_root = options_.kubelet_root,
                .profile = options_.kubelet,
                .on_wipe = [this](const std::string& driver) {
                  const char* const and_driver = driver.empty() ? "" : "%2Cspec.driver%3D";
                  server_->Call("DELETE", Format("{}?fieldSelector=spec.nodeName%3D{}{}{}", kSlices,
                                                 options_.node_name, and_driver, driver));
                }}) {}

Result<std::unique_ptr<ClusterSim>> ClusterSim::Create(Options options) {
  auto server = TRY(api_sim::ApiServerSim::Create(options.server));
  auto cluster = std::unique_ptr<ClusterSim>(new ClusterSim(std::move(options), std::move(server)));
  const Json metadata = {{"name", cluster->options_.node_name}};
  const auto node = cluster->Call("POST", kNodes,
                                  {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", metadata}});
  if (!node) {
    return Fail(node.error().kind,
                Format("{}; set NODE_NAME to a valid name", node.error().message));
  }
  TRY(cluster->server_->Start());
  TRY(cluster->kubelet_.Start());
  return cluster;
}

void ClusterSim::Stop() {
  kubelet_.Stop();
  server_->Stop();
}

Result<ClusterConfig> ClusterSim::config() const {
  return ClusterConfigFrom({.server = server_->url()}, PlainHttp::kOnLoopback);
}

bool ClusterSim::IsRegistered() const {
  return std::ranges::any_of(kubelet_.Instances(options_.driver), &DraInstanceView::connected);
}

Json ClusterSim::Slices() const {
  Json list = Json::parse(server_->Call("GET", kSlices).body);
  return std::move(list["items"]);
}

Status ClusterSim::CreateClass(const std::string& resource) {
  TRY(Call("POST", kClasses, DeviceClassJson(resource, options_.driver)));
  return {};
}

Result<SimClaim> ClusterSim::CreateClaim(const std::string& name, const std::string& resource,
                                         int count, const Json& config, const Json& capacity) {
  Json exactly = {{"deviceClassName", DeviceClassName(resource)}, {"count", count}};
  if (!capacity.is_null()) exactly["capacity"] = {{"requests", capacity}};
  const Json request = {{"name", "device"}, {"exactly", exactly}};
  const Json devices = {{"requests", Json::array({request})}, {"config", config}};
  const Json created = TRY(Call("POST", kClaims,
                                {{"apiVersion", "resource.k8s.io/v1"},
                                 {"kind", "ResourceClaim"},
                                 {"metadata", {{"name", name}, {"namespace", kNamespace}}},
                                 {"spec", {{"devices", devices}}}}));
  return SimClaim{kNamespace, name, created["metadata"]["uid"].get<std::string>(), options_.driver};
}

Status ClusterSim::Allocate(const SimClaim& claim) {
  return server_->Allocate(claim.namespace_name, claim.name, options_.node_name);
}

Status ClusterSim::DeleteClaim(const std::string& name) {
  TRY(Call("DELETE", Format("{}/{}", kClaims, name)));
  return {};
}

/// Fails with the message of the Status object of an error.
Result<Json> ClusterSim::Call(const std::string& method, const std::string& target,
                              const Json& body) const {
  const auto response = server_->Call(method, target, body);
  Json object = Json::parse(response.body, nullptr, false);
  if (response.status < 300) return object;
  return Fail(ErrorKind::kInvalid,
              "the built-in API server: " +
                  (object.is_object() ? object.value("message", response.body) : response.body));
}

}  // namespace patchbay
