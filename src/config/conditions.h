#pragma once

#include "config/patterns.h"
#include "config/section.h"
#include "model/hardware_patterns.h"

namespace patchbay {

/// Compiles the conditions of a [[resource.match]] or of its `not`. Reports invalid values and
/// leaves them out of the result, which may match more devices then.
HardwarePatterns CompileConditions(const Section& section, PatternCompiler& patterns);

}  // namespace patchbay
