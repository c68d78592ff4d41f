#pragma once

#include <string>
#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Formats complete explanations as JSON; docs/discovery.md describes the schema. `inquiry` is the
/// one that NarrowTo was called with, or null.
std::string ExplanationJson(const std::vector<Explanation>& explanations, const Inquiry* inquiry);

}  // namespace patchbay
