#include "daemon/resource_controller.h"

#include <algorithm>
#include <system_error>

#include "inventory/diff.h"
#include "inventory/usage.h"
#include "os/memory.h"

namespace patchbay {
namespace {

/// More changes at once than this are told in one line.
constexpr std::size_t kMostChangesLogged = 20;

/// How long the programs of a resource that ends are waited for; see RunChild.
constexpr std::chrono::seconds kProgramPatience{3};

/// How long a new reason for what is unhealthy already may take to be seen.
constexpr std::chrono::seconds kReasonPause{1};

std::size_t Unhealthy(const Snapshot& snapshot) {
  return static_cast<std::size_t>(
      std::count_if(snapshot.devices.begin(), snapshot.devices.end(),
                    [](const ListedDevice& d) { return d.health == Health::kUnhealthy; }));
}

}  // namespace

ResourceController::ResourceController(const World& world, Entry entry,
                                       std::shared_ptr<const Cancellation> cancellation,
                                       std::shared_ptr<ResourceObserver> observer, Events events)
    : world_(world),
      spec_(std::move(entry.spec)),
      owners_(std::move(entry.owners)),
      cancellation_(std::move(cancellation)),
      observer_(std::move(observer)),
      events_(std::move(events)),
      inventory_(spec_, world_.plugin.allocation.node_name),
      hooks_(std::make_shared<HookRunner>(observer_, world_.plugin.log, cancellation_)),
      plugin_(world_.plugin, spec_->name, observer_, hooks_,
              {.on_stale = [this] { Scan(); },
               .on_granted = events_.on_granted,
               .before_start = [this](const auto& devices,
                                      auto then) { BeforeStart(devices, std::move(then)); },
               .on_registered = [this](bool) { events_.on_registered(); },
               .on_kubelet_answers = events_.on_kubelet_answers}) {
  SetParts();
}

/// Those that not every entry has.
void ResourceController::SetParts() {
  if (HasCommand(*spec_) && !own_scanner_) {
    try {
      own_scanner_ = std::make_unique<Worker>();
    } catch (const std::system_error&) {  // no more threads: it shares those of the others
    }
  }
  SetReleaser();
  SetProber();
}

void ResourceController::SetReleaser() {
  if (!spec_->release) {
    releaser_.reset();
  } else if (releaser_) {
    releaser_->SetSpec(spec_);
  } else {
    releaser_.emplace(spec_, world_.plugin.allocation.node_name, observer_, world_.plugin.log,
                      hooks_);
  }
}

void ResourceController::SetProber() {
  if (!spec_->health) {
    prober_.reset();
  } else if (prober_) {
    prober_->SetSpec(spec_);
  } else {
    prober_.emplace(
        world_.plugin.loop, world_.probes, spec_,
        ProbeContext{spec_->name, world_.plugin.allocation.node_name, world_.host, cancellation_},
        Prober::Events{.on_probe = [this](const auto& id,
                                          const auto& outcome) { observer_->OnProbe(id, outcome); },
                       .on_change = [this](Timetable::Change change) { OnVerdicts(change); }});
  }
}

void ResourceController::Apply(Entry entry) {
  const bool same_matches = entry.spec->matches == spec_->matches;
  const bool finds_others = !same_matches || !SameOwners(entry.owners, owners_);
  spec_ = std::move(entry.spec);
  owners_ = std::move(entry.owners);
  if (!same_matches) {
    memory_ = std::make_shared<PassMemory>();
    refresh_ = true;
  }
  SetParts();
  if (units_) SetUsage(UsageOf(*spec_, *units_, published_.get()));
  inventory_.SetSpec(spec_, finds_others);
  pause_ = Subscription();
  Scan();
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
  Usage usage = UsageOf(*spec_, *units_, published_.get());
  if (releaser_) {
    releaser_->OnHolders({usage.holders, report.complete, report.kubelet}, published_.get());
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
    if (!answered && releaser_) releaser_->OnBlindStart(devices);
    then();
  }));
}

void ResourceController::Refresh() {
  refresh_ = true;
  Scan();
}

bool ResourceController::DependsOnSysfs() const {
  return UsesSysfs(*spec_) || std::any_of(owners_.begin(), owners_.end(),
                                          [](const auto& owner) { return UsesSysfs(*owner); });
}

void ResourceController::End(std::function<void()> done) {
  EndParts();
  cancellation_->Trigger();
  plugin_.End(AfterPrograms(std::move(done)));
}

void ResourceController::Retire(std::function<void()> done) {
  EndParts();
  plugin_.Retire(AfterPrograms(std::move(done)));
}

void ResourceController::EndParts() {
  ended_ = true;
  prober_.reset();
  releaser_.reset();
  verdicts_ = Subscription();
  expiry_ = Subscription();
}

/// Calls `done` once nothing runs any more for the resource. To wait for that is not for the loop.
std::function<void()> ResourceController::AfterPrograms(std::function<void()> done) {
  return [this, done = std::move(done)] {
    cancellation_->Trigger();
    on_programs_ended_ = done;
    const auto on_ended = lifetime_.Guard([this](bool) { OnProgramsEnded(); });
    world_.ends.Run(
        world_.plugin.loop,
        [hooks = hooks_, scanner = std::shared_ptr<Worker>(std::move(own_scanner_))]() mutable {
          hooks->End();
          scanner.reset();
          return true;
        },
        on_ended);
    // A look that hangs in the kernel must not keep the name of the resource for ever.
    programs_ = world_.plugin.loop.After(kProgramPatience, [this] { OnProgramsEnded(); });
  };
}

void ResourceController::OnProgramsEnded() {
  programs_ = Subscription();
  if (on_programs_ended_) std::exchange(on_programs_ended_, nullptr)();
}

