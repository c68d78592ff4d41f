#include "daemon/resource_controller.h"

#include <algorithm>
#include <cassert>
#include <variant>

#include "inventory/diff.h"
#include "inventory/usage.h"

namespace patchbay {
namespace {

/// More changes at once than this are told in one line.
constexpr std::size_t kMaxChangesLogged = 20;

/// The maximum time to wait for the programs of a resource that is removed; see RunSubprocess.
constexpr std::chrono::seconds kProgramPatience{3};

/// Beyond this a scan hangs.
constexpr std::chrono::seconds kScanLimit{10};

/// Its commands run one after the other.
std::chrono::seconds LimitOf(const ResourceSpec& spec) {
  std::chrono::milliseconds limit = kScanLimit;
  for (const MatchSpec& match : spec.matches) {
    const auto* command = std::get_if<CommandSource>(&match.source);
    if (command != nullptr) limit += command->timeout + kProgramPatience;
  }
  return std::chrono::ceil<std::chrono::seconds>(limit);
}

/// How long a new reason for what is unhealthy already may take to be seen.
constexpr std::chrono::seconds kReasonPause{1};

std::size_t Unhealthy(const Snapshot& snapshot) {
  return static_cast<std::size_t>(
      std::count_if(snapshot.devices.begin(), snapshot.devices.end(),
                    [](const ListedDevice& d) { return d.health == Health::kUnhealthy; }));
}

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
              {.on_stale = [this] { Scan(); },
               .on_granted = events_.on_granted,
               .before_start = [this](const auto& devices,
                                      auto then) { BeforeStart(devices, std::move(then)); },
               .check_directory = events_.check_directory,
               .on_registered = [this](bool) { events_.on_registered(); },
               .on_kubelet_answers = events_.on_kubelet_answers}) {
  SetParts();
}

/// Those that not every entry has.
void ResourceController::SetParts() {
  SetReleaser();
  SetProber();
}

void ResourceController::SetReleaser() {
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
        Prober::Events{.on_probe = [this](const auto& id,
                                          const auto& outcome) { observer_->OnProbe(id, outcome); },
                       .on_change = [this](ProbeScheduler::Change change) { OnVerdicts(change); }});
  }
}

void ResourceController::Apply(Entry entry) {
  if (entry.spec->matches != Wanted().spec->matches) {
    scan_cache_ = std::make_shared<ScanCache>();
    refresh_ = true;
  }
  next_ = std::move(entry);
  pause_ = Subscription();
  // The scan that hangs may be for matches that are no more.
  if (scan_hangs_) AbandonScan();
  Scan();
}

/// Its thread goes on, with what belongs to that scan alone.
void ResourceController::AbandonScan() {
  scanning_ = false;
  abandoned_.insert(scan_);
  scan_cache_ = std::make_shared<ScanCache>();
  refresh_ = true;
}

/// The entry that was scanned for, before what the scan found.
void ResourceController::PutInForce() {
  if (!next_) return;
  const Entry before = std::exchange(entry_, *std::exchange(next_, std::nullopt));
  SetParts();
  if (units_) SetUsage(UsageOf(*entry_.spec, *units_, published_.get()));
  inventory_.SetSpec(entry_.spec, entry_.spec->matches != before.spec->matches ||
                                      !SameOwners(entry_.owners, before.owners));
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
  Usage usage = UsageOf(*entry_.spec, *units_, published_.get());
  if (release_hooks_) {
    release_hooks_->OnHolders({usage.holders, report.complete, report.kubelet}, published_.get());
  }
  SetUsage(std::move(usage));
}

void ResourceController::SetUsage(Usage usage) {
  if (usage_ && *usage_ == usage) return;
  usage_ = std::make_shared<const Usage>(std::move(usage));
  observer_->OnUsage(usage_);
  std::set<std::string> held;
  for (const auto& [device, holders] : usage_->holders) held.insert(held.end(), device);
  inventory_.SetHeld(std::move(held));
  AwaitExpiry();  // of what was let go it may be over already
}

/// What others left of the devices is being released once the kubelet has said who has them now.
void ResourceController::BeforeStart(const std::set<std::string>& devices,
                                     std::function<void()> then) {
  events_.ask_holders(lifetime_.Guard([this, devices, then = std::move(then)](bool answered) {
    if (!answered && release_hooks_) release_hooks_->OnUnverifiedStart(devices);
    then();
  }));
}

void ResourceController::Refresh() {
  refresh_ = true;
  Scan();
}

