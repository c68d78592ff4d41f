#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/dra_service.h"
#include "daemon/publish_throttle.h"
#include "daemon/release_hooks.h"
#include "daemon/scan_scheduler.h"
#include "health/prober.h"
#include "inventory/inventory.h"
#include "kubelet/resource_plugin.h"
#include "model/match_summary.h"
#include "network/net_directory.h"
#include "os/dir_watch.h"
#include "os/host_root.h"

namespace patchbay {

/// Connects the parts of one resource, from the host to the kubelet: requests scans, merges them
/// into the inventory, logs the changes and publishes snapshots. ScanScheduler and PublishThrottle
/// decide when.
///
/// Belongs to the loop thread; scans run and watches are added in the pools.
class ResourceController final : private DraService::Resource {
 public:
  /// They outlive the controller.
  struct Dependencies {
    ThreadPool& scanner;
    ThreadPool& commands;  ///< for scans that run commands, and for waiting until programs end
    HostRoot host;
    const DirWatch* watch;  ///< of all resources; may be null
    ProbePool& probes;
    ResourcePlugin::Dependencies plugin;
    std::weak_ptr<PodResources> pod_resources = {};  ///< expired if disabled
    DraService* dra = nullptr;  ///< of resources with `api = "dra"`; may be null without them
    std::shared_ptr<ScanBudget> scan_budget;  ///< of all resources
    NetDirectory networks;
  };
  struct Events {
    /// A scan of the host ended: the directories whose watches it added, and true if directories()
    /// changed.
    std::function<void(const DirWatch::Added& added, bool directories_changed)> on_scanned;
    std::function<void()> on_published;     ///< snapshot() has changed
    std::function<void()> check_directory;  ///< see ResourcePlugin::Events
    std::function<void()> on_registered;
    std::function<void(bool)> on_kubelet_answers;
  };

  /// The configuration of the resource.
  struct Entry {
    std::shared_ptr<const ResourceSpec> spec;
    ResourceSpecs exclusive_above = {};  ///< see ExclusiveResourcesAbove
  };

  /// `cancellation` stops the programs of this resource only; the controller triggers it at its
  /// end.
  ResourceController(const Dependencies& deps, Entry entry,
                     std::shared_ptr<const Cancellation> cancellation,
                     std::shared_ptr<ResourceObserver> observer, Events events);
  ~ResourceController() override;
  ResourceController(const ResourceController&) = delete;
  ResourceController& operator=(const ResourceController&) = delete;

  /// Replaces the entry by another one of the same name. Scans the host for it first; when that
  /// scan has ended, devices, templates, probes and hooks change together. Until then, also while
  /// the scan hangs, the previous entry is in force. Unchanged parts stay: probes and their
  /// results, running hooks, the socket and the kubelet's stream.
  void Apply(Entry entry);

  /// Requests a scan of the host; see ScanScheduler for when it starts.
  void Scan();
  /// Requests a scan that runs commands again.
  void Refresh();
  /// Entries of the directory changed: requests a scan if the resource depends on it.
  void OnChanged(const std::string& directory) {
    if (!ended_ && MayDependOn(directory)) Scan();
  }
  /// The directories whose changes require a scan; paths of this process.
  const std::set<std::string>& directories() const { return directories_; }
  /// Returns true if kernel events require a scan, too.
  bool DependsOnSysfs() const;
  /// Returns true if a change there may matter. During a scan that is unknown, so any may.
  bool MayDependOn(const std::string& directory) const {
    return scans_.scanning() || directories_.contains(directory);
  }

  /// The kubelet's socket appeared, see KubeletDir. A device plugin registers after its first scan,
  /// so that the first device list is complete.
  void OnKubelet(std::uint64_t epoch);
  /// The kubelet's socket disappeared. The resource waits for the next one.
  void OnKubeletLost();
  /// The check that began at `check_start` found these sockets: a missing one of this resource is
  /// replaced.
  void CheckSocket(const PluginSockets& sockets, Loop::Time check_start) {
    if (plugin_) plugin_->CheckSocket(sockets, check_start);
  }

  /// The kubelet reported the holders of the units, by the advertised IDs.
  void OnHolders(const HoldersReport& report);

  /// Stops serving, probes and hooks, then calls `done`, once. The result of a running scan is
  /// ignored.
  void End(std::function<void()> done);
  /// The same for a resource that was removed: the kubelet gets an empty list first, see
  /// ResourcePlugin. Running hooks get time to end.
  void Drain(std::function<void()> done);

