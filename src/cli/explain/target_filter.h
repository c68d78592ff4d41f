#pragma once

#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// Reduces the reports of `inspections`, whose scan requested the names of the target, to what they
/// have about it. If a match has nothing, what it could not read may be the reason. Fails if the
/// argument is neither a path nor a name in sysfs, and no report has it as an ID; the error lists
/// the valid forms. Follows links on the host.
Status FilterByTarget(const ExplainTarget& target, const std::vector<Inspection>& inspections,
                      const HostRoot& host, std::vector<ExplainReport>& reports);

}  // namespace patchbay
