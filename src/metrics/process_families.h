#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay {

/// What the kernel says of this process.
struct ProcessStat {
  double cpu_seconds = 0;
  double threads = 0;
  double start_seconds_after_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

/// Reads the text of /proc/self/stat; nothing where it is not what proc(5) says. `ticks` is the
/// number of clock ticks in a second, `page` the bytes of a page.
std::optional<ProcessStat> ParseProcessStat(std::string_view text, double ticks, double page);

/// What the process counts about itself, as it is at each scrape. Thread-safe functions.
struct ProcessCounts {
  std::function<std::uint64_t()> log_lines_dropped = [] { return std::uint64_t{0}; };
  std::uint64_t watchdog_kills = 0;  ///< of the processes before this one
};

/// The standard process_* families, read from /proc at each scrape, and what the process counts
/// about itself. A family that cannot be read is left out. Thread-safe.
class ProcessCollector : public prometheus::Collectable {
 public:
  explicit ProcessCollector(ProcessCounts counts = {}) : counts_(std::move(counts)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const ProcessCounts counts_;
};

}  // namespace patchbay
