#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <string_view>
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

/// The standard process_* families, read from /proc at each scrape. A family that cannot be read is
/// left out. Thread-safe.
class ProcessCollector : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace patchbay
