#include "metrics/text_format.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '"'; }

void AppendValue(std::string& out, std::string_view value) {
  // Nearly all are.
  if (std::all_of(value.begin(), value.end(), IsPlain)) {
    out += value;
    return;
  }
  for (const char c : IsUtf8(value) ? std::string(value) : Printable(value)) {
    if (c == '\\' || c == '\n' || c == '"') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
}

void AppendLabels(std::string& out, std::span<const TextLabel> labels) {
  std::string_view before;
  for (const TextLabel& label : labels) {
    out.append(before).append(label.name).append("=\"");
    AppendValue(out, label.value);
    out += '"';
    before = ",";
  }
}

void AppendNumber(std::string& out, double value) {
  constexpr double kExact = 1LL << 53;
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Inf" : "+Inf";
  } else if (std::trunc(value) == value && std::abs(value) < kExact) {
    const fmt::format_int digits(static_cast<long long>(value));
    out.append(digits.data(), digits.size());
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

std::string_view TypeName(MetricType type) {
  return type == MetricType::Counter     ? "counter"
         : type == MetricType::Histogram ? "histogram"
                                         : "gauge";
}

/// The registry keeps its series in hash tables.
std::vector<const ClientMetric*> InOrder(const prometheus::MetricFamily& family) {
  const auto less = [](const ClientMetric::Label& a, const ClientMetric::Label& b) {
    const int names = a.name.compare(b.name);
    return names != 0 ? names < 0 : a.value < b.value;
  };
  std::vector<const ClientMetric*> metrics;
  metrics.reserve(family.metric.size());
  for (const ClientMetric& metric : family.metric) metrics.push_back(&metric);
  std::sort(metrics.begin(), metrics.end(), [&](const ClientMetric* a, const ClientMetric* b) {
    return std::lexicographical_compare(a->label.begin(), a->label.end(), b->label.begin(),
                                        b->label.end(), less);
  });
  return metrics;
}

void AppendFamily(std::string& out, const prometheus::MetricFamily& family) {
  FamilyText text(out, family.name, family.help, family.type);
  std::vector<TextLabel> labels;
  for (const ClientMetric* metric : InOrder(family)) {
    labels.clear();
    for (const auto& label : metric->label) labels.push_back({label.name, label.value});
    if (family.type == MetricType::Histogram) {
      text.AddHistogram(labels, metric->histogram);
    } else {
      text.Add(labels,
               family.type == MetricType::Counter ? metric->counter.value : metric->gauge.value);
    }
  }
}

}  // namespace

void FamilyText::Begin() {
  if (std::exchange(begun_, true)) return;
  out_.append("# HELP ").append(name_).append(" ").append(help_);
  out_.append("\n# TYPE ").append(name_).append(" ").append(TypeName(type_)) += '\n';
}

void FamilyText::End(double value) {
  out_ += ' ';
  AppendNumber(out_, value);
  out_ += '\n';
}

void FamilyText::Add(std::span<const TextLabel> labels, double value) {
  Begin();
  out_ += name_;
  if (!labels.empty()) {
    out_ += '{';
    AppendLabels(out_, labels);
    out_ += '}';
  }
  End(value);
}

void FamilyText::AddHistogram(std::span<const TextLabel> labels,
                              const ClientMetric::Histogram& histogram) {
  Begin();
  std::string all;
  AppendLabels(all, labels);
  const std::string braced = all.empty() ? "" : "{" + all + "}";
  out_.append(name_).append("_count").append(braced);
  End(static_cast<double>(histogram.sample_count));
  out_.append(name_).append("_sum").append(braced);
  End(histogram.sample_sum);
  if (!all.empty()) all += ',';
  const std::string bucket = std::string(name_) + "_bucket{" + all + "le=\"";
  for (std::size_t i = 0; i < histogram.bucket.size(); ++i) {
    out_.append(bucket).append(Bound(i, histogram.bucket[i].upper_bound)).append("\"}");
    End(static_cast<double>(histogram.bucket[i].cumulative_count));
  }
}

const std::string& FamilyText::Bound(std::size_t index, double value) {
  if (index >= bounds_.size()) bounds_.resize(index + 1);
  auto& [known, text] = bounds_[index];
  if (text.empty() || known != value) {
    known = value;
    text.clear();
    AppendNumber(text, value);
  }
  return text;
}

TextFamily TextFamilyOf(const prometheus::MetricFamily& family) {
  return {family.name, [&family](std::string& out) { AppendFamily(out, family); }};
}

}  // namespace patchbay
