#pragma once

#include <optional>

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// How many patterns the whole input may still have, braces multiplied out: each costs memory.
struct PatternBudget {
  std::size_t left = 20'000;
};

/// Compiles one [[resource.match]]; reports what is wrong with its source, its patterns and the
/// template of its ID. Nothing when there is no source to go on with.
std::optional<MatchSpec> CompileMatch(const MatchDraft& draft, PatternBudget& budget,
                                      Reporter& reporter);

/// The one path that the pattern can match, if it has no wildcards at all.
std::optional<std::string> OnlyPath(const Glob& glob);

/// Whether one device of the match can have several nodes.
bool CanHaveSeveralNodes(const MatchSpec& match);

/// Whether the match can find more than one device.
bool CanFindSeveral(const MatchSpec& match);

}  // namespace patchbay
