#pragma once

#include <string>
#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Formats explanations as text of one or two screens: entries with the same outcome and reason
/// share a line, and long lists are truncated. Names from the host are escaped.
std::string ExplanationText(const std::vector<Explanation>& explanations);

/// Formats explanations that NarrowTo has reduced to `inquiry`. Begins with a description of the
/// object. If several resources do not apply to it, only their names are listed.
std::string AnswerText(const Inquiry& inquiry, const std::vector<Explanation>& explanations);

}  // namespace patchbay
