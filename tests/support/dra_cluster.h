#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/api_server/api_server_sim.h"
#include "sim/kubelet/dra_manager.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The cluster around a DaemonProcess that serves Dynamic Resource Allocation: an API server with
/// TLS and a token, and the DRA side of the kubelet of a node. Sets NODE_NAME for the
/// daemon, and removes the variables of a pod. Exits
/// the program if its own objects are not accepted.
class DraCluster {
 public:
  static constexpr const char* kNode = "node-1";
  static constexpr const char* kDriver = "patchbay.dev";
  static constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";

  /// `kubelet_root` stands for /var/lib/kubelet. `latency` is the time that the API server takes to
  /// respond.
  explicit DraCluster(const std::string& kubelet_root, std::chrono::milliseconds latency = {},
                      const std::string& node = kNode);
  ~DraCluster();

  /// Returns further lines for [daemon], with which the daemon finds this cluster.
  std::string DaemonKeys() const;
  api_sim::ApiServerSim& server() { return *server_; }
  DraManager& kubelet() { return *kubelet_; }
  /// The directory of CDI files.
  std::string cdi_dir() const { return files_.path("cdi"); }

  /// Creates a class for the devices of a resource.
  void CreateClass(const std::string& resource);
  /// Creates a claim for devices of a class, without an allocation.
  SimClaim CreateClaim(const std::string& name, const std::string& resource, int count = 1);
  /// Deletes a claim, whose devices are then free.
  void DeleteClaim(const SimClaim& claim);

  /// Returns the IDs of the published devices, by resource.
  std::map<std::string, std::set<std::string>> Published();
  /// Returns the number of published devices.
  std::size_t CountPublished();
  /// Returns the names of the CDI files of claims, sorted.
  std::vector<std::string> ClaimFiles() const;

 private:
  api_sim::Json Call(const std::string& method, const std::string& target,
                     const api_sim::Json& body = {});

  TempTree files_;
  std::unique_ptr<api_sim::ApiServerSim> server_;
  std::unique_ptr<DraManager> kubelet_;
};

}  // namespace patchbay::test
