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

/// A kind of names that a pattern can be for.
struct NameKind {
  PatternKind notation = PatternKind::kText;
  std::string_view bytes = "";  ///< of names and patterns; empty: any
  /// Returns whether the pattern can match such a name; null: always.
  bool (*can_match)(const NamePattern& pattern) = nullptr;
  /// Returns the valid pattern that is probably intended; may be null.
  std::string (*corrected)(std::string_view pattern) = nullptr;
  Code code = Code::kBadPattern;          ///< if it cannot
  std::string_view what = "", hint = "";  ///< "a PCI address"
};

/// Compiles the patterns of one configuration. Reports those that are invalid, or more than the
/// limits permit, and omits them.
class PatternCompiler {
 public:
  /// The maximum number of patterns of paths, counted after brace expansion because they are
  /// compared with each other, and the bytes of memory that all patterns can need.
  static constexpr std::size_t kMaxPatterns = 20'000;
  static constexpr std::size_t kMaxBytes = std::size_t{48} << 20;

  explicit PatternCompiler(Reporter& reporter) : reporter_(reporter) {}
  Reporter& reporter() const { return reporter_; }

  /// Compiles a list of globs; none if one is invalid. Those of PatternKind::kSource must not
  /// search the whole host, or every process.
  std::optional<std::vector<Glob>> Globs(const std::vector<Text>& list, PatternKind kind);
  /// Compiles a list of patterns for names, with their alternatives. Reports those that match no
  /// name, which in `not` would exclude nothing, but does not omit them.
  std::vector<NamePattern> Names(const std::vector<Text>& list, const NameKind& kind);
  /// Compiles a regular expression for paths, and one for other texts.
  std::optional<Regex> PathRegex(const Text& text);
  std::optional<TextPattern> TextRegex(const Text& text);

 private:
  template <class Pattern>
  std::optional<Pattern> Accept(Parsed<Pattern> pattern, const Text& text, PatternKind kind);
  std::optional<Glob> OneGlob(const Text& text, PatternKind kind);
  void CheckNames(const Text& text, const std::vector<NamePattern>& names, const NameKind& kind);

  Reporter& reporter_;
  std::size_t patterns_left_ = kMaxPatterns, bytes_left_ = kMaxBytes;
};

}  // namespace patchbay