void ResourceController::Scan() {
  quiet_.clear();
  ScanSoon();
}

void ResourceController::OnChanged(const std::string& directory) {
  if (ended_ || !MayDependOn(directory)) return;
  quiet_.erase(directory);
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
  scanning_ = true;
  scan_again_ = false;
  if (world_.plugin.loop.Now() - pause_end_ >= kCalm) pause_length_ = {};
  const Pass pass{.node_name = world_.plugin.allocation.node_name,
                  .owners = owners_,
                  .refresh = std::exchange(refresh_, false),
                  .quiet = std::exchange(quiet_, WatchedDirectories()),
                  .memory = memory_,
                  .cancellation = cancellation_};
  scanner().Run(
      world_.plugin.loop,
      [spec = spec_, host = world_.host, pass] {
        const auto start = std::chrono::steady_clock::now();
        Outcome outcome{spec, Discover(*spec, host, pass), {}};
        outcome.took = std::chrono::steady_clock::now() - start;
        return outcome;
      },
      lifetime_.Guard([this](Outcome outcome) { OnScanned(std::move(outcome)); }));
}

std::set<std::string> ResourceController::WatchedDirectories() const {
  std::set<std::string> watched = directories_;
  std::erase_if(watched, [this](const std::string& directory) {
    return world_.watch == nullptr || !world_.watch->Watches(directory);
  });
  return watched;
}

void ResourceController::OnScanned(Outcome outcome) {
  scanning_ = false;
  if (ended_) return;
  if (outcome.spec != spec_) return StartScan();  // for an entry that is no more
  const bool complete = outcome.discovery.complete;
  std::set<std::string> directories;
  for (const std::string& directory : outcome.discovery.directories) {
    directories.insert(world_.host.Local(directory));
  }
  const bool moved = directories != directories_;
  directories_ = std::move(directories);
  inventory_.Advance(std::move(outcome.discovery), world_.plugin.loop.Now());
  // The longer a storm of changes lasts, the more rarely it is looked at.
  pause_length_ = std::min<Loop::Duration>(2 * pause_length_, kLongestPause);
  pause_length_ = std::max<Loop::Duration>(pause_length_, outcome.took);
  pause_ = world_.plugin.loop.After(pause_length_, [this] {
    pause_ = Subscription();
    if (scan_again_) StartScan();
  });
  pause_end_ = world_.plugin.loop.Now() + pause_length_;
  Publish(true);
  observer_->OnScan(outcome.took, complete);  // after what it found, for those who look meanwhile
  events_.on_scanned(moved);
}

/// Many verdicts at once are few lists: making one may take no more than a fifth of the loop's
/// time.
void ResourceController::OnVerdicts(Timetable::Change change) {
  Loop& loop = world_.plugin.loop;
  const Loop::Time due = change == Timetable::Change::kHealth ? std::max(loop.Now(), next_wave_)
                                                              : loop.Now() + kReasonPause;
  if (verdicts_ && verdicts_due_ <= due) return;
  verdicts_due_ = due;
  verdicts_ = loop.After(due - loop.Now(), [this] { Publish(false); });
}

void ResourceController::AwaitExpiry() {
  expiry_ = Subscription();
  if (const auto when = inventory_.NextExpiry()) {
    const auto delay = std::max(*when - world_.plugin.loop.Now(), Loop::Duration::zero());
    expiry_ = world_.plugin.loop.After(delay, [this] {
      inventory_.Expire(world_.plugin.loop.Now());
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
  inventory_.Publish(prober_ ? [this](const std::string& id) { return prober_->VerdictOn(id); }
                             : Inventory::VerdictOn());
  if (inventory_.snapshot() == published_) return;
  const bool first = published_ == nullptr;
  LogChanges(published_.get(), *inventory_.snapshot());
  published_ = inventory_.snapshot();
  plugin_.Publish(published_);
  events_.on_published();
  world_.scanner.Run(ReleaseFreeMemory);
  if (first && kubelet_) plugin_.OnKubelet(*kubelet_);
  next_wave_ = world_.plugin.loop.Now() + 4 * (std::chrono::steady_clock::now() - start);
}

void ResourceController::LogChanges(const Snapshot* before, const Snapshot& after) {
  Log& log = world_.plugin.log;
  auto changes = Diff(before, after);
  // At the start every device is new; only what is wrong is worth a line of its own.
  if (before == nullptr) {
    std::erase_if(changes, [](const Change& c) { return c.kind != Change::Kind::kRejected; });
  }
  if (before == nullptr || changes.size() > kMostChangesLogged) {
    log.Info("devices", {{"resource", spec_->name},
                         {"listed", after.devices.size()},
                         {"unhealthy", Unhealthy(after)},
                         {"rejected", after.rejected.size()}});
  }
  if (changes.size() > kMostChangesLogged) return;
  for (const Change& change : changes) {
    switch (change.kind) {
      case Change::Kind::kAppeared:
        log.Info("device appeared", {{"resource", spec_->name}, {"device", change.device}});
        break;
      case Change::Kind::kHealthy:
        log.Info("device is healthy", {{"resource", spec_->name}, {"device", change.device}});
        break;
      case Change::Kind::kForgotten:
        log.Info("device forgotten", {{"resource", spec_->name}, {"device", change.device}});
        break;
      case Change::Kind::kUnhealthy:
        log.Warning(
            "device is unhealthy",
            {{"resource", spec_->name}, {"device", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kRejected:
        log.Warning(
            "device rejected",
            {{"resource", spec_->name}, {"path", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kAccepted:
        log.Info("device no longer rejected", {{"resource", spec_->name}, {"path", change.device}});
        break;
    }
  }
}

}  // namespace patchbay
