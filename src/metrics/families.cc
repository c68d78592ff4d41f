#include "metrics/families.h"

namespace patchbay {
namespace {

MetricFamilies::Counters& Counter(prometheus::Registry& registry, const char* name,
                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

MetricFamilies::Gauges& Gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

MetricFamilies::Histograms& Histogram(prometheus::Registry& registry, const char* name,
                                      const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

MetricFamilies::MetricFamilies()
    : build_info(Gauge(registry, "patchbay_build_info",
                       "Always 1; the labels name the running build. Join on it to compare nodes "
                       "during a rollout.")),
      config_last_reload_successful(
          Gauge(registry, "patchbay_config_last_reload_successful",
                "1 if the last configuration that was read is valid. If 0, run 'patchbay check' "
                "on the file; the log has the errors.")),
      config_last_reload_success_timestamp(
          Gauge(registry, "patchbay_config_last_reload_success_timestamp_seconds",
                "Unix time at which the current configuration was loaded. Compare it with the "
                "time of your last change.")),
      config_reloads(Counter(registry, "patchbay_config_reloads_total",
                             "Number of times the configuration was read, including the first "
                             "time, by result. Alert on any increase of result=\"failure\".")),
      kubelet_up(Gauge(registry, "patchbay_kubelet_up",
                       "1 while the kubelet's device plugin socket exists and accepts "
                       "connections. If it stays 0, the kubelet is down or kubelet_dir is not the "
                       "kubelet's directory.")),
      kubelet_restarts(Counter(registry, "patchbay_kubelet_restarts_total",
                               "Number of kubelet restarts detected; every resource re-registers "
                               "each time. If it keeps increasing, check the kubelet's log.")),
      resource_registered(
          Gauge(registry, "patchbay_resource_registered",
                "1 while the resource is registered and the kubelet watches its devices. If it "
                "stays 0 while patchbay_kubelet_up is 1, pods that request the resource are not "
                "scheduled to the node; the log has the reason. Formerly patchbay_registered.")),
      registrations(Counter(registry, "patchbay_registrations_total",
                            "Attempts to register the resource with the kubelet, by result; with "
                            "api = \"dra\", of its driver. "
                            "Persistent failures are logged with the reason.")),
      list_watch_streams(
          Gauge(registry, "patchbay_list_watch_streams",
                "Open ListAndWatch streams. 1 is normal; 0 means the kubelet gets no updates; "
                "more than 1 means another client is connected.")),
      list_watch_updates(
          Counter(registry, "patchbay_list_watch_updates_total",
                  "Device lists sent to the kubelet. A high rate means that devices flap; see "
                  "patchbay_device_health_transitions_total.")),
      device_health_transitions(
          Counter(registry, "patchbay_device_health_transitions_total",
                  "Health transitions of listed devices. A device that disappears becomes "
                  "unhealthy. A high rate indicates a loose cable, a failing card, or a probe "
                  "that is too strict.")),
      allocations(Counter(registry, "patchbay_allocations_total",
                          "Allocate requests answered, one per container, by result. A failure "
                          "rejects the pod; the pod's events and the log have the reason.")),
      allocated_units(Counter(registry, "patchbay_allocated_units_total",
                              "Units allocated to containers since the start. For current usage "
                              "see patchbay_units_in_use. Formerly "
                              "patchbay_allocated_devices_total.")),
      rpcs(Counter(registry, "patchbay_rpcs_total",
                   "Calls from the kubelet, by method and gRPC status code; `resource` is empty "
                   "for those of Dynamic Resource Allocation. Codes other than OK (and CANCELLED "
                   "for ListAndWatch and NodeWatchResources) should be investigated in the log.")),
      rpc_duration(Histogram(registry, "patchbay_rpc_duration_seconds",
                             "Duration of calls from the kubelet, without ListAndWatch. A slow "
                             "Allocate delays the start of every pod on the node.")),
      discovery_scans(Counter(registry, "patchbay_discovery_scans_total",
                              "Number of scans of the host for devices of the resource. A high "
                              "rate means that watched directories keep changing.")),
      discovery_duration(Histogram(registry, "patchbay_discovery_duration_seconds",
                                   "Duration of scans of the host for devices of the resource. If "
                                   "scans are slow, narrow the pattern.")),
      discovery_last_success_timestamp(
          Gauge(registry, "patchbay_discovery_last_success_timestamp_seconds",
                "Unix time of the last scan that could read everything. If it is much older than "
                "the rescan period, something cannot be read; see patchbay_rejected_devices and "
                "the log.")),
      shared_devices(Gauge(registry, "patchbay_shared_devices",
                           "Devices of the resource with a device node that another resource also "
                           "lists, so it may be allocated twice. Exclude it from one "
                           "resource, or make one exclusive; the log names both.")),
      probes(Counter(registry, "patchbay_probes_total",
                     "Health probes of the resource's devices, by result. \"failure\" and "
                     "\"timeout\" indicate a failing device, \"error\" a probe that cannot "
                     "run; 'patchbay devices --probe' shows the output.")),
      probe_duration(Histogram(registry, "patchbay_probe_duration_seconds",
                               "Duration of health probes. If it is near the timeout, raise the "
                               "timeout or use a cheaper probe.")),
      hooks(Counter(registry, "patchbay_hooks_total",
                    "Runs of the resource's hooks, by hook and result. A failed pre_start or "
                    "allocate hook keeps a container from starting; the pod's events have the "
                    "reason.")),
      hook_duration(Histogram(registry, "patchbay_hook_duration_seconds",
                              "Duration of hooks, for all devices of a container. The kubelet "
                              "admits no other pod while an allocate hook runs.")),
      pod_resources_up(
          Gauge(registry, "patchbay_pod_resources_up",
                "1 while the kubelet's PodResources API answers. If 0, the kubelet is down or "
                "/var/lib/kubelet/pod-resources is not mounted; device usage is unknown and "
                "release hooks do not run.")),
      api_server_up(
          Gauge(registry, "patchbay_api_server_up",
                "1 while the API server answers. If it stays 0, Patchbay cannot publish devices "
                "or prepare new claims; the log has the reason.")),
      api_requests(Counter(registry, "patchbay_api_requests_total",
                           "Requests to the API server, by verb and result: the HTTP status, or "
                           "the kind of error if there was no response. 403 means that "
                           "permissions are missing.")),
      resource_slices(
          Gauge(registry, "patchbay_resource_slices",
                "ResourceSlices of the resource that the API server stores. If it is 0, no pod "
                "gets a device of the resource on the node.")),
      resource_slice_writes(
          Counter(registry, "patchbay_resource_slice_writes_total",
                  "Attempts to create, update or delete a ResourceSlice, by result. After a "
                  "failure the scheduler uses an old list of devices; the log has the reason.")),
      claim_prepares(Counter(registry, "patchbay_claim_prepares_total",
                             "ResourceClaims that the kubelet asked to prepare, by result. "
                             "`resource` is empty if the devices of the claim were not known, for "
                             "example because the API server did not respond. After a failure the "
                             "pod waits in ContainerCreating; its events and the log have the "
                             "reason.")),
      claim_prepare_duration(
          Histogram(registry, "patchbay_claim_prepare_duration_seconds",
                    "Time to prepare a ResourceClaim, including its hooks. The kubelet waits 45 "
                    "seconds at most.")),
      claim_unprepares(Counter(
          registry, "patchbay_claim_unprepares_total",
          "ResourceClaims that the kubelet asked to release, by result. `resource` is empty "
          "if the claim was not prepared or its file could not be read. After a failure "
          "the pod stays in Terminating, and the kubelet tries again; the log has the "
          "reason.")),
      prepared_claims(Gauge(registry, "patchbay_prepared_claims",
                            "ResourceClaims with devices of the resource that are prepared on the "
                            "node.")),
      health_streams(Gauge(registry, "patchbay_health_streams",
                           "Open NodeWatchResources streams. 1 is normal; with 0 the kubelet does "
                           "not receive the health of devices, as before Kubernetes 1.36 without "
                           "the feature gate ResourceHealthStatus.")),
      api_dropped_fields(
          Gauge(registry, "patchbay_api_dropped_fields",
                "Always 1, one series per field of ResourceSlices that the API server does not "
                "store. Upgrade it, or turn on DRADeviceTaints for \"taints\" and "
                "DRAConsumableCapacity for \"allowMultipleAllocations\".")) {}

const prometheus::Histogram::BucketBoundaries& DurationBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {0.0005, 0.002, 0.01, 0.05,
                                                                  0.2,    1,     5,    10};
  return buckets;
}

const prometheus::Histogram::BucketBoundaries& ClaimDurationBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {0.0005, 0.002, 0.01, 0.05,
                                                                  0.2,    1,     10,   40};
  return buckets;
}

}  // namespace patchbay
