#include "support/dra_cluster.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/format.h"
#include "cdi/cdi_directory.h"
#include "support/certificates.h"

namespace patchbay::test {
namespace {

using api_sim::Json;

constexpr const char* kToken = "token-of-the-daemon";

/// Returns the value, or exits the program.
template <class T>
T Require(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "cluster: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
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
  const api_sim::TlsIdentity tls{.certificate = certificate.pem, .key = certificate.key};
  cluster_ =
      Require(ClusterSim::Create({.kubelet_root = kubelet_root,
                                  .server = {.tokens = {kToken}, .tls = tls, .latency = latency},
                                  .node_name = node,
                                  .driver = kDriver}));
}

std::string DraCluster::DaemonKeys() const {
  return Format(
      "cdi_dir = \"{}\"\n[daemon.kubernetes]\nserver = \"{}\"\nca = \"{}\"\ntoken_file = "
      "\"{}\"\n",
      cdi_dir(), cluster_->server().url(), files_.path("ca.crt"), files_.path("token"));
}

void DraCluster::CreateClass(const std::string& resource) {
  Require(cluster_->CreateClass(resource));
}

SimClaim DraCluster::CreateClaim(const std::string& name, const std::string& resource, int count) {
  return Require(cluster_->CreateClaim(name, resource, count));
}

void DraCluster::DeleteClaim(const SimClaim& claim) { Require(cluster_->DeleteClaim(claim.name)); }

std::map<std::string, std::set<std::string>> DraCluster::Published() const {
  std::map<std::string, std::set<std::string>> published;
  for (const Json& slice : cluster_->Slices()) {
    for (const Json& device : slice["spec"].value("devices", Json::array())) {
      const Json& attributes = device["attributes"];
      published[attributes["resource"]["string"].get<std::string>()].insert(
          attributes["id"]["string"].get<std::string>());
    }
  }
  return published;
}

std::size_t DraCluster::CountPublished() const {
  std::size_t count = 0;
  for (const auto& [resource, ids] : Published()) count += ids.size();
  return count;
}

std::vector<std::string> DraCluster::ClaimFiles() const {
  const CdiDirectory directory(cdi_dir());
  return Require(directory.List(Format("{}/claim", kDriver)));
}

}  // namespace patchbay::test
