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
#include "daemon/progress.h"
#include "daemon/reload_plan.h"
#include "daemon/resource_controller.h"
#include "daemon/shared_device_monitor.h"
#include "discovery/kernel_events.h"
#include "http/loop_heartbeat.h"
#include "http/metrics.h"
#include "http/routes.h"
#include "http/server.h"
#include "kubelet/kubelet_dir.h"
#include "kubelet/plugin_sockets.h"
#include "kubelet/pod_resources.h"
#include "os/dir_watch.h"

namespace patchbay {

/// The whole program but for its command line: every resource of the model that is for this node,
/// served to the kubelet, and the HTTP port. The members, in their order, are the wiring.
///
/// Belongs to the loop thread, on which it must be made and destroyed.
class Daemon {
 public:
  using Resources = std::vector<std::unique_ptr<ResourceController>>;

  struct Options {
    Model model;
    std::string node_name;  ///< of the Kubernetes node
    std::string run;        ///< of this process, see NewRun
    std::string version;
    std::string revision;
    /// Nothing can be mended from inside; end the process with a failure. On the loop.
    std::function<void(std::string reason)> on_fatal;
    PodResourcesPace pod_resources_pace = {};
    /// How long the loop may stand still before /healthz says so.
    Loop::Duration longest_standstill = std::chrono::seconds(10);
    /// How long what the kubelet needs may take before /healthz fails.
    ProgressLimits progress_limits = {};
    std::string config = {};                   ///< where the model was read from
    std::vector<Diagnostic> diagnostics = {};  ///< what there was to say about it
    /// Makes what ends the programs of a resource, without which it cannot start; fails where no
    /// descriptors are left.
    std::function<Result<Cancellation>()> make_cancellation = Cancellation::Create;
    std::uint64_t watchdog_kills = 0;  ///< of the processes before this one
  };

  /// Binds the HTTP port and starts everything. Fails when the port cannot be had.
  static Result<std::unique_ptr<Daemon>> Create(Loop& loop, Log& log, Options options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Looks at the host again, all of it, and runs the commands of resources.
  void Refresh();

  /// Puts another configuration in force: touches the resources that differ, see PlanReload, and
  /// nothing else. One with errors changes nothing. What of [daemon] cannot change in a running
  /// process stays. A resource whose name one that is going still has comes when that is gone.
  /// Returns whether it is in force now.
  bool Reload(Loaded loaded);

  /// Ends streams, removes sockets, then calls `done`. Destroy it after that.
  void Stop(std::function<void()> done);

  /// Where HTTP is served: "127.0.0.1:9478".
  std::string http_address() const { return http_->address(); }
  const Resources& resources() const { return resources_; }

 private:
  /// A resource that is no more, but not gone yet.
  struct Draining {
    std::unique_ptr<ResourceController> resource;
    Subscription settled = {};
  };

  Daemon(Loop& loop, Log& log, Options options);
  Status ServeHttp();
  Status StartResources();
  Status ApplyPlan(const ResourceSpecs& specs, const ReloadPlan& plan);
  std::unique_ptr<ResourceController> MakeResource(ResourceController::Entry entry,
                                                   Cancellation cancellation);
  void Drain(std::unique_ptr<ResourceController> resource);
  Status Reconcile(const ResourceSpecs& wanted);
  void ReconcileWaiting();
  void ReconcileWaitingSoon();
  bool RefuseReload(const std::string& reason, std::vector<Diagnostic> diagnostics = {});
  void ApplyLive(const DaemonSpec& spec);
  void StartKubeletDir();
  void StartPodResources();
  void OnHolders(const ReportedHolders& reported);
  void TellHolders(ResourceController& resource) const;
  SharedDeviceMonitor::Participants ParticipantsInSharing() const;
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
  Verdict Readiness() const;
  Verdict Liveness();

  Loop& loop_;
  Log& log_;
  const Options options_;
  std::vector<Diagnostic> told_ = options_.diagnostics;  ///< of the configuration, the last time
  std::string told_keys_;  ///< of [daemon]: those that were said to need a restart
  DaemonSpec spec_;        ///< in force
  ResourceSpecs wanted_;   ///< in force; those of this node
  ResourceSpecs specs_;    ///< the same, without those whose name is not free yet
  const HostRoot host_;
  // The pools outlive all that has jobs in them or asks how they are.
  ThreadPool scanner_;
  ThreadPool commands_;
  ThreadPool servers_;
  ThreadPool directory_pool_;  ///< for checks of the kubelet's directory
  ThreadPool shutdown_worker_;
  const std::shared_ptr<PendingCalls> pending_calls_ = std::make_shared<PendingCalls>();
  const std::shared_ptr<SharedConnection> kubelet_connection_ =
      std::make_shared<SharedConnection>();
  Metrics metrics_;
  LoopHeartbeat heartbeat_;
  mutable std::mutex readiness_mutex_;
  Verdict readiness_{false, "starting\n"};  ///< read on the HTTP thread
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<DirWatch> device_dirs_;
  std::unique_ptr<KernelEvents> kernel_events_;
  Subscription settle_;  ///< after the last event of the kernel
  Subscription trim_;
  Subscription retain_;
  ProbePool probes_;
  Resources resources_;
  std::list<Draining> draining_;
  std::vector<std::shared_ptr<ResourceObserver>> gone_;  ///< of resources that have ended
  Subscription reconcile_;    ///< pending, after the name of a resource became free
  Subscription start_retry_;  ///< of those that could not start
  std::unique_ptr<KubeletDir> kubelet_dir_;
  std::unique_ptr<PodResources> pod_resources_;  ///< null where the kubelet is not to be asked
  std::uint64_t servers_made_ = 0;
  SharedDeviceMonitor shared_devices_;
  std::optional<std::uint64_t> kubelet_;    ///< its epoch; nothing while it is away
  std::optional<ReportedHolders> holders_;  ///< as it said last
  bool stopping_ = false;
  Subscription rescan_;
  std::map<std::string, Error> unwatched_;  ///< directories, and why
  std::size_t ending_ = 0;
  Lifetime lifetime_;
};

}  // namespace patchbay
