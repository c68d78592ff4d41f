#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace patchbay {

/// Counters, gauges and histograms in Prometheus' text format 0.0.4, in the order that they are in;
/// the help is of one line.
/// What prometheus::TextSerializer does, but through no stream, which takes several times as long.
std::string TextFormat(const std::vector<prometheus::MetricFamily>& families);

}  // namespace patchbay
