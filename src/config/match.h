#pragma once

#include <optional>

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// The number of patterns that the input can still have, counted after brace expansion. It is
/// limited because each pattern needs memory.
struct PatternBudget {
  std::size_t left = 20'000;
};

/// Compiles one [[resource.match]]. Reports errors in its source, its patterns and the template of
/// its ID. Returns none if the match has no usable source.
std::optional<MatchSpec> CompileMatch(const MatchDraft& draft, PatternBudget& budget,
                                      Reporter& reporter);

/// Returns whether one device of the match can have several nodes.
bool CanHaveSeveralNodes(const MatchSpec& match);

/// Returns whether the match can find more than one device.
bool CanFindSeveral(const MatchSpec& match);

}  // namespace patchbay
