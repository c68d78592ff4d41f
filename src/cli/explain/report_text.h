#pragma once

#include <string>
#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// How reports are printed.
struct ReportStyle {
  bool colored;
  std::string devices;  ///< the command `devices` for hints, with its options
};

/// Formats reports as text of one or two screens. Begins with the answer: one line for each match
/// of each resource, or the description of the target that FilterByTarget was called with, which
/// can be null. Then come the details: entries with the same outcome and reason share a line, and
/// long lists are truncated. If several resources do not apply to the target, only their names are
/// listed. Names from the host are escaped.
std::string ReportText(const std::vector<ExplainReport>& reports, const ExplainTarget* target,
                       const ReportStyle& style);

}  // namespace patchbay
