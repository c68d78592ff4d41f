// Wires one resource: scans, probes, the inventory, and the plugin that publishes its snapshots. It
// decides little itself: ScanScheduler decides when to scan, Inventory which devices exist,
// PublishThrottle when to publish, and ResourcePlugin when to register.

#include "daemon/resource_controller.h"

#include <algorithm>

#include "base/format.h"
#include "daemon/device_log.h"
#include "inventory/pod_usage.h"

namespace patchbay {
namespace {

/// The maximum time to wait for the programs of a resource that is removed; see RunSubprocess.
constexpr std::chrono::seconds kProgramPatience{3};

/// The time for which a pod can have a device until its container starts, which moves the
/// interface: the image must be there first.
constexpr std::chrono::minutes kMoveLimit{2};

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
          deps_.plugin.log, cancellation_, deps_.host)) {
  StartServer();
  SetParts();
}

ResourceController::~ResourceController() {
  if (is_dra() && !ended_) deps_.dra->Remove(name());
}

void ResourceController::StartServer() {
  if (is_dra()) {
    deps_.dra->Add(
        name(), {this, hooks_, std::make_shared<HostLookups>(deps_.plugin.allocation), observer_});
    return;
  }
  plugin_.emplace(deps_.plugin, name(), observer_, hooks_,
                  std::make_shared<const DeviceUsage>(
                      deps_.plugin.loop, deps_.pod_resources,
                      lifetime_.Guard([this](const std::set<std::string>& devices) {
                        if (release_hooks_) release_hooks_->OnUnverifiedStart(devices);
                      })),
                  ResourcePlugin::Events{.on_stale = [this] { Scan(); },
                                         .check_directory = events_.check_directory,
                                         .on_registered = events_.on_registered,
                                         .on_kubelet_answers = events_.on_kubelet_answers});
}

/// The optional parts of an entry.
void ResourceController::SetParts() {
  SetReleaseHooks();
  SetProber();
}

void ResourceController::SetReleaseHooks() {
  // The release of a claim is a call, for which its service runs the hook.
  if (!entry_.spec->release || is_dra()) {
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

std::string ResourceController::WhyNotRegistered() const {
  if (!is_dra()) return "is not registered with the kubelet";
  return Format("is not served: {}", deps_.dra->StateOf(name()).waits_for);
}

void ResourceController::OnKubelet(std::uint64_t epoch) {
  kubelet_ = epoch;
  if (plugin_ && published_) plugin_->OnKubelet(epoch);
}

void ResourceController::OnKubeletLost() {
  kubelet_.reset();
  if (plugin_) plugin_->OnKubeletLost();
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

/// A claim holds its devices from before its pod starts until it is released.
void ResourceController::OnHeld(const std::set<std::string>& devices) {
  claimed_ = devices.size();
  NoteHeld(devices);
  if (inventory_.SetClaimed(devices, deps_.plugin.loop.Now())) return Publish(true);
  AwaitExpiry();
}

void ResourceController::OnReady(bool ready) {
  is_ready_ = ready;
  events_.on_registered();
}

void ResourceController::SetUsage(PodUsage usage) {
  if (usage_ && *usage_ == usage) return;
  usage_ = std::make_shared<const PodUsage>(std::move(usage));
  observer_->OnUsage(usage_);
  if (is_dra()) return;
  std::set<std::string> held;
  for (const auto& [device, holders] : usage_->holders) held.insert(held.end(), device);
  NoteHeld(held);
  inventory_.SetHeld(std::move(held));
  AwaitExpiry();  // a device that was released may have expired already
}

/// Interfaces leave and return without an event that this process gets, so the host is scanned when
/// pods get devices or release them, and when their interfaces should have moved.
void ResourceController::NoteHeld(const std::set<std::string>& devices) {
  if (!entry_.spec->net_device) return held_since_.clear();
  const std::size_t before = held_since_.size();
  bool changed = std::erase_if(held_since_,
                               [&](const auto& held) { return !devices.contains(held.first); }) > 0;
  for (const std::string& device : devices) {
    held_since_.try_emplace(device, deps_.plugin.loop.Now());
  }
  changed = changed || held_since_.size() != before;
  if (!changed || ended_) return;
  Scan();
  moved_check_ = deps_.plugin.loop.After(kMoveLimit, [this] { Scan(); });
}

/// An interface that has moved returns at the end of its pod, before the device is released.
void ResourceController::NoteMoved(const DeviceList& devices) {
  for (const Device& device : devices) {
    const auto held = held_since_.find(device.id);
    if (IsAway(device) && held != held_since_.end()) held->second.reset();
  }
}

/// Returns the devices whose interfaces should be in pods by now.
std::set<std::string> ResourceController::HeldLong() const {
  std::set<std::string> held;
  for (const auto& [device, since] : held_since_) {
    if (since && deps_.plugin.loop.Now() - *since >= kMoveLimit) held.insert(held.end(), device);
  }
  return held;
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
  unused_ = Subscription();
  auto end = AfterPrograms(std::move(done));
  if (plugin_) return plugin_->End(std::move(end));
  end();
}

void ResourceController::Drain(std::function<void()> done) {
  EndParts();
  auto end = AfterPrograms(std::move(done));
  if (plugin_) return plugin_->Drain(std::move(end));
  // The hooks of claims run to their end. The service deletes the slices.
  unused_ = deps_.dra->AwaitUnused(name(), std::move(end));
}

void ResourceController::EndParts() {
  if (!std::exchange(ended_, true) && is_dra()) deps_.dra->Remove(name());
  prober_.reset();
  release_hooks_.reset();
  pending_health_ = Subscription();
  expiry_ = Subscription();
  scan_limit_ = Subscription();
  moved_check_ = Subscription();
}

/// Calls `done` when no program of the resource runs any more. The loop does not wait for that.
std::function<void()> ResourceController::AfterPrograms(std::function<void()> done) {
  return [this, done = std::move(done)] {
    cancellation_->Trigger();
    on_programs_ended_ = done;
    deps_.commands.Run(
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
  const auto health_of = [this](const std::string& id) { return prober_->HealthOf(id); };
  const auto changed = prober_ ? prober_->TakeChanged() : std::set<std::string>();
  if (devices_changed) {
    inventory_.Publish(prober_ ? health_of : Inventory::HealthLookup());
  } else {
    inventory_.PublishHealth(changed, health_of);
  }
  if (inventory_.snapshot() == published_) return;
  const bool first = published_ == nullptr;
  LogDeviceChanges(deps_.plugin.log, published_.get(), *inventory_.snapshot());
  published_ = inventory_.snapshot();
  if (plugin_) {
    plugin_->Publish(published_);
  } else {
    observer_->OnSnapshot(published_);
    deps_.dra->Publish(name(), published_);
  }
  events_.on_published();
  if (plugin_ && first && kubelet_) plugin_->OnKubelet(*kubelet_);
  throttle_.OnPublished(std::chrono::steady_clock::now() - start, deps_.plugin.loop.Now());
}

}  // namespace patchbay
