#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/families.h"
#include "metrics/owned_metric.h"
#include "status/dra_status.h"
#include "status/observer.h"

namespace patchbay {

/// The metrics of Dynamic Resource Allocation: the API server, the published ResourceSlices and the
/// claims. patchbay_api_server_up and patchbay_health_streams exist while the object exists, and
/// are 0 at first; the series of a resource exist from AddResource to RemoveResource, at zero at
/// first. "" is a resource, that of claims whose devices are not known. Functions with the name of
/// another resource do nothing.
///
/// Thread-safe. At most one object may exist for `families`, which must outlive it.
class DraMetrics : public DriverObserver {
 public:
  explicit DraMetrics(MetricFamilies& families);

  /// Adds the series of a resource, unless they exist.
  void AddResource(const std::string& resource);
  void RemoveResource(const std::string& resource);

  /// Sets whether the last request to the API server was answered.
  void SetApiServerUp(bool up);
  /// Counts requests. `verb` is one of kApiVerbNames; `code` is the HTTP status in digits, or one
  /// of kApiErrorKindNames if there was no response.
  void CountApiRequests(std::string_view verb, std::string_view code, std::uint64_t count = 1);

  /// Replaces the fields that the API server drops.
  void SetDroppedFields(const std::vector<std::string>& fields);

  /// The series of a code begins with the first call; those of "OK" exist from the beginning.
  void OnRpc(DriverRpc rpc, std::string_view code, std::chrono::nanoseconds) override {
    CountRpc(rpc, code, 1);
  }
  void OnHealthStreams(int open) override;

  /// Sets the number of slices that the API server stores.
  void SetSlices(const std::string& resource, std::size_t count);
  /// Counts attempts to create, update or delete a slice.
  void CountSliceWrites(const std::string& resource, bool success, std::uint64_t count = 1);

  /// Claims count that were prepared, or not prepared any more, already.
  void OnClaimPrepare(const std::string& resource, bool success,
                      std::chrono::nanoseconds duration) override;
  void OnClaimUnprepare(const std::string& resource, bool success) override;
  /// Sets the number of claims that are prepared.
  void SetPreparedClaims(const std::string& resource, std::size_t count);

 private:
  struct ResourceSeries {
    ResourceSeries(MetricFamilies& families, const prometheus::Labels& labels);

    OwnedGauge slices;
    CountersByResult slice_writes;
    CountersByResult prepares;
    OwnedHistogram prepare_duration;
    CountersByResult unprepares;
    OwnedGauge prepared_claims;
  };

  void CountRpc(DriverRpc rpc, std::string_view code, std::uint64_t count);
  /// Calls `change` with the series of a resource, if it has some.
  template <class Change>
  void With(const std::string& resource, Change change) {
    const std::lock_guard lock(mutex_);
    if (const auto found = resources_.find(resource); found != resources_.end()) {
      change(found->second);
    }
  }

  MetricFamilies& families_;
  OwnedGauge api_server_up_;
  OwnedGauge health_streams_;
  std::mutex mutex_;
  std::map<std::string, ResourceSeries> resources_;                       ///< by name
  std::map<std::pair<std::string, std::string>, OwnedCounter> requests_;  ///< by verb and code
  std::map<std::pair<std::string, std::string>, OwnedCounter> rpcs_;      ///< by method and code
  std::map<std::string, OwnedGauge> dropped_fields_;
};

/// Sets the gauges as in `now`, and counts what has happened since `before`. Claims that are
/// prepared are counted by OnClaimPrepare alone.
void RecordDra(DraMetrics& metrics, const DraStatus& before, const DraStatus& now);

}  // namespace patchbay
