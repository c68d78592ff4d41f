#pragma once

#include <string>
#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// Formats complete reports as JSON; docs/discovery.md describes the schema. `target` is the
/// one that FilterByTarget was called with, or null.
std::string ReportJson(const std::vector<ExplainReport>& reports, const ExplainTarget* target);

}  // namespace patchbay
