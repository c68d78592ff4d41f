#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster_config.h"
#include "sim/api_server/api_server_sim.h"
#include "sim/kubelet/dra_manager.h"

namespace patchbay {

/// The cluster around one Kubernetes node with Dynamic Resource Allocation, in this process: the
/// built-in API server with the Node, the scheduler, and the DRA side of the built-in kubelet,
/// which has the ResourceSlices of the node deleted. Claims are in kNamespace.
///
/// Thread-safe. Stop may run at any time.
class ClusterSim {
 public:
  static constexpr const char* kNamespace = "default";
  static constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";

  struct Options {
    std::string kubelet_root = {};  ///< replaces /var/lib/kubelet
    api_sim::ApiServerOptions server = {};
    DraProfile kubelet = DraProfile::kStableHealthV1;
    std::string node_name = "node-1";
    std::string driver = "patchbay.dev";
  };

  /// Starts everything. Fails with kUnavailable if no port is left or for a file system error, and
  /// with kInvalid for the name of the node or a certificate that cannot be used.
  static Result<std::unique_ptr<ClusterSim>> Create(Options options);
  ~ClusterSim() { Stop(); }
  ClusterSim(const ClusterSim&) = delete;
  ClusterSim& operator=(const ClusterSim&) = delete;

  /// Cancels all calls to the driver and closes all connections. Further claims fail.
  void Stop();

  api_sim::ApiServerSim& server() { return *server_; }
  DraManager& kubelet() { return kubelet_; }
  /// Returns the API server for a daemon in this process. Fails with kInvalid if it has TLS.
  Result<ClusterConfig> config() const;

  /// Returns whether the kubelet has registered the driver and is connected to it.
  bool IsRegistered() const;
  /// Returns the array of all ResourceSlices, ordered by name.
  api_sim::Json Slices() const;

  // These fail with kInvalid and the message of the API server.

  /// Creates the DeviceClass of a resource.
  Status CreateClass(const std::string& resource);
  /// Creates a claim for devices of a class, without an allocation. `config` is
  /// spec.devices.config, `capacity` the requested share of each device.
  Result<SimClaim> CreateClaim(const std::string& name, const std::string& resource, int count = 1,
                               const api_sim::Json& config = api_sim::Json::array(),
                               const api_sim::Json& capacity = {});
  /// Allocates a claim as the scheduler does. Fails with kPrecondition if too few devices are free.
  Status Allocate(const SimClaim& claim);
  /// Deletes a claim, whose devices are then free.
  Status DeleteClaim(const std::string& name);

 private:
  ClusterSim(Options options, std::unique_ptr<api_sim::ApiServerSim> server);
  Result<api_sim::Json> Call(const std::string& method, const std::string& target,
                             const api_sim::Json& body = {}) const;

  const Options options_;
  const std::unique_ptr<api_sim::ApiServerSim> server_;
  DraManager kubelet_;
};

}  // namespace patchbay
