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
                       "Always 1; the labels tell which build runs. Join on it to compare nodes "
                       "during a rollout.")),
      config_last_reload_successful(Gauge(
          registry, "patchbay_config_last_reload_successful",
          "1 if the configuration was accepted when it was last read. 0: it has mistakes; run "
          "'patchbay check' on the file and see the log.")),
      config_last_reload_success_timestamp(
          Gauge(registry, "patchbay_config_last_reload_success_timestamp_seconds",
                "When the configuration in force was read, in Unix time. Compare it with the time "
                "of your last change to see whether it has arrived.")),
      config_reloads(Counter(registry, "patchbay_config_reloads_total",
                             "How often the configuration was read, the first time included, by "
                             "result. Alert on any increase of result=\"failure\".")),
      kubelet_up(
          Gauge(registry, "patchbay_kubelet_up",
                "1 while the kubelet's device plugin socket is there and answers. 0 for longer "
                "than a kubelet restart takes: the kubelet is down, or kubelet_dir is not its "
                "directory or not mounted.")),
      kubelet_restarts(Counter(registry, "patchbay_kubelet_restarts_total",
                               "How often the kubelet made its socket anew and every resource was "
                               "registered again. A steady increase: look at the kubelet's log.")),
      registered(Gauge(registry, "patchbay_registered",
                       "1 while the kubelet knows the resource and listens to its devices. 0 for "
                       "minutes while patchbay_kubelet_up is 1: pods that ask for the resource "
                       "cannot be placed here; see the log for why.")),
      registrations(Counter(registry, "patchbay_registrations_total",
                            "Attempts to register the resource with the kubelet, by result. "
                            "Failures that go on are told with their reason in the log.")),
      list_watch_streams(
          Gauge(registry, "patchbay_list_watch_streams",
                "Open ListAndWatch streams. 1 is normal; 0 means that the kubelet "
                "does not hear of changes, more than 1 that somebody else listens.")),
      list_watch_updates(Counter(registry, "patchbay_list_watch_updates_total",
                                 "Device lists sent to the kubelet. A high rate means devices that "
                                 "flap; patchbay_device_health_transitions_total tells more.")),
      device_health_transitions(Counter(
          registry, "patchbay_device_health_transitions_total",
          "Devices of the resource that turned healthy or unhealthy while listed; a device "
          "that vanishes counts as turning unhealthy. A high rate: a loose cable, a failing "
          "card, or a check that is too strict.")),
      allocations(Counter(registry, "patchbay_allocations_total",
                          "Answers to the kubelet's wish for devices, one for each container, by "
                          "result. A failure keeps the pod from starting; its event and the log "
                          "name the reason.")),
      allocated_devices(
          Counter(registry, "patchbay_allocated_devices_total",
                  "Devices handed to containers so far. It only grows: what is in use "
                  "now is patchbay_devices_in_use.")),
      rpcs(Counter(registry, "patchbay_rpcs_total",
                   "Calls the kubelet made, by method and gRPC status code. Codes other than OK "
                   "(and CANCELLED for ListAndWatch) deserve a look at the log.")),
      rpc_duration(
          Histogram(registry, "patchbay_rpc_duration_seconds",
                    "How long calls of the kubelet took. For ListAndWatch this is the life "
                    "of the stream. A slow Allocate delays the start of every pod on the "
                    "node.")),
      discovery_scans(Counter(registry, "patchbay_discovery_scans_total",
                              "How often the host was searched for devices of the resource. A high "
                              "rate means that watched directories change all the time.")),
      discovery_duration(Histogram(registry, "patchbay_discovery_duration_seconds",
                                   "How long a search of the host for devices took. If it is slow, "
                                   "narrow the pattern or the directories it has to walk.")),
      discovery_last_success_timestamp(
          Gauge(registry, "patchbay_discovery_last_success_timestamp_seconds",
                "When a search for devices last ended with everything readable, in Unix time. Much "
                "older than the rescan period: a directory cannot be read; see "
                "patchbay_rejected_devices and the log.")),
      shared_devices(
          Gauge(registry, "patchbay_shared_devices",
                "Devices of the resource with a node that another resource has too: the kubelet "
                "may give it out twice. Exclude it from one of them, or make one exclusive; the "
                "log names both.")),
      probes(Counter(registry, "patchbay_probes_total",
                     "Health probes of the resource's devices, by result. An increase of "
                     "\"failure\" or \"timeout\" is a sick device; of \"error\" a probe that "
                     "cannot be run; 'patchbay devices --probe' shows both.")),
      probe_duration(Histogram(registry, "patchbay_probe_duration_seconds",
                               "How long health probes took. Near the timeout: give them more "
                               "time, or a cheaper question.")),
      hooks(Counter(registry, "patchbay_hooks_total",
                    "Runs of the resource's hooks, by hook and result. A failure of pre_start or "
                    "allocate keeps a container from starting; its pod's events name the reason.")),
      hook_duration(Histogram(registry, "patchbay_hook_duration_seconds",
                              "How long hooks took, for all devices of a container. While an "
                              "allocate hook runs the kubelet admits no other pod.")),
      pod_resources_up(
          Gauge(registry, "patchbay_pod_resources_up",
                "1 while the kubelet tells which pods hold which devices. 0: the directory "
                "/var/lib/kubelet/pod-resources is not mounted, or the kubelet is down; who holds "
                "what is not known, and nothing is released.")) {}

const prometheus::Histogram::BucketBoundaries& DurationBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
      0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};
  return buckets;
}

}  // namespace patchbay
