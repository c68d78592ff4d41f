#include "metrics/families.h"

#include <algorithm>
#include <string>

#include "base/escape.h"

namespace patchbay {
namespace {

/// Prometheus rejects a whole scrape with a label value that is not UTF-8, so such a value is
/// escaped.
prometheus::ClientMetric WithLabels(prometheus::ClientMetric metric, FamilySeries::Labels labels) {
  metric.label.reserve(labels.size());
  for (const auto& [name, text] : labels) {
    metric.label.push_back({name, IsUtf8(text) ? std::string(text) : Printable(text)});
  }
  return metric;
}

}  // namespace

void FamilySeries::Add(Labels labels, double value) {
  prometheus::ClientMetric metric;
  (type_ == kCounter ? metric.counter.value : metric.gauge.value) = value;
  series_.push_back(WithLabels(std::move(metric), labels));
}

void FamilySeries::Add(Labels labels, const Durations& durations) {
  series_.push_back(WithLabels(durations.Collect(), labels));
}

void FamilySeries::AddByResult(std::string_view resource, double success, double failure) {
  Add({{"resource", resource}, {"result", "success"}}, success);
  Add({{"resource", resource}, {"result", "failure"}}, failure);
}

std::vector<prometheus::ClientMetric> FamilySeries::Sorted() && {
  std::ranges::sort(series_, {}, &prometheus::ClientMetric::label);
  return std::move(series_);
}

}  // namespace patchbay
