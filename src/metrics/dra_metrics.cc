#include "metrics/dra_metrics.h"

#include <algorithm>
#include <set>

namespace patchbay {

DraMetrics::ResourceSeries::ResourceSeries(MetricFamilies& families,
                                           const prometheus::Labels& labels)
    : slices(families.resource_slices, labels),
      slice_writes(families.resource_slice_writes, labels),
      prepares(families.claim_prepares, labels),
      prepare_duration(families.claim_prepare_duration, labels, ClaimDurationBuckets()),
      unprepares(families.claim_unprepares, labels),
      prepared_claims(families.prepared_claims, labels) {}

DraMetrics::DraMetrics(MetricFamilies& families)
    : families_(families),
      api_server_up_(families.api_server_up, {}),
      health_streams_(families.health_streams, {}) {
  AddResource("");  // of claims whose devices are not known
  for (const DriverRpc rpc : kAllDriverRpcs) CountRpc(rpc, "OK", 0);
  CountRpc(DriverRpc::kNodeWatchResources, "CANCELLED", 0);
}

void DraMetrics::AddResource(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  resources_.try_emplace(resource, families_, prometheus::Labels{{"resource", resource}});
}

void DraMetrics::RemoveResource(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  resources_.erase(resource);
}

void DraMetrics::SetApiServerUp(bool up) { api_server_up_->Set(up ? 1 : 0); }

void DraMetrics::CountApiRequests(std::string_view verb, std::string_view code,
                                  std::uint64_t count) {
  std::pair<std::string, std::string> key{verb, code};
  const std::lock_guard lock(mutex_);
  const prometheus::Labels labels{{"verb", key.first}, {"code", key.second}};
  requests_.try_emplace(std::move(key), families_.api_requests, labels)
      .first->second->Increment(static_cast<double>(count));
}

void DraMetrics::SetDroppedFields(const std::vector<std::string>& fields) {
  const std::lock_guard lock(mutex_);
  std::erase_if(dropped_fields_,
                [&](const auto& field) { return std::ranges::count(fields, field.first) == 0; });
  for (const std::string& field : fields) {
    const prometheus::Labels labels{{"field", field}};
    dropped_fields_.try_emplace(field, families_.api_dropped_fields, labels).first->second->Set(1);
  }
}

/// A driver serves all resources, so its calls have none.
void DraMetrics::CountRpc(DriverRpc rpc, std::string_view code, std::uint64_t count) {
  std::pair<std::string, std::string> key{Name(rpc), code};
  const std::lock_guard lock(mutex_);
  const prometheus::Labels labels{{"resource", ""}, {"method", key.first}, {"code", key.second}};
  rpcs_.try_emplace(std::move(key), families_.rpcs, labels)
      .first->second->Increment(static_cast<double>(count));
}

void DraMetrics::OnHealthStreams(int open) { health_streams_->Set(open); }

void DraMetrics::SetSlices(const std::string& resource, std::size_t count) {
  With(resource, [&](ResourceSeries& series) { series.slices->Set(static_cast<double>(count)); });
}

void DraMetrics::CountSliceWrites(const std::string& resource, bool success, std::uint64_t count) {
  With(resource, [&](ResourceSeries& series) {
    series.slice_writes.of(success)->Increment(static_cast<double>(count));
  });
}

void DraMetrics::OnClaimPrepare(const std::string& resource, bool success,
                                std::chrono::nanoseconds duration) {
  With(resource, [&](ResourceSeries& series) {
    series.prepares.of(success)->Increment();
    series.prepare_duration->Observe(std::chrono::duration<double>(duration).count());
  });
}

void DraMetrics::OnClaimUnprepare(const std::string& resource, bool success) {
  With(resource, [&](ResourceSeries& series) { series.unprepares.of(success)->Increment(); });
}

void DraMetrics::SetPreparedClaims(const std::string& resource, std::size_t count) {
  With(resource,
       [&](ResourceSeries& series) { series.prepared_claims->Set(static_cast<double>(count)); });
}

namespace {

/// A count begins again at zero if its resource was removed and added.
std::uint64_t Since(std::uint64_t before, std::uint64_t now) {
  return now < before ? now : now - before;
}

}  // namespace

void RecordDra(DraMetrics& metrics, const DraStatus& before, const DraStatus& now) {
  metrics.SetApiServerUp(now.api_server_up);
  metrics.SetDroppedFields(now.dropped_fields);
  for (const auto& [key, count] : now.requests) {
    const auto old = before.requests.find(key);
    const std::uint64_t known = old == before.requests.end() ? 0 : old->second;
    if (count != known) metrics.CountApiRequests(key.first, key.second, Since(known, count));
  }
  for (const auto& [name, pool] : before.resources) {
    if (!now.resources.contains(name)) metrics.RemoveResource(name);
  }
  std::map<std::string_view, std::size_t> claims;  // by resource
  for (const DraClaimStatus& claim : now.claims) {
    std::set<std::string_view> resources;
    for (const DraClaimDevice& device : claim.devices) resources.insert(device.resource);
    for (const std::string_view resource : resources) ++claims[resource];
  }
  for (const auto& [name, pool] : now.resources) {
    metrics.AddResource(name);
    const auto old = before.resources.find(name);
    const DraPoolStatus known = old == before.resources.end() ? DraPoolStatus() : old->second;
    metrics.SetSlices(name, pool.slices);
    metrics.CountSliceWrites(name, true, Since(known.writes, pool.writes));
    metrics.CountSliceWrites(name, false, Since(known.failures, pool.failures));
    metrics.SetPreparedClaims(name, claims[name]);
  }
}

}  // namespace patchbay
