#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
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

/// A kind of names that a pattern can be for.
struct NameKind {
  GlobKind notation = GlobKind::kText;
  /// Returns whether the pattern can match such a name; null: any text is one.
  bool (*can_match)(std::string_view pattern) = nullptr;
  /// Returns the valid pattern that is probably intended; may be null.
  std::string (*corrected)(std::string_view pattern) = nullptr;
  Code code = Code::kBadPattern;          ///< if it cannot
  std::string_view what = "", hint = "";  ///< "a PCI address"
};

/// Compiles the patterns of a list for names, with their alternatives. Reports those that are
/// invalid or match no name, which in `not` would exclude nothing.
std::vector<NamePattern> CompileNames(const std::vector<Text>& list, const NameKind& kind,
                                      PatternBudget& budget, Reporter& reporter);

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
