#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster/cluster_sim.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The cluster around a DaemonProcess that serves Dynamic Resource Allocation, whose API server has
/// TLS and a token. Sets NODE_NAME for the daemon, and removes the variables of a pod. Exits the
/// program if its own objects are not accepted.
class DraCluster {
 public:
  static constexpr const char* kNode = "node-1";
  static constexpr const char* kDriver = "patchbay.dev";
  static constexpr const char* kSlices = ClusterSim::kSlices;

  /// `kubelet_root` stands for /var/lib/kubelet. `latency` is the time that the API server takes to
  /// respond.
  explicit DraCluster(const std::string& kubelet_root, std::chrono::milliseconds latency = {},
                      const std::string& node = kNode);

  /// Returns further lines for [daemon], with which the daemon finds this cluster.
  std::string DaemonKeys() const;
  api_sim::ApiServerSim& server() { return cluster_->server(); }
  DraManager& kubelet() { return cluster_->kubelet(); }
  bool IsRegistered() const { return cluster_->IsRegistered(); }
  /// The directory of CDI files.
  std::string cdi_dir() const { return files_.path("cdi"); }

  /// See ClusterSim.
  void CreateClass(const std::string& resource);
  SimClaim CreateClaim(const std::string& name, const std::string& resource, int count = 1);
  Status Allocate(const SimClaim& claim) { return cluster_->Allocate(claim); }
  void DeleteClaim(const SimClaim& claim);

  /// Returns the IDs of the published devices, by resource.
  std::map<std::string, std::set<std::string>> Published() const;
  /// Returns the number of published devices.
  std::size_t CountPublished() const;
  /// Returns the names of the CDI files of claims, sorted.
  std::vector<std::string> ClaimFiles() const;

 private:
  TempTree files_;
  std::unique_ptr<ClusterSim> cluster_;
};

}  // namespace patchbay::test
