#pragma once

#include <utility>

#include "metrics/families.h"

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

using OwnedCounter = OwnedMetric<prometheus::Counter>;
using OwnedGauge = OwnedMetric<prometheus::Gauge>;
using OwnedHistogram = OwnedMetric<prometheus::Histogram>;

/// Two counters that differ in the label `result`.
struct CountersByResult {
  CountersByResult(const MetricFamilies& families, MetricFamilies::Counters& family,
                   prometheus::Labels labels)
      : success(families, family, With(labels, "success")),
        failure(families, family, With(labels, "failure")) {}
  OwnedCounter& of(bool ok) { return ok ? success : failure; }

  OwnedCounter success, failure;

 private:
  static const prometheus::Labels& With(prometheus::Labels& labels, const char* result) {
    labels["result"] = result;
    return labels;
  }
};

}  // namespace patchbay
