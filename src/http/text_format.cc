#include "http/text_format.h"

#include <cmath>
#include <iterator>
#include <string_view>

#include "base/format.h"

namespace patchbay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '\n' || c == '"') out += '\\';
    out += c == '\n' ? 'n' : c;
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

/// The lines of one series, which have its labels in common.
class SeriesLines {
 public:
  SeriesLines(std::string& out, std::string_view name, const ClientMetric& metric)
      : out_(out), name_(name) {
    for (const auto& label : metric.label) {
      if (!labels_.empty()) labels_ += ',';
      labels_.append(label.name).append("=\"");
      AppendEscaped(labels_, label.value);
      labels_ += '"';
    }
  }

  void Add(std::string_view suffix, double value) {
    out_.append(name_).append(suffix);
    if (!labels_.empty()) out_.append("{").append(labels_) += '}';
    End(value);
  }

  void AddBucket(double upper_bound, double value) {
    out_.append(name_).append("_bucket{").append(labels_);
    out_.append(labels_.empty() ? "le=\"" : ",le=\"");
    AppendNumber(out_, upper_bound);
    out_ += "\"}";
    End(value);
  }

 private:
  void End(double value) {
    out_ += ' ';
    AppendNumber(out_, value);
    out_ += '\n';
  }

  std::string& out_;
  const std::string_view name_;
  std::string labels_;
};

void AppendHistogram(std::string& out, std::string_view name, const ClientMetric& metric) {
  SeriesLines lines(out, name, metric);
  const auto& histogram = metric.histogram;
  lines.Add("_count", static_cast<double>(histogram.sample_count));
  lines.Add("_sum", histogram.sample_sum);
  for (const auto& bucket : histogram.bucket) {
    lines.AddBucket(bucket.upper_bound, static_cast<double>(bucket.cumulative_count));
  }
}

/// About what the text takes, rather more than less. A string that grows to half a megabyte is
/// copied and mapped anew again and again.
std::size_t RoomFor(const std::vector<prometheus::MetricFamily>& families) {
  constexpr std::size_t kLabel = 4, kSuffixAndValue = 40;
  std::size_t bytes = 0;
  for (const prometheus::MetricFamily& family : families) {
    bytes += 2 * family.name.size() + family.help.size() + kSuffixAndValue;
    for (const ClientMetric& metric : family.metric) {
      std::size_t line = family.name.size() + kSuffixAndValue;
      for (const auto& label : metric.label) {
        line += label.name.size() + label.value.size() + kLabel;
      }
      bytes +=
          line * (family.type == MetricType::Histogram ? metric.histogram.bucket.size() + 2 : 1);
    }
  }
  return bytes;
}

}  // namespace

std::string TextFormat(const std::vector<prometheus::MetricFamily>& families) {
  std::string out;
  out.reserve(RoomFor(families));
  for (const prometheus::MetricFamily& family : families) {
    const std::string_view type = family.type == MetricType::Counter     ? "counter"
                                  : family.type == MetricType::Histogram ? "histogram"
                                                                         : "gauge";
    out.append("# HELP ").append(family.name).append(" ").append(family.help);
    out.append("\n# TYPE ").append(family.name).append(" ").append(type) += '\n';
    for (const ClientMetric& metric : family.metric) {
      if (family.type == MetricType::Histogram) {
        AppendHistogram(out, family.name, metric);
      } else {
        SeriesLines(out, family.name, metric)
            .Add("",
                 family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value);
      }
    }
  }
  return out;
}

}  // namespace patchbay
