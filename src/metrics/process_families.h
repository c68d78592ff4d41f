#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace patchbay {

/// Process statistics from the kernel.
struct ProcessStat {
  double cpu_seconds = 0;
  double threads = 0;
  double start_seconds_after_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

/// Parses the text of /proc/self/stat; nullopt if it does not have the format of proc(5). `ticks`
/// is the number of clock ticks per second, `page` the size of a page in bytes.
std::optional<ProcessStat> ParseProcessStat(std::string_view text, double ticks, double page);

/// Reads the standard process_* families from /proc and adds the number of dropped log lines.
/// Leaves out what cannot be read. Any thread.
std::vector<prometheus::MetricFamily> ProcessFamilies(std::uint64_t log_lines_dropped);

}  // namespace patchbay
