#include "status/observer.h"

#include <utility>

#include "model/snapshot_pairs.h"
#include "status/status_store.h"

namespace patchbay {

ResourceObserver::ResourceObserver(std::shared_ptr<StatusStore> store, std::string resource,
                                   std::shared_ptr<ResourceCounters> counters)
    : store_(std::move(store)), resource_(std::move(resource)), counters_(std::move(counters)) {}

void ResourceObserver::OnSnapshot(std::shared_ptr<const Snapshot> snapshot) {
  const auto before = store_->Exchange(resource_, snapshot);
  if (!before || !snapshot) return;
  VisitPairs(before->devices, snapshot->devices,
             [&](const ListedDevice* old, const ListedDevice* now) {
               if (old == nullptr || now == nullptr || old->health == now->health) return;
               const bool is_healthy = now->health == Health::kHealthy;
               (is_healthy ? counters_->to_healthy : counters_->to_unhealthy).Increment();
             });
}

void ResourceObserver::OnShared(std::size_t devices) {
  store_->Change(resource_, [&](ResourceStatus& status) { status.shared_devices = devices; });
}

void ResourceObserver::OnScan(std::chrono::nanoseconds duration, bool complete) {
  counters_->scans.Add(duration);
  store_->Change(resource_, [&, at = store_->Now()](ResourceStatus& status) {
    status.last_scan = ScanStatus{at, duration, complete};
    if (complete) status.last_complete_scan = at;
  });
}

void ResourceObserver::OnProbe(const std::string& device, const ProbeOutcome& outcome) {
  counters_->probes.at(static_cast<std::size_t>(outcome.result)).Increment();
  counters_->probe_durations.Add(outcome.took);
  store_->SetProbe(resource_, device,
                   {store_->Now(), outcome.took, outcome.result, outcome.reason});
}

void ResourceObserver::OnNextProbe(const std::string& device,
                                   std::optional<std::chrono::nanoseconds> in) {
  std::optional<WallTime> at;
  if (in) at = store_->Now() + std::chrono::duration_cast<WallTime::duration>(*in);
  store_->SetNextProbe(resource_, device, at);
}

void ResourceObserver::OnExplanation(std::shared_ptr<const MatchSummaries> explanation) {
  store_->Change(resource_, [&](ResourceStatus& status) { status.explanation.swap(explanation); });
}

void ResourceObserver::OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) {
  ResourceCounters::ByResult& runs = counters_->hooks.at(static_cast<std::size_t>(hook));
  (success ? runs.success : runs.failure).Add(duration);
}

void ResourceObserver::OnUsage(std::shared_ptr<const PodUsage> usage) {
  store_->Change(resource_, [&](ResourceStatus& status) { status.usage.swap(usage); });
}

void ResourceObserver::OnRegistrationStatus(const RegistrationStatus& registration) {
  store_->Change(resource_, [&, at = store_->Now()](ResourceStatus& status) {
    const bool was_registered = status.registration.state == RegistrationState::kRegistered;
    const bool is_registered = registration.state == RegistrationState::kRegistered;
    if (was_registered != is_registered) status.registered_changed_at = at;
    status.registration = registration;
  });
}

void ResourceObserver::OnStreams(int open) {
  store_->Change(resource_, [&](ResourceStatus& status) { status.streams = open; });
}

void ResourceObserver::OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) {
  counters_->calls.at(static_cast<std::size_t>(rpc)).Count(code);
  counters_->call_durations.at(static_cast<std::size_t>(rpc)).Add(duration);
}

void ResourceObserver::OnAllocation(bool granted, int devices) {
  counters_->allocations.of(granted).Increment();
  if (granted) counters_->allocated_units.Increment(devices);
}

}  // namespace patchbay
