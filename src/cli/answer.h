#pragma once

#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Narrows explanations of these inspections to what became of the one thing that is asked about:
/// one fate for each match, and what could not be read where that may be why. Looks at the host
/// where the pass left no word of it. Slow.
void NarrowTo(const Inquiry& inquiry, const std::vector<Inspection>& inspections,
              const Sysfs& sysfs, DeviceAncestries& ancestries,
              std::vector<Explanation>& explanations);

}  // namespace patchbay
