#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "status/driver_counters.h"
#include "status/node_status.h"

namespace patchbay {

inline constexpr auto kCounter = prometheus::MetricType::Counter;
inline constexpr auto kGauge = prometheus::MetricType::Gauge;
inline constexpr auto kHistogram = prometheus::MetricType::Histogram;

/// The series of one family, as they are added.
class FamilySeries {
 public:
  using Labels = std::initializer_list<std::pair<const char*, std::string_view>>;

  explicit FamilySeries(prometheus::MetricType type) : type_(type) {}

  /// Adds a series of a counter or a gauge; labels are in alphabetical order.
  void Add(Labels labels, double value);
  /// Adds a series of a histogram.
  void Add(Labels labels, const Durations& durations);
  /// Adds the two series of a resource that differ in the label `result`.
  void AddByResult(std::string_view resource, double success, double failure);
  /// Returns the series, sorted by their labels.
  std::vector<prometheus::ClientMetric> Sorted() &&;

 private:
  const prometheus::MetricType type_;
  std::vector<prometheus::ClientMetric> series_;
};

/// A metric family: a row of the tables that follow. It has no text without series.
struct Family {
  const char* name;
  prometheus::MetricType type;
  void (*add)(const NodeStatus& node, FamilySeries& series);
  const char* help;
};

/// The families of the node: configuration, kubelet and Dynamic Resource Allocation.
std::span<const Family> NodeFamilies();
/// The families with a label `resource` for device plugins.
std::span<const Family> ResourceFamilies();

}  // namespace patchbay
