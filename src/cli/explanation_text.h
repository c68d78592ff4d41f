#pragma once

#include <string>
#include <vector>

#include "cli/explanation.h"
#include "cli/inquiry.h"

namespace patchbay {

/// Explanations for people, on a screen or two: of what many have in common only a few are named.
/// Printable, whatever the host has.
std::string ExplanationText(const std::vector<Explanation>& explanations);

/// The same where one thing is asked about: first what it is; of resources that are for other
/// things, where there are several, the names alone.
std::string AnswerText(const Inquiry& inquiry, const std::vector<Explanation>& explanations);

}  // namespace patchbay
