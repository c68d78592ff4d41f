#include "metrics/resource_metrics.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "metrics/device_families.h"

namespace patchbay {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::string_view kCodeNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr std::size_t kUnknown = 2;

/// The codes that are to be expected: a series has to be there at 0 for its first increase to be
/// seen.
std::span<const std::string_view> CodesOf(Rpc rpc) {
  static constexpr std::string_view kAsked[] = {"OK"};
  static constexpr std::string_view kStreamed[] = {"OK", "CANCELLED"};
  static constexpr std::string_view kGiven[] = {
      "OK", "CANCELLED", "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "UNAVAILABLE"};
  switch (rpc) {
    case Rpc::kListAndWatch: return kStreamed;
    case Rpc::kAllocate:
    case Rpc::kPreStartContainer: return kGiven;
    case Rpc::kGetDevicePluginOptions:
    case Rpc::kGetPreferredAllocation: break;
  }
  return kAsked;
}

}  // namespace

ResourceMetrics::Method::Method(const std::string& resource, Rpc rpc, MetricFamilies& all_families)
    : families(all_families),
      labels{{"method", std::string(Name(rpc))}, {"resource", resource}},
      duration(families, families.rpc_duration, labels, DurationBuckets()) {
  static_assert(std::size(kCodeNames) == kCodes);
  for (const std::string_view code : CodesOf(rpc)) Code(code);
}

ResourceMetrics::Method::~Method() {
  if (families.is_shutting_down) return;
  for (const auto& counter : codes) {
    if (prometheus::Counter* known = counter.load()) families.rpcs.Remove(known);
  }
}

prometheus::Counter& ResourceMetrics::Method::Code(std::string_view code) {
  const auto found = std::find(std::begin(kCodeNames), std::end(kCodeNames), code);
  const std::size_t index = found == std::end(kCodeNames)
                                ? kUnknown
                                : static_cast<std::size_t>(found - std::begin(kCodeNames));
  if (prometheus::Counter* known = codes[index].load(std::memory_order_acquire)) return *known;
  prometheus::Labels all = labels;
  all.emplace("code", kCodeNames[index]);
  // Threads that come here together get the same counter.
  prometheus::Counter& counter = families.rpcs.Add(all);
  codes[index].store(&counter, std::memory_order_release);
  return counter;
}

ResourceMetrics::HookSeries::HookSeries(const std::string& resource, Hook hook,
                                        std::string_view result, MetricFamilies& families)
    : runs(families, families.hooks,
           {{"hook", std::string(Name(hook))},
            {"resource", resource},
            {"result", std::string(result)}}),
      duration(families, families.hook_duration,
               {{"hook", std::string(Name(hook))},
                {"resource", resource},
                {"result", std::string(result)}},
               DurationBuckets()) {}

ResourceMetrics::ResourceMetrics(const std::string& resource, MetricFamilies& families,
                                 StatusStore& store, const Now& now)
    : resource_(resource),
      store_(store),
      now_(now),
      registered_(families, families.registered, {{"resource", resource_}}),
      registrations_(families, families.registrations, resource_),
      streams_(families, families.list_watch_streams, {{"resource", resource_}}),
      lists_sent_(families, families.list_watch_updates, {{"resource", resource_}}),
      to_healthy_(families, families.device_health_transitions,
                  {{"resource", resource_}, {"to", "healthy"}}),
      to_unhealthy_(families, families.device_health_transitions,
                    {{"resource", resource_}, {"to", "unhealthy"}}),
      allocations_(families, families.allocations, resource_),
      allocated_devices_(families, families.allocated_devices, {{"resource", resource_}}),
      scans_(families, families.discovery_scans, {{"resource", resource_}}),
      scan_duration_(families, families.discovery_duration, {{"resource", resource_}},
                     DurationBuckets()),
      last_complete_scan_(families, families.discovery_last_success_timestamp,
                          {{"resource", resource_}}),
      shared_devices_(families, families.shared_devices, {{"resource", resource_}}),
      probe_duration_(families, families.probe_duration, {{"resource", resource_}},
                      DurationBuckets()) {
  for (const ProbeResult result : kAllProbeResults) {
    const prometheus::Labels labels{{"resource", resource_}, {"result", std::string(Name(result))}};
    probes_.at(static_cast<std::size_t>(result)) =
        std::make_unique<OwnedMetric<prometheus::Counter>>(families, families.probes, labels);
  }
  for (const Hook hook : kAllHooks) {
    hooks_.at(static_cast<std::size_t>(hook)) =
        std::make_unique<HookOutcomes>(resource_, hook, families);
  }
  for (const Rpc rpc : kAllRpcs) {
    methods_.at(static_cast<std::size_t>(rpc)) = std::make_unique<Method>(resource_, rpc, families);
  }
  store_.AddResource(resource_);
}

ResourceMetrics::~ResourceMetrics() { store_.RemoveResource(resource_); }

void ResourceMetrics::OnSnapshot(std::shared_ptr<const Snapshot> snapshot) {
  const auto before = store_.Exchange(resource_, snapshot);
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
  (*probes_.at(static_cast<std::size_t>(outcome.result)))->Increment();
  probe_duration_->Observe(Seconds(outcome.took).count());
  store_.SetProbe(resource_, device, {now_(), outcome.took, outcome.result, outcome.reason});
}

void ResourceMetrics::OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) {
  HookOutcomes& outcomes = *hooks_.at(static_cast<std::size_t>(hook));
  HookSeries& series = success ? outcomes.success : outcomes.failure;
  series.runs->Increment();
  series.duration->Observe(Seconds(duration).count());
}

void ResourceMetrics::OnUsage(std::shared_ptr<const Usage> usage) {
  store_.Change(resource_, [&](ResourceStatus& status) { status.usage.swap(usage); });
}

void ResourceMetrics::OnRegistration(bool accepted) {
  (accepted ? registrations_.success : registrations_.failure)->Increment();
}

void ResourceMetrics::OnRegistrationStatus(const RegistrationStatus& registration) {
  registered_->Set(registration.state == RegistrationState::kRegistered ? 1 : 0);
  store_.Change(resource_, [&](ResourceStatus& status) { status.registration = registration; });
}

void ResourceMetrics::OnStreams(int open) {
  streams_->Set(open);
  store_.Change(resource_, [&](ResourceStatus& status) { status.streams = open; });
}

void ResourceMetrics::OnListSent() { lists_sent_->Increment(); }

void ResourceMetrics::OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) {
  Method& method = *methods_.at(static_cast<std::size_t>(rpc));
  method.Code(code).Increment();
  method.duration->Observe(Seconds(duration).count());
}

void ResourceMetrics::OnAllocation(bool granted, int devices) {
  (granted ? allocations_.success : allocations_.failure)->Increment();
  if (granted) allocated_devices_->Increment(devices);
}

}  // namespace patchbay
