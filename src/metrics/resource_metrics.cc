#include "metrics/resource_metrics.h"

#include <algorithm>
#include <iterator>

#include "model/snapshot_pairs.h"

namespace patchbay {
namespace {

// Implementation notes: prometheus-cpp's counters are atomic, so counting needs no lock. The series
// that are created when needed live in maps, whose elements never move: the lock covers only the
// lookup.

using Seconds = std::chrono::duration<double>;

prometheus::Labels With(prometheus::Labels labels, const char* name, std::string_view value) {
  labels.emplace(name, value);
  return labels;
}

/// The status codes of gRPC; any other text is counted as UNKNOWN, so that labels are bounded.
std::string_view KnownCode(std::string_view code) {
  static constexpr std::string_view kCodes[] = {"OK",
                                                "CANCELLED",
                                                "UNKNOWN",
                                                "INVALID_ARGUMENT",
                                                "DEADLINE_EXCEEDED",
                                                "NOT_FOUND",
                                                "ALREADY_EXISTS",
                                                "PERMISSION_DENIED",
                                                "RESOURCE_EXHAUSTED",
                                                "FAILED_PRECONDITION",
                                                "ABORTED",
                                                "OUT_OF_RANGE",
                                                "UNIMPLEMENTED",
                                                "INTERNAL",
                                                "UNAVAILABLE",
                                                "DATA_LOSS",
                                                "UNAUTHENTICATED"};
  const auto found = std::find(std::begin(kCodes), std::end(kCodes), code);
  return found == std::end(kCodes) ? "UNKNOWN" : *found;
}

/// A stream lasts as long as the kubelet, and the options are a constant.
bool HasDuration(Rpc rpc) {
  return rpc != Rpc::kListAndWatch && rpc != Rpc::kGetDevicePluginOptions;
}

struct HealthTransitions {
  int to_healthy = 0;
  int to_unhealthy = 0;
};

/// Counts the devices, listed in both snapshots, whose health changed.
HealthTransitions CountTransitions(const Snapshot& before, const Snapshot& after) {
  HealthTransitions transitions;
  VisitPairs(before.devices, after.devices, [&](const ListedDevice* old, const ListedDevice* now) {
    if (old == nullptr || now == nullptr || old->health == now->health) return;
    ++(now->health == Health::kHealthy ? transitions.to_healthy : transitions.to_unhealthy);
  });
  return transitions;
}

}  // namespace

ResourceMetrics::ProbeSeries::ProbeSeries(const prometheus::Labels& resource,
                                          MetricFamilies& families)
    : duration(families.probe_duration, resource, DurationBuckets()) {
  for (const ProbeResult result : kAllProbeResults) {
    results.try_emplace(result, families.probes, With(resource, "result", Name(result)));
  }
}

ResourceMetrics::ResourceMetrics(const std::string& resource, MetricFamilies& families,
                                 StatusStore& store, const Now& now)
    : resource_(resource),
      labels_{{"resource", resource}},
      families_(families),
      store_(store),
      now_(now),
      registered_(families.resource_registered, labels_),
      registrations_(families.registrations, labels_),
      streams_(families.list_watch_streams, labels_),
      lists_sent_(families.list_watch_updates, labels_),
      to_healthy_(families.device_health_transitions, With(labels_, "to", "healthy")),
      to_unhealthy_(families.device_health_transitions, With(labels_, "to", "unhealthy")),
      allocations_(families.allocations, labels_),
      allocated_units_(families.allocated_units, labels_),
      scans_(families.discovery_scans, labels_),
      scan_duration_(families.discovery_duration, labels_, DurationBuckets()),
      last_complete_scan_(families.discovery_last_success_timestamp, labels_),
      shared_devices_(families.shared_devices, labels_) {
  for (const Rpc rpc : kAllRpcs) Calls(rpc, "OK");
  Calls(Rpc::kListAndWatch, "CANCELLED");
  CallDuration(Rpc::kAllocate);
  store_.AddResource(resource_);
  store_.Change(resource_, [at = now_()](ResourceStatus& status) {
    if (!status.registered_changed_at) status.registered_changed_at = at;
  });
}

ResourceMetrics::~ResourceMetrics() { store_.RemoveResource(resource_); }

ResourceMetrics::ProbeSeries& ResourceMetrics::Probes() {
  const std::lock_guard lock(mutex_);
  if (!probes_) probes_.emplace(labels_, families_);
  return *probes_;
}

ResourceMetrics::HookSeries& ResourceMetrics::Hooks(Hook hook, bool success) {
  const std::lock_guard lock(mutex_);
  const std::pair key(hook, success);
  if (const auto found = hooks_.find(key); found != hooks_.end()) return found->second;
  const prometheus::Labels labels = With(labels_, "hook", Name(hook));
  return hooks_.try_emplace(key, With(labels, "result", success ? "success" : "failure"), families_)
      .first->second;
}

OwnedCounter& ResourceMetrics::Calls(Rpc rpc, std::string_view code) {
  const std::lock_guard lock(mutex_);
  const std::pair key(rpc, KnownCode(code));
  if (const auto found = calls_.find(key); found != calls_.end()) return found->second;
  const prometheus::Labels labels = With(labels_, "method", Name(rpc));
  return calls_.try_emplace(key, families_.rpcs, With(labels, "code", key.second)).first->second;
}

OwnedHistogram& ResourceMetrics::CallDuration(Rpc rpc) {
  const std::lock_guard lock(mutex_);
  const auto found = call_durations_.find(rpc);
  if (found != call_durations_.end()) return found->second;
  return call_durations_
      .try_emplace(rpc, families_.rpc_duration, With(labels_, "method", Name(rpc)),
                   DurationBuckets())
      .first->second;
}

void ResourceMetrics::OnSnapshot(std::shared_ptr<const Snapshot> snapshot) {
  if (snapshot && snapshot->spec) {
    if (snapshot->spec->health) Probes();
    for (const Hook hook : kAllHooks) {
      if (!HookOf(*snapshot->spec, hook)) continue;
      Hooks(hook, true);
      Hooks(hook, false);
    }
  }
  const auto before = store_.Exchange(resource_, snapshot, now_());
  if (!before || !snapshot) return;
  const HealthTransitions transitions = CountTransitions(*before, *snapshot);
  to_healthy_->Increment(transitions.to_healthy);
  to_unhealthy_->Increment(transitions.to_unhealthy);
}

void ResourceMetrics::OnShared(std::size_t devices) {
  shared_devices_->Set(static_cast<double>(devices));
}

void ResourceMetrics::OnScan(std::chrono::nanoseconds duration, bool complete) {
  scans_->Increment();
  scan_duration_->Observe(Seconds(duration).count());
  const WallTime now = now_();
  if (complete) last_complete_scan_->Set(Seconds(now.time_since_epoch()).count());
  store_.Change(resource_, [&](ResourceStatus& status) {
    status.last_scan = ScanStatus{now, duration, complete};
  });
}

void ResourceMetrics::OnProbe(const std::string& device, const ProbeOutcome& outcome) {
  ProbeSeries& series = Probes();
  series.results.at(outcome.result)->Increment();
  series.duration->Observe(Seconds(outcome.took).count());
  store_.SetProbe(resource_, device, {now_(), outcome.took, outcome.result, outcome.reason});
}

void ResourceMetrics::OnNextProbe(const std::string& device,
                                  std::optional<std::chrono::nanoseconds> in) {
  std::optional<WallTime> at;
  if (in) at = now_() + std::chrono::duration_cast<WallTime::duration>(*in);
  store_.SetNextProbe(resource_, device, at);
}

void ResourceMetrics::OnExplanation(std::shared_ptr<const MatchSummaries> explanation) {
  store_.Change(resource_, [&](ResourceStatus& status) { status.explanation.swap(explanation); });
}

void ResourceMetrics::OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) {
  HookSeries& series = Hooks(hook, success);
  series.runs->Increment();
  series.duration->Observe(Seconds(duration).count());
}

