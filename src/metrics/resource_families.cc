#include <array>
#include <chrono>
#include <iterator>
#include <string>
#include <string_view>

#include "metrics/families.h"

namespace patchbay {
namespace {

using AddResource = void (*)(const std::string& resource, const ResourceStatus& status,
                             FamilySeries& series);
template <AddResource add>
void EachResource(const NodeStatus& node, FamilySeries& series) {
  for (const auto& [resource, status] : node.resources) add(resource, status, series);
}

void AddRegistered(const std::string& resource, const ResourceStatus& status,
                   FamilySeries& series) {
  const bool is_registered = status.registration.state == RegistrationState::kRegistered;
  series.Add({{"resource", resource}}, is_registered ? 1 : 0);
}

void AddRegistrations(const std::string& resource, const ResourceStatus& status,
                      FamilySeries& series) {
  const CountersByResult& registrations = status.counters->registrations;
  series.AddByResult(resource, registrations.success.Value(), registrations.failure.Value());
}

void AddStreams(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  series.Add({{"resource", resource}}, status.streams);
}

void AddListsSent(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  series.Add({{"resource", resource}}, status.counters->lists_sent.Value());
}

void AddTransitions(const std::string& resource, const ResourceStatus& status,
                    FamilySeries& series) {
  series.Add({{"resource", resource}, {"to", "healthy"}}, status.counters->to_healthy.Value());
  series.Add({{"resource", resource}, {"to", "unhealthy"}}, status.counters->to_unhealthy.Value());
}

void AddAllocations(const std::string& resource, const ResourceStatus& status,
                    FamilySeries& series) {
  const CountersByResult& allocations = status.counters->allocations;
  series.AddByResult(resource, allocations.success.Value(), allocations.failure.Value());
}

void AddAllocatedUnits(const std::string& resource, const ResourceStatus& status,
                       FamilySeries& series) {
  series.Add({{"resource", resource}}, status.counters->allocated_units.Value());
}

/// Adds those that are not zero, and those that are expected.
void AddCallsOf(const std::string& resource, std::string_view method, const CallCounters& calls,
                bool is_stream, FamilySeries& series) {
  for (std::size_t code = 0; code < std::size(kStatusCodes); ++code) {
    const std::string_view name = kStatusCodes[code];
    const bool is_expected = name == "OK" || (is_stream && name == "CANCELLED");
    const double count = calls.Value(code);
    if (count == 0 && !is_expected) continue;
    series.Add({{"code", name}, {"method", method}, {"resource", resource}}, count);
  }
}

/// A driver serves all resources, so its calls have none.
void AddCalls(const NodeStatus& node, FamilySeries& series) {
  for (const auto& [resource, status] : node.resources) {
    for (const Rpc rpc : kAllRpcs) {
      AddCallsOf(resource, Name(rpc), status.counters->calls.at(static_cast<std::size_t>(rpc)),
                 rpc == Rpc::kListAndWatch, series);
    }
  }
  if (!node.driver) return;
  for (const DriverRpc rpc : kAllDriverRpcs) {
    AddCallsOf("", Name(rpc), node.driver->CallsOf(rpc), rpc == DriverRpc::kNodeWatchResources,
               series);
  }
}

/// A stream lasts as long as the kubelet, and the options are a constant.
void AddCallDurations(const std::string& resource, const ResourceStatus& status,
                      FamilySeries& series) {
  for (const Rpc rpc : {Rpc::kGetPreferredAllocation, Rpc::kAllocate, Rpc::kPreStartContainer}) {
    const Durations& durations = status.counters->call_durations.at(static_cast<std::size_t>(rpc));
    if (rpc != Rpc::kAllocate && durations.Count() == 0) continue;
    series.Add({{"method", Name(rpc)}, {"resource", resource}}, durations);
  }
}

void AddScans(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  series.Add({{"resource", resource}}, status.counters->scans.Count());
}

void AddScanDurations(const std::string& resource, const ResourceStatus& status,
                      FamilySeries& series) {
  series.Add({{"resource", resource}}, status.counters->scans);
}

void AddLastCompleteScan(const std::string& resource, const ResourceStatus& status,
                         FamilySeries& series) {
  const WallTime at = status.last_complete_scan.value_or(WallTime());
  series.Add({{"resource", resource}},
             std::chrono::duration<double>(at.time_since_epoch()).count());
}

void AddSharedDevices(const std::string& resource, const ResourceStatus& status,
                      FamilySeries& series) {
  series.Add({{"resource", resource}}, static_cast<double>(status.shared_devices));
}

/// Those of a resource without probes are left out.
bool HasProbes(const ResourceStatus& status) {
  if (status.counters->probe_durations.Count() > 0) return true;
  return status.snapshot && status.snapshot->spec && status.snapshot->spec->health;
}

void AddProbes(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  if (!HasProbes(status)) return;
  for (const ProbeResult result : kAllProbeResults) {
    series.Add({{"resource", resource}, {"result", Name(result)}},
               status.counters->probes.at(static_cast<std::size_t>(result)).Value());
  }
}

void AddProbeDurations(const std::string& resource, const ResourceStatus& status,
                       FamilySeries& series) {
  if (HasProbes(status)) series.Add({{"resource", resource}}, status.counters->probe_durations);
}

/// Calls `add` for the hooks that the resource has or had, with each result.
template <class Add>
void EachHook(const ResourceStatus& status, Add add) {
  for (const Hook hook : kAllHooks) {
    const auto& runs = status.counters->hooks.at(static_cast<std::size_t>(hook));
    const bool has_hook =
        status.snapshot && status.snapshot->spec && HookOf(*status.snapshot->spec, hook);
    if (has_hook || runs.success.Count() > 0) add(Name(hook), "success", runs.success);
    if (has_hook || runs.failure.Count() > 0) add(Name(hook), "failure", runs.failure);
  }
}

void AddHooks(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  EachHook(status, [&](std::string_view hook, std::string_view result, const Durations& runs) {
    series.Add({{"hook", hook}, {"resource", resource}, {"result", result}}, runs.Count());
  });
}

void AddHookDurations(const std::string& resource, const ResourceStatus& status,
                      FamilySeries& series) {
  EachHook(status, [&](std::string_view hook, std::string_view result, const Durations& runs) {
    series.Add({{"hook", hook}, {"resource", resource}, {"result", result}}, runs);
  });
}

void AddUnits(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  double healthy = 0, unhealthy = 0;
  if (status.snapshot) {
    const double replicas = status.snapshot->spec ? status.snapshot->spec->replicas : 1;
    for (const ListedDevice& listed : status.snapshot->devices) {
      (listed.health == Health::kHealthy ? healthy : unhealthy) += replicas;
    }
  }
  series.Add({{"health", "healthy"}, {"resource", resource}}, healthy);
  series.Add({{"health", "unhealthy"}, {"resource", resource}}, unhealthy);
}

void AddRejected(const std::string& resource, const ResourceStatus& status, FamilySeries& series) {
  std::array<double, std::size(kAllRejectReasons)> by_reason{};
  if (status.snapshot) {
    for (const Rejection& rejection : status.snapshot->rejected) {
      ++by_reason.at(static_cast<std::size_t>(rejection.reason));
    }
  }
  for (const RejectReason reason : kAllRejectReasons) {
    series.Add({{"reason", Name(reason)}, {"resource", resource}},
               by_reason.at(static_cast<std::size_t>(reason)));
  }
}

void AddUnitsInUse(const std::string& resource, const ResourceStatus& status,
                   FamilySeries& series) {
  series.Add({{"resource", resource}}, status.usage ? static_cast<double>(status.usage->units) : 0);
}

template <void (*add)(const std::string& resource, const ListedDevice& listed,
                      FamilySeries& series)>
void EachListed(const NodeStatus& node, FamilySeries& series) {
  if (!node.device_metrics) return;
  for (const auto& [resource, status] : node.resources) {
    if (!status.snapshot) continue;
    for (const ListedDevice& listed : status.snapshot->devices) add(resource, listed, series);
  }
}

void AddInfo(const std::string& resource, const ListedDevice& listed, FamilySeries& series) {
  const Device& device = *listed.device;
  const std::string_view path = device.nodes.empty() ? "" : std::string_view(device.nodes[0].path);
  const std::string numa = device.numa_node ? std::to_string(*device.numa_node) : "";
  series.Add({{"device", device.id}, {"numa_node", numa}, {"path", path}, {"resource", resource}},
             1);
}

void AddHealthy(const std::string& resource, const ListedDevice& listed, FamilySeries& series) {
  series.Add({{"device", listed.device->id}, {"resource", resource}},
             listed.health == Health::kHealthy ? 1 : 0);
}

void AddInUse(const NodeStatus& node, FamilySeries& series) {
  if (!node.device_metrics) return;
  for (const auto& [resource, status] : node.resources) {
    if (!status.usage) continue;
    for (const auto& [device, holders] : status.usage->holders) {
      for (const Holder& holder : holders) {
        series.Add({{"container", holder.container},
                    {"device", device},
                    {"namespace", holder.pod_namespace},
                    {"pod", holder.pod},
                    {"resource", resource}},
                   1);
      }
    }
  }
}

constexpr Family kResourceFamilies[] = {
    {"patchbay_resource_registered", kGauge, EachResource<AddRegistered>,
     "1 while the resource is registered and the kubelet watches its devices. If it stays 0 while "
     "patchbay_kubelet_up is 1, pods that request the resource are not scheduled to the node; the "
     "log has the reason."},
    {"patchbay_registrations_total", kCounter, EachResource<AddRegistrations>,
     "Attempts to register the resource with the kubelet, by result; with api = \"dra\", of its "
     "driver. Persistent failures are logged with the reason."},
    {"patchbay_list_watch_streams", kGauge, EachResource<AddStreams>,
     "Open ListAndWatch streams. 1 is normal; 0 means the kubelet gets no updates; more than 1 "
     "means another client is connected."},
    {"patchbay_list_watch_updates_total", kCounter, EachResource<AddListsSent>,
     "Device lists sent to the kubelet. A high rate means that devices flap; see "
     "patchbay_device_health_transitions_total."},
    {"patchbay_device_health_transitions_total", kCounter, EachResource<AddTransitions>,
     "Health transitions of listed devices. A device that disappears becomes unhealthy. A high "
     "rate indicates a loose cable, a failing card, or a probe that is too strict."},
    {"patchbay_allocations_total", kCounter, EachResource<AddAllocations>,
     "Allocate requests answered, one per container, by result. A failure rejects the pod; the "
     "pod's events and the log have the reason."},
    {"patchbay_allocated_units_total", kCounter, EachResource<AddAllocatedUnits>,
     "Units allocated to containers since the start. For current usage see patchbay_units_in_use."},
    {"patchbay_rpcs_total", kCounter, AddCalls,
     "Calls from the kubelet, by method and gRPC status code; `resource` is empty for those of "
     "Dynamic Resource Allocation. Codes other than OK (and CANCELLED for ListAndWatch and "
     "NodeWatchResources) should be investigated in the log."},
    {"patchbay_rpc_duration_seconds", kHistogram, EachResource<AddCallDurations>,
     "Duration of calls from the kubelet, without ListAndWatch. A slow Allocate delays the start "
     "of every pod on the node."},
    {"patchbay_discovery_scans_total", kCounter, EachResource<AddScans>,
     "Number of scans of the host for devices of the resource. A high rate means that watched "
     "directories keep changing."},
    {"patchbay_discovery_duration_seconds", kHistogram, EachResource<AddScanDurations>,
     "Duration of scans of the host for devices of the resource. If scans are slow, narrow the "
     "pattern."},
    {"patchbay_discovery_last_success_timestamp_seconds", kGauge, EachResource<AddLastCompleteScan>,
     "Unix time of the last scan that could read everything. If it is much older than the rescan "
     "period, something cannot be read; see patchbay_rejected_devices and the log."},
    {"patchbay_shared_devices", kGauge, EachResource<AddSharedDevices>,
     "Devices of the resource with a device node that another resource also lists, so it may be "
     "allocated twice. Exclude it from one resource, or make one exclusive; the log names both."},
    {"patchbay_probes_total", kCounter, EachResource<AddProbes>,
     "Health probes of the resource's devices, by result. \"failure\" and \"timeout\" indicate a "
     "failing device, \"error\" a probe that cannot run; 'patchbay devices --probe' shows the "
     "output."},
    {"patchbay_probe_duration_seconds", kHistogram, EachResource<AddProbeDurations>,
     "Duration of health probes. If it is near the timeout, raise the timeout or use a cheaper "
     "probe."},
    {"patchbay_hooks_total", kCounter, EachResource<AddHooks>,
     "Runs of the resource's hooks, by hook and result. A failed pre_start or allocate hook keeps "
     "a container from starting; the pod's events have the reason."},
    {"patchbay_hook_duration_seconds", kHistogram, EachResource<AddHookDurations>,
     "Duration of hooks, for all devices of a container. The kubelet admits no other pod while an "
     "allocate hook runs."},
    {"patchbay_units", kGauge, EachResource<AddUnits>,
     "Units advertised to the kubelet, by health: devices times 'replicas'. Unhealthy units "
     "cannot be allocated. If both are 0 on a node that has the hardware, run 'patchbay explain'."},
    {"patchbay_rejected_devices", kGauge, EachResource<AddRejected>,
     "Devices that match the resource but are not listed, by reason. It should be 0; 'patchbay "
     "devices' shows each path and the reason."},
    {"patchbay_units_in_use", kGauge, EachResource<AddUnitsInUse>,
     "Units of the resource that pods hold, from the kubelet's PodResources API. When it reaches "
     "patchbay_units, the next pod stays Pending."},
    {"patchbay_device_info", kGauge, EachListed<AddInfo>,
     "Always 1, one series per device regardless of 'replicas'; path is the first device node. "
     "Join on it to find the hardware for a device ID."},
    {"patchbay_device_healthy", kGauge, EachListed<AddHealthy>,
     "1 while the device is healthy, 0 while it is unhealthy or missing. Unhealthy devices are "
     "not allocated."},
    {"patchbay_device_in_use", kGauge, AddInUse,
     "Always 1, one series per container that holds the device. Join on it to find the pods that "
     "use an unhealthy device."},
};

}  // namespace

std::span<const Family> ResourceFamilies() { return kResourceFamilies; }

}  // namespace patchbay
