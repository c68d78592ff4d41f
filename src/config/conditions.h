#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Compiles the conditions of a match or of its `not`. Reports malformed values, `serial` without
/// `usb`, and conditions that match every device. Invalid parts are left out of the result.
HardwarePatterns CompileConditions(const ConditionsDraft& draft, Reporter& reporter);

/// Compiles a pattern for one name. Reports a malformed pattern.
std::optional<NamePattern> CompileNamePattern(const Text& text, Reporter& reporter);

}  // namespace patchbay
