#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/release_hooks.h"
#include "health/prober.h"
#include "inventory/inventory.h"
#include "kubelet/resource_plugin.h"
#include "os/dir_watch.h"
#include "os/host_root.h"

namespace patchbay {

/// One resource, from the host to the kubelet: has the host looked at, keeps the inventory, logs
/// what changed, and publishes it.
///
/// Belongs to the loop thread; the host is scanned, and directories are watched, in the pools.
class ResourceController {
 public:
  /// What it works with; all of it outlives the controller.
  struct Dependencies {
    ThreadPool& scanner;
    ThreadPool& commands;         ///< for scans that run commands, which may take long
    ThreadPool& shutdown_worker;  ///< for waiting until programs have ended
    HostRoot host;
    const DirWatch* watch;  ///< of all resources; may be null
    ProbePool& probes;
    ResourcePlugin::Dependencies plugin;
  };
  struct Events {
    /// A scan of the host is over: the directories whose watches it added, and whether what
    /// directories() says has changed.
    std::function<void(const DirWatch::Added& added, bool directories_changed)> on_scanned;
    std::function<void()> on_published;     ///< snapshot() has changed
    std::function<void()> check_directory;  ///< see ResourcePlugin::Events
    std::function<void()> on_registered;
    std::function<void(bool)> on_kubelet_answers;
    std::function<void()> on_granted = [] {};  ///< see PluginBackend::on_granted
    /// Has the kubelet asked who holds what, see PodResources::PollNow.
    std::function<void(std::function<void(bool answered)>)> ask_holders = [](const auto& asked) {
      asked(false);
    };
  };

  /// What the configuration says of the resource.
  struct Entry {
    std::shared_ptr<const ResourceSpec> spec;
    ResourceSpecs owners = {};  ///< see ExclusiveResourcesAbove
  };

  /// `cancellation` is of what it runs, and of nothing else; it triggers it at its end.
  ResourceController(const Dependencies& deps, Entry entry,
                     std::shared_ptr<const Cancellation> cancellation,
                     std::shared_ptr<ResourceObserver> observer, Events events);
  ResourceController(const ResourceController&) = delete;
  ResourceController& operator=(const ResourceController&) = delete;

  /// Has the host scanned for another entry of the same name. When that scan is over, the entry is
  /// in force, all of it at once: devices, templates, probes and hooks; until then, and so while
  /// the scan hangs, everything goes by the entry before. What did not change stays: probes and
  /// what they found, hooks that run, the socket and the kubelet's stream.
  void Apply(Entry entry);

  /// Looks at the host soon. Calls made while it looks come to one more look after that; while they
  /// keep coming, the looks become rarer, down to one in kMaxPause.
  void Scan();
  /// The same, and runs commands again.
  void Refresh();
  /// Names came or went there: looks soon, if that may matter, and where nothing else was heard of
  /// goes by what the last look saw.
  void OnChanged(const std::string& directory);
  /// Whose changes are a reason to look; paths of this process.
  const std::set<std::string>& directories() const { return directories_; }
  /// Whether that holds of the kernel's events, too.
  bool DependsOnSysfs() const;
  /// Whether a change there may matter. While the host is being looked at nobody knows: all may.
  bool MayDependOn(const std::string& directory) const {
    return scanning_ || directories_.contains(directory);
  }

  /// The kubelet's socket, as KubeletDir tells it. The resource is registered once the host was
  /// looked at, so that the first list is a true one.
  void OnKubelet(std::uint64_t epoch);
  void OnKubeletLost();
  void CheckSocket(const PluginSockets& sockets, Loop::Time asked) {
    plugin_.CheckSocket(sockets, asked);
  }

  /// Who holds the units of the resource, by the ID that the kubelet sees, as it said just now.
  void OnHolders(const HoldersReport& report);

  /// Ends serving and all that it runs, then calls `done`, once. What is still being looked at does
  /// not count any more.
  void End(std::function<void()> done);
  /// The same for a resource that is no more, of which the kubelet is told, see ResourcePlugin.
  /// Programs that hooks run may end before they are stopped.
  void Drain(std::function<void()> done);