  const std::string& name() const { return entry_.spec->name; }
  bool is_dra() const { return entry_.spec->api == Api::kDra; }
  const std::shared_ptr<ResourceObserver>& observer() const { return observer_; }
  /// The number of devices in use by pods or claims, as last reported.
  std::size_t held() const {
    return std::max(claimed_, usage_ ? usage_->holders.size() : std::size_t{0});
  }
  /// Returns whether pods can get the devices.
  bool registered() const { return plugin_ ? plugin_->registered() : is_ready_; }
  /// Returns why not, to follow the name of the resource.
  std::string WhyNotRegistered() const;
  /// Null before the first scan.
  const std::shared_ptr<const Snapshot>& snapshot() const { return inventory_.snapshot(); }

 private:
  struct Outcome {
    std::uint64_t scan;
    std::shared_ptr<const ResourceSpec> spec;  ///< the entry it was for
    Discovery discovery;
    std::set<std::string> directories;  ///< of it, as paths of this process
    DirWatch::Added added;
    std::chrono::nanoseconds took{};
    MatchSummaries explanation = {};  ///< if it was requested
    Status groups = {};               ///< of ProvideGroups
  };
  void OnStaleList() override { Scan(); }
  void OnHeld(const std::set<std::string>& devices) override;
  void OnReady(bool ready) override;
  bool HasReleaseHook() const override { return entry_.spec->release.has_value(); }
  void StartServer();
  const Entry& Wanted() const { return next_ ? *next_ : entry_; }
  void ApplyNext();
  void SetParts();
  void EndParts();
  std::function<void()> AfterPrograms(std::function<void()> done);
  void CheckPrograms();
  void OnProgramsEnded();
  void SetUsage(PodUsage usage);
  void NoteHeld(const std::set<std::string>& devices);
  void NoteMoved(const DeviceList& devices);
  std::set<std::string> HeldLong() const;
  void SetProber();
  void SetReleaseHooks();
  void StartScan();
  void AbandonScan();
  void OnScanHangs();
  void OnScanned(Outcome outcome);
  void OnHealthChanged(ProbeScheduler::Change change);
  void AwaitExpiry();
  /// Passes the devices to the prober, if they changed, and the new snapshot to all other users.
  void Publish(bool devices_changed);
  void LogDroppedEarly(std::size_t devices);
  void LogGroups(const Status& groups);

  const Dependencies deps_;
  Entry entry_;                ///< in force
  std::optional<Entry> next_;  ///< applied when its scan has ended
  const std::shared_ptr<const Cancellation> cancellation_;
  const std::shared_ptr<ResourceObserver> observer_;
  const Events events_;
  Inventory inventory_;
  std::optional<Prober> prober_;  ///< if the resource has a probe
  const std::shared_ptr<HookRunner> hooks_;
  std::optional<ReleaseHooks> release_hooks_;  ///< if it has a release hook
  std::optional<ResourcePlugin> plugin_;       ///< unless the DraService serves the resource
  bool is_ready_ = false;                      ///< if it does
  Subscription unused_;                        ///< the same: ends a drain
  std::set<std::string> directories_;
  std::shared_ptr<const Snapshot> published_;
  std::optional<DeviceHolders> units_;     ///< as last reported by the kubelet
  std::size_t claimed_ = 0;                ///< devices that claims hold
  std::shared_ptr<const PodUsage> usage_;  ///< null before the first report
  /// Since when pods have devices whose interfaces have not moved yet; nothing for those that have.
  std::map<std::string, std::optional<Loop::Time>> held_since_;
  Subscription moved_check_;
  std::optional<std::uint64_t> kubelet_;
  ScanScheduler scans_;
  std::shared_ptr<const ResourceSpec> scanned_for_;  ///< by the running scan
  bool runs_command_ = false;                        ///< the running scan does
  bool scan_hangs_ = false;
  Subscription scan_limit_;
  bool ended_ = false;
  std::string groups_error_;    ///< of ProvideGroups, as logged; empty after a success
  bool forgets_early_ = false;  ///< see Inventory::MergeScan; as logged
  bool refresh_ = false;        ///< run commands in the next scan; the first does so anyway
  std::shared_ptr<const OwnedNodes> owned_;  ///< by other resources, in the last scan
  std::shared_ptr<ScanCache> scan_cache_ = std::make_shared<ScanCache>();
  Subscription pause_;     ///< between two scans
  Subscription expiry_;    ///< of the next missing device
  Subscription programs_;  ///< limits the wait for their end
  bool hooks_ended_ = false;
  std::function<void()> on_programs_ended_;
  PublishThrottle throttle_;
  Subscription pending_health_;  ///< publishes the pending health changes
  Lifetime lifetime_;
};

}  // namespace patchbay
