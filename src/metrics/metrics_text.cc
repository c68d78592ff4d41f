#include "metrics/metrics_text.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

#include "metrics/families.h"
#include "metrics/process_families.h"

namespace patchbay {

std::string MetricsText(const NodeStatus& node, std::uint64_t log_lines_dropped) {
  const prometheus::TextSerializer serializer;
  std::ostringstream text;
  for (const auto table : {NodeFamilies(), ResourceFamilies()}) {
    // One after another, so that only the series of one are in memory.
    for (const Family& row : table) {
      FamilySeries series(row.type);
      row.add(node, series);
      auto sorted = std::move(series).Sorted();
      if (!sorted.empty()) {
        serializer.Serialize(text, {{row.name, row.help, row.type, std::move(sorted)}});
      }
    }
  }
  serializer.Serialize(text, ProcessFamilies(log_lines_dropped));
  return std::move(text).str();
}

}  // namespace patchbay
