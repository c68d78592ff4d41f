#pragma once

#include <optional>

#include "config/patterns.h"
#include "config/section.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles one [[resource.match]]. Reports errors in its source, its patterns and the template of
/// its ID. Returns none if the match has no usable source.
std::optional<MatchSpec> CompileMatch(const Section& section, PatternCompiler& patterns);

/// Returns whether one device of the match can have several nodes.
bool CanHaveSeveralNodes(const MatchSpec& match);

/// Returns whether the match can find more than one device.
bool CanFindSeveral(const MatchSpec& match);

}  // namespace patchbay