  const std::string& name() const { return entry_.spec->name; }
  const std::shared_ptr<ResourceObserver>& observer() const { return observer_; }
  /// How many devices pods hold, as far as the kubelet has said.
  std::size_t held() const { return usage_ ? usage_->holders.size() : 0; }
  bool registered() const { return plugin_.registered(); }
  /// Null before the first look.
  const std::shared_ptr<const Snapshot>& snapshot() const { return inventory_.snapshot(); }

 private:
  /// No list is sent more often either.
  static constexpr std::chrono::seconds kMaxPause{1};
  /// Changes that are further apart are no storm.
  static constexpr std::chrono::milliseconds kCalm{250};

  struct Outcome {
    std::uint64_t scan;
    std::shared_ptr<const ResourceSpec> spec;  ///< that was looked for
    Discovery discovery;
    std::set<std::string> directories;  ///< of it, as paths of this process
    DirWatch::Added added;
    std::chrono::nanoseconds took{};
  };
  const Entry& Wanted() const { return next_ ? *next_ : entry_; }
  void PutInForce();
  void SetParts();
  void EndParts();
  std::function<void()> AfterPrograms(std::function<void()> done);
  void CheckPrograms();
  void OnProgramsEnded();
  void SetUsage(Usage usage);
  void SetProber();
  void SetReleaser();
  void ScanSoon();
  void StartScan();
  void AbandonScan();
  void OnScanHangs();
  std::set<std::string> WatchedDirectories() const;
  void OnScanned(Outcome outcome);
  void OnVerdicts(ProbeScheduler::Change change);
  void AwaitExpiry();
  void BeforeStart(const std::set<std::string>& devices, std::function<void()> then);
  /// To the prober, which devices there are; to all others, how they are.
  void Publish(bool devices_changed);
  void LogForgotten(std::size_t devices);
  void LogChanges(const Snapshot* before, const Snapshot& after);

  const Dependencies deps_;
  Entry entry_;                ///< in force
  std::optional<Entry> next_;  ///< to be in force when it has been scanned for
  const std::shared_ptr<const Cancellation> cancellation_;
  const std::shared_ptr<ResourceObserver> observer_;
  const Events events_;
  Inventory inventory_;
  std::optional<Prober> prober_;  ///< where the resource has a probe
  const std::shared_ptr<HookRunner> hooks_;
  std::optional<ReleaseHooks> release_hooks_;  ///< where it has a release hook
  ResourcePlugin plugin_;
  std::set<std::string> directories_;
  /// Those that were watched when the last scan began and of which nothing was heard since.
  std::set<std::string> unchanged_dirs_;
  std::shared_ptr<const Snapshot> published_;
  std::optional<DeviceHolders> units_;  ///< that the kubelet named last
  std::shared_ptr<const Usage> usage_;  ///< null before the kubelet said for the first time
  std::optional<std::uint64_t> kubelet_;
  std::uint64_t scan_ = 0;             ///< the last one that began
  std::set<std::uint64_t> abandoned_;  ///< scans that hang and whose results are no longer wanted
  bool scanning_ = false;
  std::shared_ptr<const ResourceSpec> scanned_for_;  ///< by that scan
  bool runs_command_ = false;                        ///< that scan
  bool scan_hangs_ = false;
  Subscription scan_limit_;
  bool scan_again_ = false;
  bool ended_ = false;
  bool forgets_early_ = false;  ///< see Inventory::Advance; that is logged
  bool refresh_ = false;        ///< with the next scan; the first runs commands in any case
  std::shared_ptr<const OwnedNodes> owned_;  ///< of other resources, in the last scan
  std::shared_ptr<ScanCache> scan_cache_ = std::make_shared<ScanCache>();
  Loop::Duration pause_length_{};
  Loop::Time pause_end_{};
  Subscription pause_;     ///< between two scans
  Subscription expiry_;    ///< of the next vanished device
  Subscription programs_;  ///< the end of their time to end
  bool hooks_ended_ = false;
  std::function<void()> on_programs_ended_;
  Subscription verdicts_;  ///< that are to be published
  Loop::Time verdicts_due_{};
  Loop::Time next_wave_{};  ///< not before this are verdicts published again
  Lifetime lifetime_;
};

}  // namespace patchbay
