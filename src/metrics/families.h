#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace patchbay {

/// The metric families whose values are kept between scrapes, with their names, types and help.
/// Families that are computed from snapshots are in device_families.h, those of the process in
/// process_families.h.
///
/// Thread-safe after construction.
struct MetricFamilies {
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  MetricFamilies();

  prometheus::Registry registry;

  Gauges& build_info;
  Gauges& config_last_reload_successful;
  Gauges& config_last_reload_success_timestamp;
  Counters& config_reloads;
  Gauges& kubelet_up;
  Counters& kubelet_restarts;

  Gauges& resource_registered;
  Counters& registrations;
  Gauges& list_watch_streams;
  Counters& list_watch_updates;
  Counters& device_health_transitions;
  Counters& allocations;
  Counters& allocated_units;
  Counters& rpcs;
  Histograms& rpc_duration;
  Counters& discovery_scans;
  Histograms& discovery_duration;
  Gauges& discovery_last_success_timestamp;
  Gauges& shared_devices;
  Counters& probes;
  Histograms& probe_duration;
  Counters& hooks;
  Histograms& hook_duration;
  Gauges& pod_resources_up;

  Gauges& api_server_up;
  Counters& api_requests;
  Gauges& resource_slices;
  Counters& resource_slice_writes;
  Counters& claim_prepares;
  Histograms& claim_prepare_duration;
  Counters& claim_unprepares;
  Gauges& prepared_claims;
  Gauges& health_streams;
  Gauges& api_dropped_fields;
};

/// The eight upper bounds of every duration histogram, in seconds, from 0.5 ms to 10 s; for claims,
/// to 40 s, the time limit of all hooks of a claim.
const prometheus::Histogram::BucketBoundaries& DurationBuckets();
const prometheus::Histogram::BucketBoundaries& ClaimDurationBuckets();

}  // namespace patchbay
