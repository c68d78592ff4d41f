#pragma once

#include <string>
#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Explanations for programs, everything that is known; docs/discovery.md has the shape. `inquiry`
/// is what they were narrowed to, or null.
std::string ExplanationJson(const std::vector<Explanation>& explanations, const Inquiry* inquiry);

}  // namespace patchbay
