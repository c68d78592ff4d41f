#pragma once

#include <string>
#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// Formats reports as text of one or two screens: entries with the same outcome and reason
/// share a line, and long lists are truncated. Names from the host are escaped.
std::string ReportText(const std::vector<ExplainReport>& reports);

/// Formats reports that FilterByTarget has reduced to `target`. Begins with a description of the
/// object. If several resources do not apply to it, only their names are listed.
std::string TargetReportText(const ExplainTarget& target,
                             const std::vector<ExplainReport>& reports);

}  // namespace patchbay