void ResourceMetrics::OnUsage(std::shared_ptr<const PodUsage> usage) {
  store_.Change(resource_, [&](ResourceStatus& status) { status.usage.swap(usage); });
}

void ResourceMetrics::OnRegistration(bool accepted) { registrations_.of(accepted)->Increment(); }

void ResourceMetrics::OnRegistrationStatus(const RegistrationStatus& registration) {
  registered_->Set(registration.state == RegistrationState::kRegistered ? 1 : 0);
  store_.Change(resource_, [&, at = now_()](ResourceStatus& status) {
    const bool was_registered = status.registration.state == RegistrationState::kRegistered;
    if (was_registered != (registration.state == RegistrationState::kRegistered)) {
      status.registered_changed_at = at;
    }
    status.registration = registration;
  });
}

void ResourceMetrics::OnStreams(int open) {
  streams_->Set(open);
  store_.Change(resource_, [&](ResourceStatus& status) { status.streams = open; });
}

void ResourceMetrics::OnListSent() { lists_sent_->Increment(); }

void ResourceMetrics::OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) {
  Calls(rpc, code)->Increment();
  if (HasDuration(rpc)) CallDuration(rpc)->Observe(Seconds(duration).count());
}

void ResourceMetrics::OnAllocation(bool granted, int devices) {
  allocations_.of(granted)->Increment();
  if (granted) allocated_units_->Increment(devices);
}

}  // namespace patchbay
