#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// Returns complete reports as JSON; docs/discovery.md describes the schema. `target` is the
/// one that FilterByTarget was called with, or null.
nlohmann::ordered_json ReportJson(const std::vector<ExplainReport>& reports,
                                  const ExplainTarget* target);

}  // namespace patchbay
