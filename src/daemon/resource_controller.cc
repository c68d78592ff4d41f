// Wires one resource: scans, probes, the inventory, and the plugin that publishes its snapshots. It
// decides little itself: ScanScheduler decides when to scan, Inventory which devices exist,
// PublishThrottle when to publish, and ResourcePlugin when to register.

#include "daemon/resource_controller.h"

#include <algorithm>

#include "daemon/device_log.h"
#include "discovery/match_summary.h"
#include "inventory/pod_usage.h"

namespace patchbay {
namespace {

/// The maximum time to wait for the programs of a resource that is removed; see RunSubprocess.
constexpr std::chrono::seconds kProgramPatience{3};

}  // namespace

ResourceController::ResourceController(const Dependencies& deps, Entry entry,
                                       std::shared_ptr<const Cancellation> cancellation,
                                       std::shared_ptr<ResourceObserver> observer, Events events)
    : deps_(deps),
      entry_(std::move(entry)),
      cancellation_(std::move(cancellation)),
      observer_(std::move(observer)),
      events_(std::move(events)),
      inventory_(entry_.spec, deps_.plugin.allocation.node_name),
      hooks_(std::make_shared<HookRunner>(
          [observer = observer_](Hook hook, bool success, std::chrono::nanoseconds duration) {
            observer->OnHook(hook, success, duration);
          },
          deps_.plugin.log, cancellation_)),
      plugin_(deps_.plugin, entry_.spec->name, observer_, hooks_,
              std::make_shared<const DeviceUsage>(
                  deps_.plugin.loop, deps_.pod_resources,
                  lifetime_.Guard([this](const std::set<std::string>& devices) {
                    if (release_hooks_) release_hooks_->OnUnverifiedStart(devices);
                  })),
              {.on_stale = [this] { Scan(); },
               .check_directory = events_.check_directory,
               .on_registered = [this](bool) { events_.on_registered(); },
               .on_kubelet_answers = events_.on_kubelet_answers}) {
  SetParts();
}

/// The optional parts of an entry.
void ResourceController::SetParts() {
  SetReleaseHooks();
  SetProber();
}

void ResourceController::SetReleaseHooks() {
  if (!entry_.spec->release) {
    release_hooks_.reset();
  } else if (release_hooks_) {
    release_hooks_->SetSpec(entry_.spec);
  } else {
    release_hooks_.emplace(entry_.spec, deps_.plugin.allocation.node_name, observer_,
                           deps_.plugin.log, hooks_);
  }
}

void ResourceController::SetProber() {
  if (!entry_.spec->health) {
    prober_.reset();
  } else if (prober_) {
    prober_->SetSpec(entry_.spec);
  } else {
    prober_.emplace(
        deps_.plugin.loop, deps_.probes, entry_.spec,
        ProbeContext{entry_.spec->name, deps_.plugin.allocation.node_name, deps_.host,
                     cancellation_},
        Prober::Events{
            .on_probe = [this](const auto& id,
                               const auto& outcome) { observer_->OnProbe(id, outcome); },
            .on_change = [this](ProbeScheduler::Change change) { OnHealthChanged(change); },
            .on_scheduled =
                [this](const std::string& id, std::optional<Loop::Time> due) {
                  std::optional<std::chrono::nanoseconds> in;
                  if (due) in = *due - deps_.plugin.loop.Now();
                  observer_->OnNextProbe(id, in);
                }});
  }
}

void ResourceController::Apply(Entry entry) {
  if (entry.spec->matches != Wanted().spec->matches) {
    scan_cache_ = std::make_shared<ScanCache>();
    refresh_ = true;
  }
  next_ = std::move(entry);
  pause_ = Subscription();
  scans_.EndPause();
  // The hanging scan may be for matches that were removed.
  if (scan_hangs_) AbandonScan();
  Scan();
}

/// Its thread continues, with data of its own.
void ResourceController::AbandonScan() {
  scans_.Abandon();
  scan_cache_ = std::make_shared<ScanCache>();
  refresh_ = true;
}

/// Applies the entry that was scanned for, before the result of the scan is merged.
void ResourceController::ApplyNext() {
  if (!next_) return;
  const Entry before = std::exchange(entry_, *std::exchange(next_, std::nullopt));
  SetParts();
  if (units_) SetUsage(PodUsageOf(*entry_.spec, *units_, published_.get()));
  inventory_.SetSpec(entry_.spec,
                     entry_.spec->matches != before.spec->matches ||
                         !SameExclusive(entry_.exclusive_above, before.exclusive_above));
}

void ResourceController::OnKubelet(std::uint64_t epoch) {
  kubelet_ = epoch;
  if (published_) plugin_.OnKubelet(epoch);
}

void ResourceController::OnKubeletLost() {
  kubelet_.reset();
  plugin_.OnKubeletLost();
}

void ResourceController::OnHolders(const HoldersReport& report) {
  if (ended_) return;
  units_ = report.holders;
  PodUsage usage = PodUsageOf(*entry_.spec, *units_, published_.get());
  if (release_hooks_) {
    release_hooks_->OnHolders({usage.holders, report.complete, report.kubelet}, published_.get());
  }
  SetUsage(std::move(usage));
}

void ResourceController::SetUsage(PodUsage usage) {
  if (usage_ && *usage_ == usage) return;
  usage_ = std::make_shared<const PodUsage>(std::move(usage));
  observer_->OnUsage(usage_);
  std::set<std::string> held;
  for (const auto& [device, holders] : usage_->holders) held.insert(held.end(), device);
  inventory_.SetHeld(std::move(held));
  AwaitExpiry();  // a device that was released may have expired already
}

void ResourceController::Refresh() {
  refresh_ = true;
  Scan();
}

bool ResourceController::DependsOnSysfs() const {
  const auto depends = [](const Entry& entry) {
    return UsesSysfs(*entry.spec) ||
           std::any_of(entry.exclusive_above.begin(), entry.exclusive_above.end(),
                       [](const auto& owner) { return UsesSysfs(*owner); });
  };
  return depends(entry_) || (next_ && depends(*next_));
}

void ResourceController::End(std::function<void()> done) {
  EndParts();
  cancellation_->Trigger();
  plugin_.End(AfterPrograms(std::move(done)));
}

void ResourceController::Drain(std::function<void()> done) {
  EndParts();
  plugin_.Drain(AfterPrograms(std::move(done)));
}

void ResourceController::EndParts() {
  ended_ = true;
  prober_.reset();
  release_hooks_.reset();
  pending_health_ = Subscription();
  expiry_ = Subscription();
  scan_limit_ = Subscription();
}

/// Calls `done` when no program of the resource runs any more. The loop does not wait for that.
std::function<void()> ResourceController::AfterPrograms(std::function<void()> done) {
  return [this, done = std::move(done)] {
    cancellation_->Trigger();
    on_programs_ended_ = done;
    deps_.shutdown_worker.Run(
        deps_.plugin.loop,
        [hooks = hooks_] {
          hooks->End();
          return true;
        },
        lifetime_.Guard([this](bool) {
          hooks_ended_ = true;
          CheckPrograms();
        }));
    // A program that hangs in the kernel must not keep the name of the resource indefinitely.
    programs_ = deps_.plugin.loop.After(kProgramPatience, [this] { OnProgramsEnded(); });
  };
}

void ResourceController::CheckPrograms() {
  if (hooks_ended_ && !(scans_.scanning() && runs_command_)) OnProgramsEnded();
}

void ResourceController::OnProgramsEnded() {
  programs_ = Subscription();
  if (on_programs_ended_) std::exchange(on_programs_ended_, nullptr)();
}

void ResourceController::Scan() {
  unchanged_dirs_.clear();
  ScanSoon();
}

void ResourceController::OnChanged(const std::string& directory) {
  if (ended_ || !MayDependOn(directory)) return;
  unchanged_dirs_.erase(directory);
  ScanSoon();
}

void ResourceController::ScanSoon() {
  if (scans_.Request()) StartScan();
}

void ResourceController::StartScan() {
  if (ended_) return;
  const std::uint64_t scan = scans_.Start(deps_.plugin.loop.Now());
  scan_hangs_ = false;
  const Entry& wanted = Wanted();
  scanned_for_ = wanted.spec;
  runs_command_ = HasCommand(*wanted.spec);
  scan_limit_ = deps_.plugin.loop.After(ScanLimit(*wanted.spec), [this] { OnScanHangs(); });
  const auto& before = inventory_.snapshot();
  const ScanRequest request{.node_name = deps_.plugin.allocation.node_name,
                            .exclusive_above = wanted.exclusive_above,
                            .owned_before = owned_,
                            .skips_exclusive = scans_.has_abandoned(),
                            .refresh = std::exchange(refresh_, false),
                            .unchanged_dirs = std::exchange(unchanged_dirs_, WatchedDirectories()),
                            .before = before,
                            // Explains a resource without devices.
                            .report = before == nullptr || before->devices.empty(),
                            .cache = scan_cache_,
                            .cancellation = cancellation_};
  std::optional<DirWatch::Adder> adder;
  if (deps_.watch != nullptr) adder = deps_.watch->adder();
  ThreadPool& pool = runs_command_ ? deps_.commands : deps_.scanner;
  pool.Run(
      deps_.plugin.loop,
      [scan, spec = wanted.spec, host = deps_.host, request, adder] {
        const auto start = std::chrono::steady_clock::now();
        Outcome outcome{scan, spec, Discover(*spec, host, request), {}, {}, {}};
        outcome.explanation = Summarize(*spec, outcome.discovery.reports);
        outcome.discovery.reports.clear();
        for (const std::string& directory : outcome.discovery.directories) {
          outcome.directories.insert(host.Local(directory));
        }
        // Watched ones are added again, see DirWatch.
        if (adder) outcome.added = adder->Add(outcome.directories);
        outcome.took = std::chrono::steady_clock::now() - start;
        return outcome;
      },
      lifetime_.Guard([this](Outcome outcome) { OnScanned(std::move(outcome)); }));
}

/// The devices stay as they are. Another entry does not wait for the hanging scan. A resource that
/// also scans for exclusive resources scans again without them, and uses their last known devices.
void ResourceController::OnScanHangs() {
  scan_hangs_ = true;
  deps_.plugin.log.Warning(
      "host scan has not completed; a file system that it reads may not be responding",
      {{"resource", name()}, {"seconds", ScanLimit(*Wanted().spec).count()}});
  const bool is_for_another = next_ && scanned_for_ != next_->spec;
  const bool may_be_exclusive = !Wanted().exclusive_above.empty() && !scans_.has_abandoned();
  if (!is_for_another && !may_be_exclusive) return;
  AbandonScan();
  StartScan();
}

std::set<std::string> ResourceController::WatchedDirectories() const {
  std::set<std::string> watched = directories_;
  std::erase_if(watched, [this](const std::string& directory) {
    return deps_.watch == nullptr || !deps_.watch->Watches(directory);
  });
  return watched;
}

void ResourceController::OnScanned(Outcome outcome) {
  // Of an abandoned scan only the watches count, until RetainWatches finds them unused.
  const ScanScheduler::Finished finished = scans_.Finish(outcome.scan);
  if (finished != ScanScheduler::Finished::kCounts) {
    const bool is_last = finished == ScanScheduler::Finished::kLastAbandoned;
    if (is_last && !Wanted().exclusive_above.empty()) Scan();
    return events_.on_scanned(outcome.added, true);
  }
  scan_limit_ = Subscription();
  if (std::exchange(scan_hangs_, false)) {
    deps_.plugin.log.Info("host scan completed", {{"resource", name()}});
  }
  if (ended_) {
    events_.on_scanned(outcome.added, true);
    return CheckPrograms();
  }
  if (outcome.spec != Wanted().spec) {
    // The entry was replaced. Start the next scan first: the event may request one itself.
    StartScan();
    return events_.on_scanned(outcome.added, true);
  }
  ApplyNext();
  const bool complete = outcome.discovery.complete;
  owned_ = outcome.discovery.owned;
  const bool moved = outcome.directories != directories_;
  directories_ = std::move(outcome.directories);
  LogDroppedEarly(inventory_.MergeScan(std::move(outcome.discovery), deps_.plugin.loop.Now()));
  const Loop::Duration pause = scans_.Pause(outcome.took, deps_.plugin.loop.Now());
  pause_ = deps_.plugin.loop.After(pause, [this] {
    pause_ = Subscription();
    if (scans_.EndPause()) StartScan();
  });
  Publish(true);
  // After Publish, so that a reader sees the result of the scan.
  observer_->OnExplanation(published_->devices.empty() ? std::make_shared<const MatchSummaries>(
                                                             std::move(outcome.explanation))
                                                       : nullptr);
  observer_->OnScan(outcome.took, complete);
  events_.on_scanned(outcome.added, moved);
}

void ResourceController::OnHealthChanged(ProbeScheduler::Change change) {
  Loop& loop = deps_.plugin.loop;
  if (const auto due = throttle_.OnChange(change, loop.Now())) {
    pending_health_ = loop.After(*due - loop.Now(), [this] { Publish(false); });
  }
}

void ResourceController::AwaitExpiry() {
  expiry_ = Subscription();
  if (const auto when = inventory_.NextExpiry()) {
    const auto delay = std::max(*when - deps_.plugin.loop.Now(), Loop::Duration::zero());
    expiry_ = deps_.plugin.loop.After(delay, [this] {
      inventory_.Expire(deps_.plugin.loop.Now());
      Publish(true);
    });
  }
}

void ResourceController::Publish(bool devices_changed) {
  const auto start = std::chrono::steady_clock::now();
  pending_health_ = Subscription();
  throttle_.OnPublishing();
  if (devices_changed) {
    AwaitExpiry();
    if (prober_) prober_->SetDevices(inventory_.Known());
  }
  inventory_.Publish(prober_ ? [this](const std::string& id) { return prober_->HealthOf(id); }
                             : Inventory::HealthLookup());
  if (inventory_.snapshot() == published_) return;
  const bool first = published_ == nullptr;
  LogDeviceChanges(deps_.plugin.log, published_.get(), *inventory_.snapshot());
  published_ = inventory_.snapshot();
  plugin_.Publish(published_);
  events_.on_published();
  if (first && kubelet_) plugin_.OnKubelet(*kubelet_);
  throttle_.OnPublished(std::chrono::steady_clock::now() - start, deps_.plugin.loop.Now());
}

/// Logs once, until a scan forgets none.
void ResourceController::LogDroppedEarly(std::size_t devices) {
  if (std::exchange(forgets_early_, devices > 0) || devices == 0) return;
  deps_.plugin.log.Warning(
      "devices disappear faster than they expire; keeping only the latest ones",
      {{"resource", name()}, {"forgotten", devices}});
}

}  // namespace patchbay
