#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/families.h"
#include "status/observer.h"
#include "status/status_store.h"

namespace patchbay {

/// A time series of a family. The destructor removes it from the family.
template <class T>
class OwnedMetric {
 public:
  template <class... Args>
  OwnedMetric(const MetricFamilies& families, prometheus::Family<T>& family,
              const prometheus::Labels& labels, Args&&... args)
      : families_(families),
        family_(family),
        metric_(&family.Add(labels, std::forward<Args>(args)...)) {}
  ~OwnedMetric() {
    if (!families_.is_shutting_down) family_.Remove(metric_);
  }
  OwnedMetric(const OwnedMetric&) = delete;
  OwnedMetric& operator=(const OwnedMetric&) = delete;

  T* operator->() const { return metric_; }

 private:
  const MetricFamilies& families_;
  prometheus::Family<T>& family_;
  T* metric_;
};

/// Two counters that differ in the label `result`.
struct ResultCounters {
  ResultCounters(const MetricFamilies& families, MetricFamilies::Counters& family,
                 const std::string& resource)
      : success(families, family, {{"resource", resource}, {"result", "success"}}),
        failure(families, family, {{"resource", resource}, {"result", "failure"}}) {}

  OwnedMetric<prometheus::Counter> success, failure;
};

/// The time series of one resource. They are looked up once, in the constructor: counting a
/// successful call is an atomic increment. Status goes to the store. At most one object may exist
/// per resource name.
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
  void OnHook(Hook hook, bool success, std::chrono::nanoseconds duration) override;
  void OnUsage(std::shared_ptr<const Usage> usage) override;
  void OnRegistration(bool accepted) override;
  void OnRegistrationStatus(const RegistrationStatus& registration) override;
  void OnStreams(int open) override;
  void OnListSent() override;
  void OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration) override;
  void OnAllocation(bool granted, int devices) override;

 private:
  static constexpr std::size_t kCodes = 17;  ///< the status codes of gRPC

  /// One method of the API. Codes that nobody expects get their series when they first come.
  struct Method {
    Method(const std::string& resource, Rpc rpc, MetricFamilies& families);
    ~Method();
    prometheus::Counter& Code(std::string_view code);

    MetricFamilies& families;
    prometheus::Labels labels;  ///< resource and method
    std::array<std::atomic<prometheus::Counter*>, kCodes> codes{};
    OwnedMetric<prometheus::Histogram> duration;
  };

  /// One hook, and what came of it.
  struct HookSeries {
    HookSeries(const std::string& resource, Hook hook, std::string_view result,
               MetricFamilies& families);

    OwnedMetric<prometheus::Counter> runs;
    OwnedMetric<prometheus::Histogram> duration;
  };
  struct HookOutcomes {
    HookOutcomes(const std::string& resource, Hook hook, MetricFamilies& families)
        : success(resource, hook, "success", families),
          failure(resource, hook, "failure", families) {}

    HookSeries success, failure;
  };

  const std::string resource_;
  StatusStore& store_;
  const Now& now_;
  OwnedMetric<prometheus::Gauge> registered_;
  ResultCounters registrations_;
  OwnedMetric<prometheus::Gauge> streams_;
  OwnedMetric<prometheus::Counter> lists_sent_;
  OwnedMetric<prometheus::Counter> to_healthy_, to_unhealthy_;
  ResultCounters allocations_;
  OwnedMetric<prometheus::Counter> allocated_devices_;
  OwnedMetric<prometheus::Counter> scans_;
  OwnedMetric<prometheus::Histogram> scan_duration_;
  OwnedMetric<prometheus::Gauge> last_complete_scan_;
  OwnedMetric<prometheus::Gauge> shared_devices_;
  std::array<std::unique_ptr<OwnedMetric<prometheus::Counter>>, std::size(kAllProbeResults)>
      probes_;
  OwnedMetric<prometheus::Histogram> probe_duration_;
  std::array<std::unique_ptr<HookOutcomes>, std::size(kAllHooks)> hooks_;
  std::array<std::unique_ptr<Method>, std::size(kAllRpcs)> methods_;
};

}  // namespace patchbay
