#include "http/resource_series.h"

#include <algorithm>
#include <iterator>

#include "http/labels.h"

namespace patchbay {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::string_view kCodeNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr std::size_t kUnknown = 2;

}  // namespace

ResourceSeries::Method::Method(const std::string& resource, Rpc rpc, Families& families)
    : family(families.rpcs),
      labels{{"method", std::string(Name(rpc))}, {"resource", resource}},
      duration(families.rpc_duration, labels, DurationBuckets()) {
  static_assert(std::size(kCodeNames) == kCodes);
  Code("OK");
}

ResourceSeries::Method::~Method() {
  for (const auto& counter : codes) {
    if (prometheus::Counter* known = counter.load()) family.Remove(known);
  }
}

prometheus::Counter& ResourceSeries::Method::Code(std::string_view code) {
  const auto found = std::find(std::begin(kCodeNames), std::end(kCodeNames), code);
  const std::size_t index = found == std::end(kCodeNames)
                                ? kUnknown
                                : static_cast<std::size_t>(found - std::begin(kCodeNames));
  if (prometheus::Counter* known = codes[index].load(std::memory_order_acquire)) return *known;
  prometheus::Labels all = labels;
  all.emplace("code", kCodeNames[index]);
  // Threads that come here together get the same counter.
  prometheus::Counter& counter = family.Add(all);
  codes[index].store(&counter, std::memory_order_release);
  return counter;
}

ResourceSeries::HookSeries::HookSeries(const std::string& resource, Hook hook, Families& families)
    : success(families.hooks,
              {{"hook", std::string(Name(hook))}, {"resource", resource}, {"result", "success"}}),
      failure(families.hooks,
              {{"hook", std::string(Name(hook))}, {"resource", resource}, {"result", "failure"}}),
      duration(families.hook_duration, {{"hook", std::string(Name(hook))}, {"resource", resource}},
               DurationBuckets()) {}

ResourceSeries::ResourceSeries(const std::string& resource, Families& families,
                               DeviceCollector& devices, const Now& now)
    : resource_(LabelValue(resource)),
      devices_(devices),
      now_(now),
      registered_(families.registered, {{"resource", resource_}}),
      registrations_(families.registrations, resource_),
      streams_(families.list_watch_streams, {{"resource", resource_}}),
      lists_sent_(families.list_watch_updates, {{"resource", resource_}}),
      to_healthy_(families.device_health_transitions, {{"resource", resource_}, {"to", "healthy"}}),
      to_unhealthy_(families.device_health_transitions,
                    {{"resource", resource_}, {"to", "unhealthy"}}),
      allocations_(families.allocations, resource_),
      allocated_devices_(families.allocated_devices, {{"resource", resource_}}),
      scans_(families.discovery_scans, {{"resource", resource_}}),
      scan_duration_(families.discovery_duration, {{"resource", resource_}}, DurationBuckets()),
      last_complete_scan_(families.discovery_last_success_timestamp, {{"resource", resource_}}),
      shared_devices_(families.shared_devices, {{"resource", resource_}}),
      probe_duration_(families.probe_duration, {{"resource", resource_}}, DurationBuckets()) {
  for (const ProbeResult result : kAllProbeResults) {
    const prometheus::Labels labels{{"resource", resource_}, {"result", std::string(Name(result))}};
    probes_.at(static_cast<std::size_t>(result)) =
        std::make_unique<Series<prometheus::Counter>>(families.probes, labels);
  }
  for (const Hook hook : kAllHooks) {
    hooks_.at(static_cast<std::size_t>(hook)) =
        std::make_unique<HookSeries>(resource_, hook, families);
  }
  for (const Rpc rpc : kAllRpcs) {
    methods_.at(static_cast<std::size_t>(rpc)) = std::make_unique<Method>(resource_, rpc, families);
  }
  devices_.Add(resource_);
}

ResourceSeries::~ResourceSeries() { devices_.Remove(resource_); }

void ResourceSeries::OnSnapshot(std::shared_ptr<const Snapshot> snapshot) {
  const auto before = devices_.Exchange(resource_, snapshot);
  if (!before || !snapshot) return;
  const HealthTransitions transitions = CountTransitions(*before, *snapshot);
  to_healthy_->Increment(transitions.to_healthy);
  to_unhealthy_->Increment(transitions.to_unhealthy);
}

void ResourceSeries::OnShared(std::size_t devices) {
  shared_devices_->Set(static_cast<double>(devices));
}

void ResourceSeries::OnScan(std::chrono::nanoseconds duration, bool complete) {
  scans_->Increment();
  scan_duration_->Observe(Seconds(duration).count());
  if (complete) last_complete_scan_->Set(Seconds(now_().time_since_epoch()).count());
}

void ResourceSeries::OnProbe(ProbeResult result, std::chrono::nanoseconds duration) {
  (*probes_.at(static_cast<std::size_t>(result)))->Increment();
  probe_duration_->Observe(Seconds(duration).count());
}

void ResourceSeries::OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) {
  HookSeries& series = *hooks_.at(static_cast<std::size_t>(hook));
  (success ? series.success : series.failure)->Increment();
  series.duration->Observe(Seconds(duration).count());
}

void ResourceSeries::OnUsage(std::shared_ptr<const Usage> usage) {
  devices_.SetUsage(resource_, std::move(usage));
}

void ResourceSeries::OnRegistration(bool accepted) {
  (accepted ? registrations_.success : registrations_.failure)->Increment();
}

void ResourceSeries::OnRegistered(bool registered) { registered_->Set(registered ? 1 : 0); }

void ResourceSeries::OnStreams(int open) { streams_->Set(open); }

void ResourceSeries::OnListSent() { lists_sent_->Increment(); }

void ResourceSeries::OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) {
  Method& method = *methods_.at(static_cast<std::size_t>(rpc));
  method.Code(code).Increment();
  method.duration->Observe(Seconds(duration).count());
}

void ResourceSeries::OnAllocation(bool granted, int devices) {
  (granted ? allocations_.success : allocations_.failure)->Increment();
  if (granted) allocated_devices_->Increment(devices);
}

}  // namespace patchbay
