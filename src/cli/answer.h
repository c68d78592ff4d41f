#pragma once

#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Reduces the explanations of `inspections` to the one object of the inquiry: one fate for each
/// match, plus the paths that could not be read if they may be the reason. Inspects the host for
/// matches whose report does not mention the object. May block.
void NarrowTo(const Inquiry& inquiry, const std::vector<Inspection>& inspections,
              const Sysfs& sysfs, DeviceAncestries& ancestries,
              std::vector<Explanation>& explanations);

}  // namespace patchbay