bool ResourceController::DependsOnSysfs() const {
  const auto depends = [](const Entry& entry) {
    return UsesSysfs(*entry.spec) ||
           std::any_of(entry.owners.begin(), entry.owners.end(),
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
  verdicts_ = Subscription();
  expiry_ = Subscription();
  scan_limit_ = Subscription();
}

/// Calls `done` once nothing runs any more for the resource. To wait for that is not for the loop.
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
    // One that hangs in the kernel must not keep the name of the resource for ever.
    programs_ = deps_.plugin.loop.After(kProgramPatience, [this] { OnProgramsEnded(); });
  };
}

void ResourceController::CheckPrograms() {
  if (hooks_ended_ && !(scanning_ && runs_command_)) OnProgramsEnded();
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
  if (scanning_ || pause_) {
    scan_again_ = true;
    return;
  }
  StartScan();
}

void ResourceController::StartScan() {
  if (ended_) return;
  assert(!scanning_);  // two concurrent scans would share scan_cache_
  scanning_ = true;
  scan_again_ = false;
  scan_hangs_ = false;
  const Entry& wanted = Wanted();
  scanned_for_ = wanted.spec;
  runs_command_ = HasCommand(*wanted.spec);
  scan_limit_ = deps_.plugin.loop.After(LimitOf(*wanted.spec), [this] { OnScanHangs(); });
  if (deps_.plugin.loop.Now() - pause_end_ >= kCalm) pause_length_ = {};
  const ScanRequest request{.node_name = deps_.plugin.allocation.node_name,
                            .owners = wanted.owners,
                            .owned_before = owned_,
                            .skips_owners = !abandoned_.empty(),
                            .refresh = std::exchange(refresh_, false),
                            .unchanged_dirs = std::exchange(unchanged_dirs_, WatchedDirectories()),
                            .before = inventory_.snapshot(),
                            .cache = scan_cache_,
                            .cancellation = cancellation_};
  std::optional<DirWatch::Adder> adder;
  if (deps_.watch != nullptr) adder = deps_.watch->adder();
  ThreadPool& pool = runs_command_ ? deps_.commands : deps_.scanner;
  pool.Run(
      deps_.plugin.loop,
      [scan = ++scan_, spec = wanted.spec, host = deps_.host, request, adder] {
        const auto start = std::chrono::steady_clock::now();
        Outcome outcome{scan, spec, Discover(*spec, host, request), {}, {}, {}};
        for (const std::string& directory : outcome.discovery.directories) {
          outcome.directories.insert(host.Local(directory));
        }
        // Also those that are watched: see DirWatch.
        if (adder) outcome.added = adder->Add(outcome.directories);
        outcome.took = std::chrono::steady_clock::now() - start;
        return outcome;
      },
      lifetime_.Guard([this](Outcome outcome) { OnScanned(std::move(outcome)); }));
}

/// The devices stay as they are. Another entry does not wait for it, and one that looked for the
/// devices of exclusive resources goes by what those had, as long as the scan that hangs does.
void ResourceController::OnScanHangs() {
  scan_hangs_ = true;
  deps_.plugin.log.Warning(
      "host scan has not ended; a file system that it looks at may not be responding",
      {{"resource", name()}, {"seconds", LimitOf(*Wanted().spec).count()}});
  const bool is_for_another = next_ && scanned_for_ != next_->spec;
  const bool may_be_an_owner = !Wanted().owners.empty() && abandoned_.empty();
  if (!is_for_another && !may_be_an_owner) return;
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
  // One that hung and was replaced; its watches count until it is known that nobody wants them.
  if (abandoned_.erase(outcome.scan) > 0) {
    if (abandoned_.empty() && !Wanted().owners.empty()) Scan();
    return events_.on_scanned(outcome.added, true);
  }
  scanning_ = false;
  scan_limit_ = Subscription();
  if (std::exchange(scan_hangs_, false)) {
    deps_.plugin.log.Info("host scan ended", {{"resource", name()}});
  }
  if (ended_) {
    events_.on_scanned(outcome.added, true);
    return CheckPrograms();
  }
  if (outcome.spec != Wanted().spec) {
    // For an entry that is no more. The next scan first: the event may ask for one itself.
    StartScan();
    return events_.on_scanned(outcome.added, true);
  }
  PutInForce();
  const bool complete = outcome.discovery.complete;
  owned_ = outcome.discovery.owned;
  const bool moved = outcome.directories != directories_;
  directories_ = std::move(outcome.directories);
  LogForgotten(inventory_.MergeScan(std::move(outcome.discovery), deps_.plugin.loop.Now()));
  // The longer a storm of changes lasts, the more rarely it is scanned. A scan that has waited for
  // a file system or a program does not cost what it took, so that does not count in full.
  pause_length_ = std::max<Loop::Duration>(2 * pause_length_, outcome.took);
  pause_length_ = std::min<Loop::Duration>(pause_length_, kMaxPause);
  pause_ = deps_.plugin.loop.After(pause_length_, [this] {
    pause_ = Subscription();
    if (scan_again_) StartScan();
  });
  pause_end_ = deps_.plugin.loop.Now() + pause_length_;
  Publish(true);
  observer_->OnScan(outcome.took, complete);  // after what it found, for those who look meanwhile
  events_.on_scanned(outcome.added, moved);
}

