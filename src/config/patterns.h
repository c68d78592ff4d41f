#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "config/foreign_notation.h"
#include "config/reporter.h"
#include "config/toml_value.h"
#include "model/glob.h"
#include "model/regex.h"
#include "model/text_pattern.h"

namespace patchbay {

/// The number of patterns of paths that the input can still have, counted after brace expansion
/// because they are compared with each other, and the bytes of memory that all patterns can need.
struct PatternBudget {
  std::size_t patterns = 20'000;
  std::size_t bytes = std::size_t{48} << 20;
};

/// Compile the globs of a list, the alternatives of a pattern for names, a regular expression for
/// paths, and one for other texts. Report what is invalid, or more than the budget has, and return
/// none then.
std::optional<std::vector<Glob>> CompileGlobs(const std::vector<Text>& list, GlobKind kind,
                                              PatternBudget& budget, Reporter& reporter);
std::optional<std::vector<NamePattern>> CompileNamePatterns(const Text& text, PatternBudget& budget,
                                                            Reporter& reporter);
std::optional<Regex> CompileRegex(const Text& text, PatternBudget& budget, Reporter& reporter);
std::optional<TextPattern> CompileTextPattern(const Text& text, PatternBudget& budget,
                                              Reporter& reporter);

/// Reports globs that would search the whole host, or every process: whose names in "/" or "/proc"
/// are not known. Returns whether there are none.
bool CheckBeginnings(const std::vector<Glob>& globs, const std::vector<Text>& list,
                     Reporter& reporter);

}  // namespace patchbay
