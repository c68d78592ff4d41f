#pragma once

#include <optional>
#include <string>

#include "config/section.h"
#include "model/spec.h"

namespace patchbay {

/// Reports directories that stand for their nodes elsewhere, and patterns of `exclude` that exclude
/// nothing on any host, or everything, unless `exclude` could not be compiled.
void CheckPaths(const Section& section, const MatchSpec& match, Reporter& reporter);

/// Returns the only path that an alternative of a glob can match, or none if it has wildcards.
std::optional<std::string> LiteralPath(const Glob::Components& alternative);

/// Returns the only path that the glob can match, or none if it has wildcards or alternatives.
std::optional<std::string> OnlyPath(const Glob& glob);

}  // namespace patchbay
