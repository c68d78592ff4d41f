#pragma once

#include <vector>

#include "cli/explain/report.h"
#include "cli/explain/target.h"

namespace patchbay {

/// Reduces the reports of `inspections` to the one object of the target: one outcome for each
/// match, plus the paths that could not be read if they may be the reason. Inspects the host for
/// matches whose report does not mention the object. May block.
void FilterByTarget(const ExplainTarget& target, const std::vector<Inspection>& inspections,
                    const Sysfs& sysfs, DeviceAncestries& ancestries,
                    std::vector<ExplainReport>& reports);

}  // namespace patchbay
