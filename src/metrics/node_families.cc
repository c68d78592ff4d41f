#include <chrono>
#include <map>
#include <set>
#include <string>

#include "metrics/families.h"

namespace patchbay {
namespace {

void AddBuild(const NodeStatus& node, FamilySeries& series) {
  series.Add({{"revision", node.revision}, {"version", node.version}}, 1);
}

void AddConfigValid(const NodeStatus& node, FamilySeries& series) {
  series.Add({}, node.config.last && node.config.last->accepted ? 1 : 0);
}

void AddConfigTime(const NodeStatus& node, FamilySeries& series) {
  const WallTime at = node.config.loaded_at.value_or(WallTime());
  series.Add({}, std::chrono::duration<double>(at.time_since_epoch()).count());
}

void AddConfigReadings(const NodeStatus& node, FamilySeries& series) {
  series.Add({{"result", "success"}}, static_cast<double>(node.config.accepted));
  series.Add({{"result", "failure"}}, static_cast<double>(node.config.rejected));
}

void AddKubeletUp(const NodeStatus& node, FamilySeries& series) {
  series.Add({}, node.kubelet.up ? 1 : 0);
}

void AddKubeletRestarts(const NodeStatus& node, FamilySeries& series) {
  series.Add({}, static_cast<double>(node.kubelet.restarts));
}

void AddPodResourcesUp(const NodeStatus& node, FamilySeries& series) {
  const auto& up = node.kubelet.pod_resources_up;
  if (up || node.kubelet.uses_pod_resources) series.Add({}, up.value_or(false) ? 1 : 0);
}

// Dynamic Resource Allocation. It is in use with its counters; its status follows.

void AddApiServerUp(const NodeStatus& node, FamilySeries& series) {
  if (node.driver) series.Add({}, node.dra && node.dra->api_server_up ? 1 : 0);
}

void AddHealthStreams(const NodeStatus& node, FamilySeries& series) {
  if (node.driver) series.Add({}, node.driver->health_streams());
}

void AddApiRequests(const NodeStatus& node, FamilySeries& series) {
  if (!node.dra) return;
  for (const auto& [key, count] : node.dra->requests) {
    series.Add({{"code", key.second}, {"verb", key.first}}, static_cast<double>(count));
  }
}

void AddDroppedFields(const NodeStatus& node, FamilySeries& series) {
  if (!node.dra) return;
  for (const std::string& field : node.dra->dropped_fields) series.Add({{"field", field}}, 1);
}

/// Calls `add` for each resource that is served, and for "".
template <void (*add)(const std::string& resource, const DraPoolStatus& pool, FamilySeries& series)>
void EachPool(const NodeStatus& node, FamilySeries& series) {
  if (node.driver) add("", {}, series);
  if (!node.dra) return;
  for (const auto& [resource, pool] : node.dra->resources) add(resource, pool, series);
}

void AddSlices(const std::string& resource, const DraPoolStatus& pool, FamilySeries& series) {
  series.Add({{"resource", resource}}, static_cast<double>(pool.slices));
}

void AddSliceWrites(const std::string& resource, const DraPoolStatus& pool, FamilySeries& series) {
  series.AddByResult(resource, static_cast<double>(pool.writes),
                     static_cast<double>(pool.failures));
}

void AddPreparedClaims(const NodeStatus& node, FamilySeries& series) {
  if (!node.driver) return;
  std::map<std::string_view, double> claims = {{"", 0}};
  if (node.dra) {
    for (const auto& [resource, pool] : node.dra->resources) claims[resource] = 0;
    for (const DraClaimStatus& claim : node.dra->claims) {
      std::set<std::string_view> resources;
      for (const DraClaimDevice& device : claim.devices) resources.insert(device.resource);
      for (const std::string_view resource : resources) {
        const auto found = claims.find(resource);
        if (found != claims.end()) ++found->second;
      }
    }
  }
  for (const auto& [resource, count] : claims) series.Add({{"resource", resource}}, count);
}

/// Calls `add` for each resource that is served, and for "".
template <void (*add)(const std::string& resource, ClaimCounters& claims, FamilySeries& series)>
void EachClaimCounters(const NodeStatus& node, FamilySeries& series) {
  if (!node.driver) return;
  add("", node.driver->ClaimsOf(""), series);
  if (!node.dra) return;
  for (const auto& [resource, pool] : node.dra->resources) {
    add(resource, node.driver->ClaimsOf(resource), series);
  }
}

void AddPrepares(const std::string& resource, ClaimCounters& claims, FamilySeries& series) {
  const CountersByResult& prepares = claims.prepares;
  series.AddByResult(resource, prepares.success.Value(), prepares.failure.Value());
}

void AddPrepareDurations(const std::string& resource, ClaimCounters& claims, FamilySeries& series) {
  series.Add({{"resource", resource}}, claims.prepare_durations);
}

void AddUnprepares(const std::string& resource, ClaimCounters& claims, FamilySeries& series) {
  const CountersByResult& unprepares = claims.unprepares;
  series.AddByResult(resource, unprepares.success.Value(), unprepares.failure.Value());
}

constexpr Family kNodeFamilies[] = {
    {"patchbay_build_info", kGauge, AddBuild,
     "Always 1; the labels name the running build. Join on it to compare nodes during a rollout."},
    {"patchbay_config_last_reload_successful", kGauge, AddConfigValid,
     "1 if the last configuration that was read is valid. If 0, run 'patchbay check' on the file; "
     "the log has the errors."},
    {"patchbay_config_last_reload_success_timestamp_seconds", kGauge, AddConfigTime,
     "Unix time at which the current configuration was loaded. Compare it with the time of your "
     "last change."},
    {"patchbay_config_reloads_total", kCounter, AddConfigReadings,
     "Number of times the configuration was read, including the first time, by result. Alert on "
     "any increase of result=\"failure\"."},
    {"patchbay_kubelet_up", kGauge, AddKubeletUp,
     "1 while the kubelet's device plugin socket exists and accepts connections. If it stays 0, "
     "the kubelet is down or kubelet_dir is not the kubelet's directory."},
    {"patchbay_kubelet_restarts_total", kCounter, AddKubeletRestarts,
     "Number of kubelet restarts detected; every resource re-registers each time. If it keeps "
     "increasing, check the kubelet's log."},
    {"patchbay_pod_resources_up", kGauge, AddPodResourcesUp,
     "1 while the kubelet's PodResources API answers. If 0, the kubelet is down or "
     "/var/lib/kubelet/pod-resources is not mounted; device usage is unknown and release hooks do "
     "not run."},
    {"patchbay_api_server_up", kGauge, AddApiServerUp,
     "1 while the API server answers. If it stays 0, Patchbay cannot publish devices or prepare "
     "new claims; the log has the reason."},
    {"patchbay_api_requests_total", kCounter, AddApiRequests,
     "Requests to the API server, by verb and result: the HTTP status, or the kind of error if "
     "there was no response. 403 means that permissions are missing."},
    {"patchbay_api_dropped_fields", kGauge, AddDroppedFields,
     "Always 1, one series per field of ResourceSlices that the API server does not store. "
     "Upgrade it, or turn on DRADeviceTaints for \"taints\" and DRAConsumableCapacity for "
     "\"allowMultipleAllocations\"."},
    {"patchbay_resource_slices", kGauge, EachPool<AddSlices>,
     "ResourceSlices of the resource that the API server stores. If it is 0, no pod gets a device "
     "of the resource on the node."},
    {"patchbay_resource_slice_writes_total", kCounter, EachPool<AddSliceWrites>,
     "Attempts to create, update or delete a ResourceSlice, by result. After a failure the "
     "scheduler uses an old list of devices; the log has the reason."},
    {"patchbay_prepared_claims", kGauge, AddPreparedClaims,
     "ResourceClaims with devices of the resource that are prepared on the node."},
    {"patchbay_claim_prepares_total", kCounter, EachClaimCounters<AddPrepares>,
     "ResourceClaims that the kubelet asked to prepare, by result. `resource` is empty if the "
     "devices of the claim were not known, for example because the API server did not respond. "
     "After a failure the pod waits in ContainerCreating; its events and the log have the reason."},
    {"patchbay_claim_prepare_duration_seconds", kHistogram, EachClaimCounters<AddPrepareDurations>,
     "Time to prepare a ResourceClaim, including its hooks. The kubelet waits 45 seconds at most."},
    {"patchbay_claim_unprepares_total", kCounter, EachClaimCounters<AddUnprepares>,
     "ResourceClaims that the kubelet asked to release, by result. `resource` is empty if the "
     "claim was not prepared or its file could not be read. After a failure the pod stays in "
     "Terminating, and the kubelet tries again; the log has the reason."},
    {"patchbay_health_streams", kGauge, AddHealthStreams,
     "Open NodeWatchResources streams. 1 is normal; with 0 the kubelet does not receive the "
     "health of devices, as before Kubernetes 1.36 without the feature gate ResourceHealthStatus."},
};

}  // namespace

std::span<const Family> NodeFamilies() { return kNodeFamilies; }

}  // namespace patchbay
