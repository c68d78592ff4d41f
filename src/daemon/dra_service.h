#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "dra/claim_preparer.h"
#include "dra/driver_endpoint.h"
#include "dra/slice_publisher.h"
#include "dra/wanted_pool.h"
#include "kube/api_client.h"
#include "model/cluster_config.h"
#include "model/pod_usage.h"
#include "os/asio_loop.h"
#include "os/path_watch.h"
#include "os/thread_pool.h"
#include "status/dra_status.h"
#include "status/observer.h"

namespace patchbay {

/// Serves the resources of this node that have `api = "dra"`: publishes their snapshots as slices
/// at the API server, their health to the kubelet, and prepares claims of their devices. Connects
/// the parts of dra/ and decides nothing itself.
///
/// Belongs to the loop thread. `on_status` and the functions of Resource are called there.
class DraService {
 public:
  /// All references must outlive the service.
  struct Dependencies {
    AsioLoop& loop;
    Log& log;
    std::shared_ptr<RpcServer> rpc;         ///< serves the sockets of the driver
    std::shared_ptr<PendingCalls> pending;  ///< calls of the kubelet; may be null
    std::shared_ptr<DriverObserver> observer;
  };
  struct Options {
    DriverInstance instance;
    ClusterConfig cluster;
    std::string node_name;  ///< of the Kubernetes node
    std::string cdi_dir;
    bool device_metadata = true;
    std::uint32_t seed = 0;  ///< of random delays
  };
  /// Receives what the service reports about a resource. Implemented by its controller.
  class Resource {
   public:
    virtual ~Resource() = default;
    virtual void OnStaleList() = 0;  ///< a listed device cannot be used: scan again
    /// The IDs of the devices that claims hold have changed.
    virtual void OnHeld(const std::set<std::string>& ids) = 0;
    virtual void OnReady(bool ready) = 0;  ///< StateOf the resource has changed
    virtual bool HasReleaseHook() const = 0;
  };
  /// The parts of a resource that the service uses. No pointer is null.
  struct Parts {
    Resource* resource;  ///< valid until Remove
    std::shared_ptr<HookRunner> hooks;
    std::shared_ptr<HostLookups> lookups;
    std::shared_ptr<ResourceObserver> observer;
  };

  /// `on_status` is called when status() may have changed. An instance whose sockets cannot be
  /// created is not registered, see StateOf.
  static std::unique_ptr<DraService> Create(const Dependencies& deps, Options options,
                                            std::function<void()> on_status);
  ~DraService();
  DraService(const DraService&) = delete;
  DraService& operator=(const DraService&) = delete;

  /// Sets the names of all resources that are served from now on, also of those that have not been
  /// scanned yet. The slices of other resources are deleted.
  void SetNames(std::set<std::string> resources);

  /// Adds a resource whose name is set; its snapshots follow.
  void Add(const std::string& name, Parts parts);
  void Publish(const std::string& name, std::shared_ptr<const Snapshot> snapshot);
  /// Claims of the resource cannot be prepared any more, and no function of it is called.
  void Remove(const std::string& name);
  /// Calls `done` when no call of the kubelet uses devices of a resource that was removed, whose
  /// hooks run until then. Dropping the subscription cancels.
  Subscription AwaitUnused(const std::string& name, std::function<void()> done);

  /// The state of a resource for the status page and readiness.
  struct State {
    bool ready = false;          ///< pods can get the devices
    std::string waits_for = {};  ///< why not, for the administrator
    bool operator==(const State&) const = default;
  };
  State StateOf(const std::string& name) const;

  /// Returns the holders of the devices of a resource by their IDs, from those of its driver.
  DeviceHolders HoldersOf(const std::string& name, const DriverHolders& holders) const;

  /// Returns the current status. Its cost grows with the number of resources and claims.
  DraStatus status() const;

  /// Reads the records of claims again, also if their directory cannot be watched.
  void RefreshClaims();

  /// The socket of the kubelet is gone: it registers the driver again when it is back.
  void OnKubeletLost();

  /// Stops the servers and removes the sockets, then calls `done` once. Slices and claims stay: a
  /// restart must not disturb pods.
  void End(std::function<void()> done);

 private:
  struct Served {
    Parts parts;
    std::shared_ptr<const NamedDevices> devices;  ///< null before the first snapshot
    /// The same, but devices that moved while a claim has them are unhealthy.
    std::shared_ptr<const NamedDevices> shown;
    DeviceIds held;             ///< by claims
    DraPoolStatus wanted = {};  ///< the part that ComputePool knows
    State reported = {};        ///< to the resource
  };

  DraService(const Dependencies& deps, Options options, std::string directory,
             std::function<void()> on_status);
  Subscription RequestClaim(const ClaimKey& claim, std::function<void(Result<std::string>)> done);
  ServedResources Resources() const;
  std::optional<WantedPool> PoolOf(const std::string& pool) const;
  void ComputePoolOf(const std::string& name, Served& served);
  void ComputeAllPools();
  void OnRegistration(const Status& status);
  void SetRegistered(const Status& status);
  void OnHealthStreams(int open);
  void OnClaimEnd(const ClaimPreparer::ClaimEnd& end);
  struct ReadResult;
  void OnRead(const ReadResult& read);
  void OnClaims(const ReadResult& read);
  void OnRunEnded(ClaimPreparer::Action action);
  void RefreshMoved(const std::string& name, const NamedDevices* before, const NamedDevices& now);
  void RefreshPrepared();
  void Show(const std::string& name, Served& served);
  std::map<std::string, DeviceIds> HeldDevices() const;
  static void ReportHeld(const Served& served);
  void PublishHealthSoon();
  void WatchClaims();
  void ReadClaims();
  void OnClaimsUnreadable(const std::string& reason);
  void Start();
  void StartIfScanned();
  void OnState();
  void ReportStates();

  const Dependencies deps_;
  const Options options_;
  const std::function<void()> on_status_;
  ThreadPool file_pool_;  ///< for credentials, names of hosts and files of claims
  /// For the driver's sockets: directories that hang must not end the device plugins.
  ThreadPool endpoint_pool_;
  ApiClient client_;
  SlicePublisher publisher_;
  std::set<std::string> names_;  ///< of all resources, see SetNames
  std::map<std::string, Served> resources_;
  std::shared_ptr<const ClaimRecords> records_;  ///< null until read: pools depend on them
  std::set<std::string> damaged_;                ///< records, as logged
  std::map<std::string, std::string> moved_;     ///< ClaimPreparer::moved, as shown
  Subscription read_limit_;                      ///< while records are read
  std::uint64_t reads_ = 0;
  bool must_read_again_ = false;
  std::string read_error_;  ///< as logged
  Subscription read_retry_;
  std::unique_ptr<PathWatch> claims_watch_;  ///< null if not possible
  bool is_unwatched_ = false;                ///< the directory of claims, as logged
  bool is_health_due_ = false;               ///< the list will be published
  bool is_started_ = false;                  ///< the kubelet can find the driver
  Subscription start_limit_;
  bool is_registered_ = false;
  std::string hang_error_;  ///< while the directories of the sockets do not respond
  std::string registration_error_;
  bool is_stream_lost_ = false;  ///< the reason why is_registered_ is false
  Subscription stream_limit_;
  Subscription state_timer_;
  std::shared_ptr<ClaimPreparer> preparer_;
  std::unique_ptr<DriverEndpoint> endpoint_;
  Lifetime lifetime_;
};

}  // namespace patchbay