/// Many verdicts at once are few lists: making one may take no more than a fifth of the loop's
/// time.
void ResourceController::OnVerdicts(ProbeScheduler::Change change) {
  Loop& loop = deps_.plugin.loop;
  const Loop::Time due = change == ProbeScheduler::Change::kHealth
                             ? std::max(loop.Now(), next_wave_)
                             : loop.Now() + kReasonPause;
  if (verdicts_ && verdicts_due_ <= due) return;
  verdicts_due_ = due;
  verdicts_ = loop.After(due - loop.Now(), [this] { Publish(false); });
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
  verdicts_ = Subscription();
  if (devices_changed) {
    AwaitExpiry();
    if (prober_) prober_->SetDevices(inventory_.Known());
  }
  inventory_.Publish(prober_ ? [this](const std::string& id) { return prober_->VerdictFor(id); }
                             : Inventory::HealthLookup());
  if (inventory_.snapshot() == published_) return;
  const bool first = published_ == nullptr;
  LogChanges(published_.get(), *inventory_.snapshot());
  published_ = inventory_.snapshot();
  plugin_.Publish(published_);
  events_.on_published();
  if (first && kubelet_) plugin_.OnKubelet(*kubelet_);
  next_wave_ = deps_.plugin.loop.Now() + 4 * (std::chrono::steady_clock::now() - start);
}

/// Once, until a scan drops none.
void ResourceController::LogForgotten(std::size_t devices) {
  if (std::exchange(forgets_early_, devices > 0) || devices == 0) return;
  deps_.plugin.log.Warning(
      "devices vanish faster than they are forgotten; only the newest are remembered",
      {{"resource", name()}, {"forgotten", devices}});
}

void ResourceController::LogChanges(const Snapshot* before, const Snapshot& after) {
  Log& log = deps_.plugin.log;
  auto changes = Diff(before, after);
  // At the start every device is new; only what is wrong is worth a line of its own.
  if (before == nullptr) {
    std::erase_if(changes, [](const Change& c) { return c.kind == Change::Kind::kAppeared; });
  }
  if (before == nullptr || changes.size() > kMaxChangesLogged) {
    log.Info("devices", {{"resource", entry_.spec->name},
                         {"listed", after.devices.size()},
                         {"unhealthy", Unhealthy(after)},
                         {"rejected", after.rejected.size()}});
  }
  if (changes.size() > kMaxChangesLogged) return;
  for (const Change& change : changes) {
    switch (change.kind) {
      case Change::Kind::kAppeared:
        log.Info("device appeared", {{"resource", entry_.spec->name}, {"device", change.device}});
        break;
      case Change::Kind::kHealthy:
        log.Info("device is healthy", {{"resource", entry_.spec->name}, {"device", change.device}});
        break;
      case Change::Kind::kForgotten:
        log.Info("device forgotten", {{"resource", entry_.spec->name}, {"device", change.device}});
        break;
      case Change::Kind::kUnhealthy:
        log.Warning("device is unhealthy", {{"resource", entry_.spec->name},
                                            {"device", change.device},
                                            {"reason", change.reason}});
        break;
      case Change::Kind::kRejected:
        log.Warning(
            "device rejected",
            {{"resource", entry_.spec->name}, {"path", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kAccepted:
        log.Info("device no longer rejected",
                 {{"resource", entry_.spec->name}, {"path", change.device}});
        break;
      case Change::Kind::kMissingMount:
        log.Warning("the source of a mount is missing",
                    {{"resource", name()}, {"path", change.device}, {"reason", change.reason}});
        break;
    }
  }
}

}  // namespace patchbay
