#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_spec.h"
#include "dra/resource_slice.h"
#include "model/cluster_config.h"
#include "sim/api_server/api_server_sim.h"
#include "sim/kubelet/dra_manager.h"

namespace patchbay {

/// The parts of a cluster that Dynamic Resource Allocation needs, in this process: the built-in API
/// server with a Node and the DeviceClasses of the resources, the scheduler, and the DRA side of
/// the built-in kubelet.
///
/// Thread-safe, except that only one of Create, Prepare, Release and Stop may run at a time; Stop
/// may run at any time.
class DraCluster {
 public:
  struct Options {
    std::string kubelet_root;  ///< replaces /var/lib/kubelet
    std::string cdi_dir;
    std::string node_name;
    std::string driver;
    std::vector<std::string> resources;  ///< for DeviceClasses
  };

  /// Starts everything. Fails with kUnavailable if no port is left or for a file system error, and
  /// with kInvalid if the API server rejects an object, such as a Node with an invalid name.
  static Result<std::unique_ptr<DraCluster>> Create(Options options);
  ~DraCluster() { Stop(); }
  DraCluster(const DraCluster&) = delete;
  DraCluster& operator=(const DraCluster&) = delete;

  /// Cancels all calls to the driver and closes all connections. Wakes AwaitPublished. Further
  /// claims fail.
  void Stop();

  /// Returns the API server for the daemon.
  Result<ClusterConfig> cluster() const;

  /// Waits until the kubelet has registered the driver and the pool of each resource is complete,
  /// `is_cancelled` returns true, or `timeout` has passed for one of the two.
  void AwaitPublished(const std::function<bool()>& is_cancelled,
                      std::chrono::milliseconds timeout) const;
  bool IsRegistered() const;
  /// Returns the slices of a resource if its pool is complete, in the order of their names;
  /// otherwise nothing.
  std::vector<ResourceSlice> SlicesOf(std::string_view resource) const;

  /// A claim for one device that the driver has prepared.
  struct Prepared {
    std::string device;                    ///< its name in the slice
    CdiSpec file;                          ///< of the claim
    std::vector<std::string> cdi_devices;  ///< what the runtime adds to a container
  };
  /// The namespace and the name of the claim for a resource: "default/serial.example.com".
  static std::string ClaimOf(std::string_view resource);
  /// Creates a claim for one device, allocates it as the scheduler does, and has it prepared. Call
  /// Release after that, also if it fails. Fails with kPrecondition if no device is free, and
  /// otherwise with the message of the API server or of the pod's event. Blocks until the driver
  /// has answered.
  Result<Prepared> Prepare(std::string_view resource);
  /// Unprepares the claim and deletes it. Fails with the message of the pod's event.
  Status Release(std::string_view resource);

  /// Returns the prepared claims.
  std::vector<DraClaims::Entry> Claims() const { return kubelet_.Claims(); }

 private:
  DraCluster(Options options, std::unique_ptr<api_sim::ApiServerSim> server);
  Status Post(const std::string& collection, const api_sim::Json& object);
  void DeleteSlices(const std::string& driver);

  const Options options_;
  const std::unique_ptr<api_sim::ApiServerSim> server_;
  DraManager kubelet_;
};

}  // namespace patchbay
