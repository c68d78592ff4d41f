#include "support/dra_cluster.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "support/certificates.h"

namespace patchbay::test {
namespace {

using api_sim::Json;

constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kToken = "token-of-the-daemon";

[[noreturn]] void EndProgram(const std::string& why) {
  std::fprintf(stderr, "cluster: %s\n", why.c_str());
  std::exit(1);
}

/// Returns the name of the class of a resource: "example.com/gpu_t4" is "example.com.gpu-t4".
std::string ClassOf(std::string resource) {
  std::replace(resource.begin(), resource.end(), '/', '.');
  std::replace(resource.begin(), resource.end(), '_', '-');
  return resource;
}

}  // namespace

DraCluster::DraCluster(const std::string& kubelet_root, std::chrono::milliseconds latency,
                       const std::string& node) {
  setenv("NODE_NAME", node.c_str(), 1);
  // The tests can run in a pod, whose API server is another one.
  unsetenv("KUBERNETES_SERVICE_HOST");
  unsetenv("KUBERNETES_SERVICE_PORT");
  const CertificateAuthority authority;
  const Certificate certificate = authority.Issue();
  files_.File("ca.crt", authority.pem());
  files_.File("token", kToken);
  auto server = api_sim::ApiServerSim::Create(
      {.tokens = {kToken},
       .tls = api_sim::TlsIdentity{.certificate = certificate.pem, .key = certificate.key},
       .latency = latency});
  if (!server) EndProgram(server.error().message);
  server_ = *std::move(server);
  if (const Status started = server_->Start(); !started) EndProgram(started.error().message);
  Call("POST", "/api/v1/nodes",
       {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", node}}}});
  kubelet_ = std::make_unique<DraManager>(
      DraSimOptions{.kubelet_root = kubelet_root,
                    .on_wipe = [this](const std::string&) { Call("DELETE", kSlices); }});
  if (const Status started = kubelet_->Start(); !started) EndProgram(started.error().message);
}

DraCluster::~DraCluster() = default;

std::string DraCluster::DaemonKeys() const {
  return Format(
      "cdi_dir = \"{}\"\n[daemon.kubernetes]\nserver = \"{}\"\nca = \"{}\"\ntoken_file = "
      "\"{}\"\n",
      cdi_dir(), server_->url(), files_.path("ca.crt"), files_.path("token"));
}

Json DraCluster::Call(const std::string& method, const std::string& target, const Json& body) {
  const auto response = server_->Call(method, target, body);
  if (response.status >= 300) EndProgram(Format("{} {}: {}", method, target, response.body));
  return Json::parse(response.body, nullptr, false);
}

void DraCluster::CreateClass(const std::string& resource) {
  const std::string expression =
      Format("device.driver == \"{0}\" && device.attributes[\"{0}\"].resource == \"{1}\"", kDriver,
             resource);
  Call("POST", "/apis/resource.k8s.io/v1/deviceclasses",
       {{"apiVersion", "resource.k8s.io/v1"},
        {"kind", "DeviceClass"},
        {"metadata", {{"name", ClassOf(resource)}}},
        {"spec", {{"selectors", Json::array({{{"cel", {{"expression", expression}}}}})}}}});
}

SimClaim DraCluster::CreateClaim(const std::string& name, const std::string& resource, int count) {
  const Json exactly = {{"deviceClassName", ClassOf(resource)}, {"count", count}};
  const Json request = {{"name", "devices"}, {"exactly", exactly}};
  const Json created = Call("POST", kClaims,
                            {{"apiVersion", "resource.k8s.io/v1"},
                             {"kind", "ResourceClaim"},
                             {"metadata", {{"name", name}, {"namespace", "default"}}},
                             {"spec", {{"devices", {{"requests", Json::array({request})}}}}}});
  return {"default", name, created["metadata"]["uid"].get<std::string>(), kDriver};
}

void DraCluster::DeleteClaim(const SimClaim& claim) {
  Call("DELETE", Format("{}/{}", kClaims, claim.name));
}

std::map<std::string, std::set<std::string>> DraCluster::Published() {
  std::map<std::string, std::set<std::string>> published;
  const Json slices = Call("GET", kSlices);
  for (const Json& slice : slices["items"]) {
    for (const Json& device : slice["spec"].value("devices", Json::array())) {
      const Json& attributes = device["attributes"];
      published[attributes["resource"]["string"].get<std::string>()].insert(
          attributes["id"]["string"].get<std::string>());
    }
  }
  return published;
}

std::size_t DraCluster::CountPublished() {
  std::size_t count = 0;
  for (const auto& [resource, ids] : Published()) count += ids.size();
  return count;
}

std::vector<std::string> DraCluster::ClaimFiles() const {
  const std::string kind = Format("{}/claim", kDriver);
  const CdiDirectory directory(cdi_dir());
  const auto names = directory.List(kind);
  if (!names) EndProgram(names.error().message);
  return *names;
}

}  // namespace patchbay::test
