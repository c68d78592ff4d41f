#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Reports patterns of `path` that can match no device node on any host, and patterns of `exclude`
/// that exclude nothing, or everything. Does nothing for an `exclude` that could not be compiled.
void CheckPaths(const MatchDraft& draft, const MatchSpec& match, Reporter& reporter);

/// Returns the only path that the glob can match, or none if it has wildcards or alternatives.
std::optional<std::string> OnlyPath(const Glob& glob);

/// Paths that are directories on every host that has them, such as "/dev/dri".
std::span<const std::string_view> UsualDirectories();

}  // namespace patchbay
