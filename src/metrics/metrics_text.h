#pragma once

#include <cstdint>
#include <string>

#include "status/node_status.h"

namespace patchbay {

/// Returns all metrics in Prometheus text format 0.0.4; the series of a family are sorted by their
/// labels. `log_lines_dropped` is the number since the start. Takes milliseconds per thousand
/// devices, and reads /proc, so it must not run where others wait. Any thread.
std::string MetricsText(const NodeStatus& node, std::uint64_t log_lines_dropped);

}  // namespace patchbay
