#include "sim/try/dra_cluster.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "dra/claim_spec.h"
#include "dra/device_name.h"
#include "dra/slice_json.h"

// The API server is called as its methods, without HTTP: only the daemon needs a connection. Each
// resource has one claim, with the name of its class, and one pod with the UID of that name.

namespace patchbay {
namespace {

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kNamespace = "default";

api_sim::Json NodeJson(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
}

/// Returns a claim for one device of a class.
api_sim::Json ClaimJson(const std::string& device_class) {
  const api_sim::Json request = {{"name", "device"},
                                 {"exactly", {{"deviceClassName", device_class}}}};
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", device_class}, {"namespace", kNamespace}}},
          {"spec", {{"devices", {{"requests", api_sim::Json::array({request})}}}}}};
}

/// Fails with the message of the Status object of an error.
Status CheckResponse(const api_sim::HttpResponse& response) {
  if (response.status < 300) return {};
  const api_sim::Json status = api_sim::Json::parse(response.body, nullptr, false);
  return Fail(ErrorKind::kInvalid,
              "the built-in API server: " +
                  (status.is_object() ? status.value("message", response.body) : response.body));
}

}  // namespace

DraCluster::DraCluster(Options options, std::unique_ptr<api_sim::ApiServerSim> server)
    : options_(std::move(options)),
      server_(std::move(server)),
      kubelet_({.kubelet_root = options_.kubelet_root,
                .on_wipe = [this](const std::string& driver) { DeleteSlices(driver); }}) {}

Result<std::unique_ptr<DraCluster>> DraCluster::Create(Options options) {
  auto server = TRY(api_sim::ApiServerSim::Create({}));
  auto cluster = std::unique_ptr<DraCluster>(new DraCluster(std::move(options), std::move(server)));
  const Options& wanted = cluster->options_;
  if (const Status posted = cluster->Post(kNodes, NodeJson(wanted.node_name)); !posted) {
    return Fail(posted.error().kind,
                Format("{}; set NODE_NAME to a valid name", posted.error().message));
  }
  for (const std::string& resource : wanted.resources) {
    TRY(cluster->Post(kClasses, DeviceClassJson(resource, wanted.driver)));
  }
  TRY(cluster->server_->Start());
  TRY(cluster->kubelet_.Start());
  return cluster;
}

void DraCluster::Stop() {
  kubelet_.Stop();
  server_->Stop();
}

Result<ClusterConfig> DraCluster::cluster() const {
  return ClusterConfigFrom({.server = server_->url()}, PlainHttp::kOnLoopback);
}

bool DraCluster::IsRegistered() const {
  return std::ranges::any_of(kubelet_.Instances(options_.driver), &DraInstanceView::connected);
}

void DraCluster::AwaitPublished(const std::function<bool()>& is_cancelled,
                                std::chrono::milliseconds timeout) const {
  kubelet_.Await([&] { return is_cancelled() || IsRegistered(); }, timeout);
  server_->Await(
      [&] {
        return is_cancelled() ||
               std::ranges::none_of(options_.resources, [&](const std::string& resource) {
                 return SlicesOf(resource).empty();
               });
      },
      timeout);
}

std::vector<ResourceSlice> DraCluster::SlicesOf(std::string_view resource) const {
  const std::string pool = PoolName(options_.node_name, resource);
  const auto response = server_->Call("GET", kSlices);
  const api_sim::Json list = api_sim::Json::parse(response.body, nullptr, false);
  std::vector<ResourceSlice> slices;
  for (const api_sim::Json& item : list.value("items", api_sim::Json::array())) {
    const auto parsed = ParseSlice(item.dump());
    if (parsed && parsed->slice.pool == pool) slices.push_back(parsed->slice);
  }
  const auto newest = std::ranges::max_element(slices, {}, &ResourceSlice::generation);
  if (newest == slices.end()) return {};
  const std::int64_t generation = newest->generation, count = newest->slice_count;
  std::erase_if(slices, [&](const ResourceSlice& each) { return each.generation != generation; });
  if (static_cast<std::int64_t>(slices.size()) != count) return {};
  return slices;
}

std::string DraCluster::ClaimOf(std::string_view resource) {
  return Format("{}/{}", kNamespace, DeviceClassName(resource));
}

Result<DraCluster::Prepared> DraCluster::Prepare(std::string_view resource) {
  const std::string name = DeviceClassName(resource);
  const auto created = server_->Call("POST", kClaims, ClaimJson(name));
  TRY(CheckResponse(created));
  const std::string uid = api_sim::Json::parse(created.body)["metadata"]["uid"].get<std::string>();
  TRY(server_->Allocate(kNamespace, name, options_.node_name));
  const SimPreparedClaims claims =
      TRY(kubelet_.PrepareClaims(name, {{kNamespace, name, uid, options_.driver}}));
  const std::vector<SimPreparedDevice>& devices = claims.at(uid);
  if (devices.empty()) {
    return Fail(ErrorKind::kInvalid, "the driver returned no device for the claim " + name);
  }
  const CdiDirectory directory(options_.cdi_dir);
  return Prepared{.device = devices.front().device,
                  .file = TRY(directory.Read(ClaimFileName(options_.driver, uid))),
                  .cdi_devices = CdiDevicesOf(devices)};
}

Status DraCluster::Release(std::string_view resource) {
  const std::string name = DeviceClassName(resource);
  const Status unprepared = kubelet_.UnprepareClaims(name);
  const Status deleted = CheckResponse(server_->Call("DELETE", Format("{}/{}", kClaims, name)));
  return unprepared ? deleted : unprepared;
}

Status DraCluster::Post(const std::string& collection, const api_sim::Json& object) {
  return CheckResponse(server_->Call("POST", collection, object));
}

void DraCluster::DeleteSlices(const std::string& driver) {
  std::string selector = "spec.nodeName%3D" + options_.node_name;
  if (!driver.empty()) selector += "%2Cspec.driver%3D" + driver;
  server_->Call("DELETE", Format("{}?fieldSelector={}", kSlices, selector));
}

}  // namespace patchbay
