#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/families.h"
#include "metrics/owned_metric.h"
#include "status/observer.h"
#include "status/status_store.h"

namespace patchbay {

/// The time series of one resource; its status goes to the store. At most one object may exist per
/// resource name. Series that every resource needs exist from the start, at zero. Those of probes
/// and hooks exist from the first snapshot whose spec has them, those of an unexpected gRPC code
/// from its first occurrence.
///
/// Thread-safe. `families`, `store` and `now` must outlive it.
class ResourceMetrics : public ResourceObserver {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;

  ResourceMetrics(const std::string& resource, MetricFamilies& families, StatusStore& store,
                  const Now& now);
  ~ResourceMetrics() override;

  void OnSnapshot(std::shared_ptr<const Snapshot> snapshot) override;
  void OnShared(std::size_t devices) override;
  void OnScan(std::chrono::nanoseconds duration, bool complete) override;
  void OnProbe(const std::string& device, const ProbeOutcome& outcome) override;
  void OnNextProbe(const std::string& device, std::optional<std::chrono::nanoseconds> in) override;
  void OnExplanation(std::shared_ptr<const MatchSummaries> explanation) override;
  void OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) override;
  void OnUsage(std::shared_ptr<const PodUsage> usage) override;
  void OnRegistration(bool accepted) override;
  void OnRegistrationStatus(const RegistrationStatus& registration) override;
  void OnStreams(int open) override;
  void OnListSent() override;
  void OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) override;
  void OnAllocation(bool granted, int devices) override;

 private:
  struct ProbeSeries {
    ProbeSeries(const prometheus::Labels& resource, MetricFamilies& families);

    std::map<ProbeResult, OwnedCounter> results;
    OwnedHistogram duration;
  };

  /// One hook with one result.
  struct HookSeries {
    HookSeries(const prometheus::Labels& labels, MetricFamilies& families)
        : runs(families.hooks, labels),
          duration(families.hook_duration, labels, DurationBuckets()) {}

    OwnedCounter runs;
    OwnedHistogram duration;
  };

  ProbeSeries& Probes();
  HookSeries& Hooks(Hook hook, bool success);
  OwnedCounter& Calls(Rpc rpc, std::string_view code);
  OwnedHistogram& CallDuration(Rpc rpc);

  const std::string resource_;
  const prometheus::Labels labels_;  ///< the resource
  MetricFamilies& families_;
  StatusStore& store_;
  const Now& now_;
  OwnedGauge registered_;
  CountersByResult registrations_;
  OwnedGauge streams_;
  OwnedCounter lists_sent_;
  OwnedCounter to_healthy_, to_unhealthy_;
  CountersByResult allocations_;
  OwnedCounter allocated_units_;
  OwnedCounter scans_;
  OwnedHistogram scan_duration_;
  OwnedGauge last_complete_scan_;
  OwnedGauge shared_devices_;

  std::mutex mutex_;  ///< for the series below, which are created when needed
  std::optional<ProbeSeries> probes_;
  std::map<std::pair<Hook, bool>, HookSeries> hooks_;
  std::map<std::pair<Rpc, std::string_view>, OwnedCounter> calls_;
  std::map<Rpc, OwnedHistogram> call_durations_;
};

}  // namespace patchbay
