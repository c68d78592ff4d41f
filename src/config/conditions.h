#pragma once

#include "config/patterns.h"
#include "config/section.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Compiles the conditions of a [[resource.match]] or of its `not`. Reports malformed values, and
/// conditions that match every device. Invalid parts are left out of the result.
HardwarePatterns CompileConditions(const Section& section, PatternCompiler& patterns);

}  // namespace patchbay
