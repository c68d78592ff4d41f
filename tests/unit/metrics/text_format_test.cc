#include "metrics/text_format.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace patchbay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Lines without what stands behind the last blank, and that as a number; of comments the whole.
std::vector<std::pair<std::string, double>> SamplesOf(const std::string& text) {
  std::vector<std::pair<std::string, double>> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.rfind(' ');
    const bool comment = line.starts_with('#');
    samples.emplace_back(comment ? line : line.substr(0, blank),
                         comment ? 0 : std::strtod(line.c_str() + blank, nullptr));
  }
  return samples;
}

std::string TextOf(const std::vector<MetricFamily>& families) {
  std::string text;
  for (const MetricFamily& family : families) TextFamilyOf(family).append(text);
  return text;
}

/// Holds it to what the library writes of the same.
void ExpectSame(const std::vector<MetricFamily>& families) {
  const auto ours = SamplesOf(TextOf(families));
  const auto theirs = SamplesOf(prometheus::TextSerializer().Serialize(families));
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    if (std::isnan(theirs[i].second)) {
      EXPECT_TRUE(std::isnan(ours[i].second)) << ours[i].first;
    } else {
      EXPECT_EQ(ours[i].second, theirs[i].second) << ours[i].first;
    }
  }
}

ClientMetric GaugeOf(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.gauge.value = value;
  metric.label = std::move(labels);
  return metric;
}

TEST(TextFormat, WritesNumbersThatAreReadAsTheSame) {
  MetricFamily family{"a_gauge", "help", MetricType::Gauge, {}};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -0.0, 1.0, -7.0, 0.1, 1e-9, 1.0 / 3, 123456.789, 1700000000.123,
                             9007199254740991.0, 9007199254740992.0, 1e17, 1e300, 5e-324, -1e19,
                             kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    // Letters, since series are in the order of their labels.
    const auto letter = static_cast<char>('a' + static_cast<char>(family.metric.size()));
    family.metric.push_back(GaugeOf(value, {{"n", std::string(1, letter)}}));
  }
  ExpectSame({family});
  EXPECT_EQ(TextOf({{"n", "h", MetricType::Gauge, {GaugeOf(1e6), GaugeOf(0.25)}}}),
            "# HELP n h\n# TYPE n gauge\nn 1000000\nn 0.25\n");
}

TEST(TextFormat, EscapesWhatWouldEndALabelOrALine) {
  ExpectSame({{"a_gauge",
               "help of \"one\" line",
               MetricType::Gauge,
               {GaugeOf(1, {{"a", "x\ny\\z\"\"\\n"}, {"b", ""}, {"c", "\xc3\xa4 }{,="}})}}});
}

TEST(TextFormat, WritesCountersAndHistograms) {
  MetricFamily counters{"a_total", "help", MetricType::Counter, {}};
  counters.metric.emplace_back().counter.value = 3;
  counters.metric.back().label = {{"result", "success"}};
  MetricFamily histograms{"a_seconds", "help", MetricType::Histogram, {}};
  for (const bool labelled : {false, true}) {
    ClientMetric& metric = histograms.metric.emplace_back();
    if (labelled) metric.label = {{"resource", "a/b"}};
    metric.histogram.sample_count = 5;
    metric.histogram.sample_sum = 0.75;
    metric.histogram.bucket = {{2, 0.0001}, {4, 2.5}, {5, std::numeric_limits<double>::infinity()}};
  }
  ExpectSame({counters, histograms});
}

TEST(TextFormat, OrdersSeriesByTheirLabels) {
  EXPECT_EQ(TextOf({{"n",
                     "h",
                     MetricType::Gauge,
                     {GaugeOf(1, {{"a", "x"}, {"b", "2"}}), GaugeOf(2, {{"a", "x"}, {"b", "10"}}),
                      GaugeOf(3, {{"a", "w"}, {"b", "3"}}), GaugeOf(4)}}}),
            "# HELP n h\n# TYPE n gauge\nn 4\nn{a=\"w\",b=\"3\"} 3\nn{a=\"x\",b=\"10\"} 2\n"
            "n{a=\"x\",b=\"2\"} 1\n");
}

TEST(TextFormat, ShowsWhatPrometheusWouldRefuse) {
  std::string text;
  FamilyText(text, "n", "h", MetricType::Gauge).Add({{"path", "/dev/\xff\"\xc3\xa4"}}, 1);
  EXPECT_EQ(text, "# HELP n h\n# TYPE n gauge\nn{path=\"/dev/\\\\xff\\\"\xc3\xa4\"} 1\n");
}

TEST(TextFormat, LeavesOutAFamilyWithoutSeries) {
  EXPECT_EQ(TextOf({{"none", "help", MetricType::Gauge, {}}}), "");
}

TEST(TextFormat, KeepsTheBoundsOfEachHistogramApart) {
  MetricFamily family{"s", "h", MetricType::Histogram, {}};
  for (const double bound : {0.5, 0.25}) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"r", bound == 0.5 ? "a" : "b"}};
    metric.histogram.bucket = {{1, bound}};
  }
  const std::string text = TextOf({family});
  EXPECT_NE(text.find("s_bucket{r=\"a\",le=\"0.5\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s_bucket{r=\"b\",le=\"0.25\"} 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace patchbay
