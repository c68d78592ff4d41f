#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay {

/// A value may be any bytes: what Prometheus would refuse a whole scrape for, which is all that is
/// not UTF-8, is written as it is shown to people.
struct TextLabel {
  std::string_view name, value;
};

/// One family in Prometheus' text format 0.0.4, written behind what `out` has. A family without
/// series leaves no trace.
///
/// It does what prometheus::TextSerializer does, but through no stream, and from values that need
/// not be copied first: with thousands of devices in a fraction of the time.
class FamilyText {
 public:
  /// `help` is of one line. All of it must outlive the object.
  FamilyText(std::string& out, std::string_view name, std::string_view help,
             prometheus::MetricType type)
      : out_(out), name_(name), help_(help), type_(type) {}

  /// A series of a counter or a gauge.
  void Add(std::span<const TextLabel> labels, double value);
  void Add(std::initializer_list<TextLabel> labels, double value) {
    Add(std::span(labels.begin(), labels.size()), value);
  }
  void AddHistogram(std::span<const TextLabel> labels,
                    const prometheus::ClientMetric::Histogram& histogram);

 private:
  void Begin();
  void End(double value);
  const std::string& Bound(std::size_t index, double value);

  std::string& out_;
  const std::string_view name_, help_;
  const prometheus::MetricType type_;
  bool begun_ = false;
  std::vector<std::pair<double, std::string>> bounds_;  ///< mostly those of the series before
};

/// A family that is written when its turn comes.
struct TextFamily {
  std::string_view name;
  std::function<void(std::string& out)> append;
};

/// `family` must outlive what is returned.
TextFamily TextFamilyOf(const prometheus::MetricFamily& family);

}  // namespace patchbay
