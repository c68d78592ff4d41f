#pragma once

#include <utility>

#include "metrics/families.h"

namespace patchbay {

/// A time series of a family. The destructor removes it from the family.
template <class T>
class OwnedMetric {
 public:
  template <class... Args>
  OwnedMetric(prometheus::Family<T>& family, const prometheus::Labels& labels, Args&&... args)
      : family_(family), metric_(&family.Add(labels, std::forward<Args>(args)...)) {}
  ~OwnedMetric() { family_.Remove(metric_); }
  OwnedMetric(const OwnedMetric&) = delete;
  OwnedMetric& operator=(const OwnedMetric&) = delete;

  T* operator->() const { return metric_; }

 private:
  prometheus::Family<T>& family_;
  T* metric_;
};

using OwnedCounter = OwnedMetric<prometheus::Counter>;
using OwnedGauge = OwnedMetric<prometheus::Gauge>;
using OwnedHistogram = OwnedMetric<prometheus::Histogram>;

/// Two counters that differ in the label `result`.
struct CountersByResult {
  CountersByResult(MetricFamilies::Counters& family, prometheus::Labels labels)
      : success(family, With(labels, "success")), failure(family, With(labels, "failure")) {}
  OwnedCounter& of(bool ok) { return ok ? success : failure; }

  OwnedCounter success, failure;

 private:
  static const prometheus::Labels& With(prometheus::Labels& labels, const char* result) {
    labels["result"] = result;
    return labels;
  }
};

}  // namespace patchbay
