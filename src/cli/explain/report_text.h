#pragma once

#include <string>
#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// How reports are printed.
struct ReportStyle {
  bool colored;
  std::string devices;  ///< the commands for hints, with their options
  std::string explain;
};

/// Formats reports as text of one or two screens. Begins with the answer: one line for each match
/// of each resource. Then come the details: entries with the same outcome and reason share a line,
/// and long lists are truncated. Names from the host are escaped.
std::string ReportText(const std::vector<ExplainReport>& reports, const ReportStyle& style);

/// Formats reports that FilterByTarget has reduced to `target`. Begins with a description of the
/// object, and with the matches that list or reject it. If several resources do not apply to it,
/// only their names are listed.
std::string TargetReportText(const ExplainTarget& target, const std::vector<ExplainReport>& reports,
                             const ReportStyle& style);

}  // namespace patchbay
