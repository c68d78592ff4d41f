#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "daemon/dra_service.h"
#include "daemon/host_devices.h"
#include "daemon/progress.h"
#include "daemon/reload_plan.h"
#include "daemon/resource_controller.h"
#include "daemon/shared_device_monitor.h"
#include "discovery/kernel_events.h"
#include "http/loop_heartbeat.h"
#include "http/routes.h"
#include "http/server.h"
#include "kubelet/kubelet_dir.h"
#include "kubelet/pod_resources.h"
#include "os/dir_watch.h"
#include "status/status_store.h"

namespace patchbay {

/// The whole program except its command line: serves the resources of this node to the kubelet, and
/// the HTTP port. Members are declared in the order of their dependencies.
///
/// Belongs to the loop thread; create and destroy it there.
class Daemon {
 public:
  using Resources = std::vector<std::unique_ptr<ResourceController>>;

  struct Options {
    Model model;
    std::string node_name;  ///< of the Kubernetes node
    std::string run;        ///< of this process, see NewRun
    std::string version;
    std::string revision;
    /// An error that only a restart can fix: exit with a failure. Called on the loop.
    std::function<void(std::string reason)> on_fatal;
    PodResourcesPace pod_resources_pace = {};
    /// /healthz fails if the loop stalls for longer.
    Loop::Duration max_loop_stall = std::chrono::seconds(10);
    /// /healthz fails if work that the kubelet waits for takes longer.
    ProgressLimits progress_limits = {};
    std::string config = {};                   ///< the path of the configuration
    std::vector<Diagnostic> diagnostics = {};  ///< of the configuration
    /// Creates the object that stops the programs of a resource. Fails if no file descriptors are
    /// left; the resource cannot start then.
    std::function<Result<Cancellation>()> make_cancellation = Cancellation::Create;
    std::vector<std::string> node_addresses = {};  ///< IP addresses; not all need be known
    std::string pod_uid = {};  ///< of the pod of this process; empty without one
    /// The API server for Dynamic Resource Allocation if [daemon.kubernetes] is absent, and in a
    /// pod.
    Result<ClusterConfig> cluster = ClusterConfigInPod("", "");
    /// In a pod, [daemon.kubernetes] may name another one, which then gets the pod's token.
    bool allows_other_server = false;
  };

  /// Binds the HTTP port and starts everything. Fails if the port is in use.
  static Result<std::unique_ptr<Daemon>> Create(AsioLoop& loop, Log& log, Options options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Scans the host again for every resource and runs their commands, and reads what claims hold.
  void Refresh();

  /// Applies another configuration: changes the resources that differ, see PlanReload, and nothing
  /// else. A configuration with errors changes nothing. Keys of [daemon] that need a restart keep
  /// their values. A resource with the name of one that is being drained starts when that has
  /// ended. Returns true if the configuration was applied.
  bool Reload(Loaded loaded);

  /// Ends streams, removes sockets, then calls `done`. Destroy the daemon after that.
  void Stop(std::function<void()> done);

  /// The address of the HTTP port: "127.0.0.1:9478".
  std::string http_address() const { return http_->address(); }
  const Resources& resources() const { return resources_; }

 private:
  /// A resource that was removed and is being drained.
  struct Draining {
    std::unique_ptr<ResourceController> resource;
    Subscription settled = {};
  };

  Daemon(AsioLoop& loop, Log& log, Options options);
  Status ServeHttp();
  Status StartResources();
  void Apply(const ResourceSpecs& wanted, const ReloadPlan& plan);
  Status StartFree();
  ResourceSpecs Waiting() const;
  bool IsDraining(const std::string& name) const;
  std::unique_ptr<ResourceController> MakeResource(ResourceController::Entry entry,
                                                   Cancellation cancellation);
  void Drain(std::unique_ptr<ResourceController> resource);
  void StartDra();
  void ServePreparedClaims();
  void OnClaimsUnreadable(const std::string& reason);
  void OnDraStatus();
  void StartWaiting();
  void StartWaitingSoon();
  bool RefuseReload(const std::string& reason, std::vector<Diagnostic> diagnostics = {});
  void ApplyLive(const DaemonSpec& spec);
  void StartKubeletDir();
  void StartPodResources();
  void OnHolders(const ReportedHolders& reported);
  void ReportHolders(ResourceController& resource) const;
  SharedDeviceMonitor::Participants ParticipantsInSharing() const;
  ServedNodes Served() const;
  void TrimSoon();
  void ScheduleRescan();
  void OnScanned(const DirWatch::Added& added, bool directories_changed);
  void RetainWatchesSoon();
  void RetainWatches();
  bool WatchKernel();
  void OnKernelEvent();
  void ScanSysfs();
  void OnDirectoryChanged(const std::string& directory);
  void UpdateReadiness();
  CheckResult Readiness() const;
  CheckResult Liveness();

  AsioLoop& loop_;
  Log& log_;
  const Options options_;
  std::vector<Diagnostic> logged_ = options_.diagnostics;  ///< of the configuration, as logged last
  std::string logged_keys_;  ///< of [daemon]: those reported to need a restart
  DaemonSpec spec_;          ///< in force
  ResourceSpecs wanted_;     ///< in force; the resources of this node, also those that wait
  const HostRoot host_;
  const std::shared_ptr<ScanBudget> scan_budget_ = std::make_shared<ScanBudget>();
  // The pools outlive everything that has jobs in them or reads their state.
  ThreadPool scanner_;
  ThreadPool commands_;
  ThreadPool servers_;
  ThreadPool directory_pool_;       ///< for checks of the kubelet's directory
  std::shared_ptr<RpcServer> rpc_;  ///< serves all sockets for the kubelet
  const std::shared_ptr<PendingCalls> pending_calls_ = std::make_shared<PendingCalls>();
  std::string kubelet_identity_;  ///< of the kubelet's socket
  const std::shared_ptr<StatusStore> status_;
  HostDevices host_devices_;
  LoopHeartbeat heartbeat_;
  mutable std::mutex readiness_mutex_;
  CheckResult readiness_{false, "starting\n"};  ///< read on the HTTP thread
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<DirWatch> device_dirs_;
  std::unique_ptr<KernelEvents> kernel_events_;
  Subscription settle_;  ///< after the last kernel event
  Subscription trim_;
  Subscription retain_;
  ProbePool probes_;
  std::unique_ptr<DraService> dra_;  ///< from the first resource that needs it on
  Resources resources_;
  std::list<Draining> draining_;
  std::vector<std::shared_ptr<ResourceObserver>>
      ended_observers_;        ///< of resources that have ended
  Subscription claims_retry_;  ///< pending, after the CDI files of claims could not be read
  std::string claims_error_;   ///< why not, as logged
  Subscription start_;         ///< pending, of resources that wait
  std::string start_error_;    ///< why they wait, as logged
  std::unique_ptr<KubeletDir> kubelet_dir_;
  std::shared_ptr<PodResources> pod_resources_;  ///< null if disabled
  std::uint64_t servers_made_ = 0;
  SharedDeviceMonitor shared_devices_;
  std::optional<std::uint64_t> kubelet_;    ///< its epoch; nothing while it is down
  std::optional<ReportedHolders> holders_;  ///< the last report
  bool stopping_ = false;
  Subscription rescan_;
  std::map<std::string, Error> unwatched_;  ///< directories, and why
  std::size_t ending_ = 0;
  Lifetime lifetime_;
};

}  // namespace patchbay
