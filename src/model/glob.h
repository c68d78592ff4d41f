#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// A pattern for one name: `*`, `?`, `[a-z]` and `[!a-z]`; a backslash escapes the next character.
/// As in a shell, a wildcard does not match a leading dot. Matches bytes, not characters.
class NamePattern {
 public:
  static Parsed<NamePattern> Compile(std::string_view pattern);

  bool Matches(const std::string& name) const;
  /// Returns whether the pattern has no wildcards, so that it matches only text().
  bool literal() const { return literal_; }
  const std::string& text() const { return text_; }
  bool operator==(const NamePattern&) const = default;

 private:
  std::string text_;  ///< the pattern, or the unescaped name if it is literal
  bool literal_ = true;
};

/// Compiles a pattern in which `{a,b}` contains alternatives, which can be nested: one pattern for
/// each. Fails with the offset of the error, or beyond the limits of Glob.
Parsed<std::vector<NamePattern>> CompileAlternatives(std::string_view pattern);

/// Returns a pattern that matches only `text`, also in a Glob.
std::string EscapedForGlob(std::string_view text);

/// Returns whether any of the patterns matches.
bool MatchesAny(const std::vector<NamePattern>& patterns, const std::string& name);

/// A pattern for a whole absolute path: a NamePattern for each component, `**` for any number of
/// directories, and `{a,b}` for alternatives, which can contain slashes and can be nested.
class Glob {
 public:
  /// One component of a path; `any_depth` is `**`.
  struct Component {
    NamePattern name;
    bool any_depth = false;
    /// Returns whether it matches only one name.
    bool literal() const { return name.literal() && !any_depth; }
  };
  using Components = std::vector<Component>;

  /// Fails with the offset of the error: not absolute, "..", an unclosed bracket or brace, more
  /// than 4,096 bytes, or more than 1,000 alternatives or 256 KiB of them.
  static Parsed<Glob> Compile(std::string_view pattern);

  bool Matches(std::string_view path) const;
  /// Returns whether one alternative of a glob matches the path.
  static bool Matches(const Components& alternative, std::string_view path);

  /// The pattern with expanded braces. There is at least one alternative, and none is empty.
  const std::vector<Components>& alternatives() const { return alternatives_; }
  /// The deepest known directory that contains all matches, directly or in subdirectories. Ends
  /// with a slash: "/dev/".
  const std::string& fixed_directory() const { return fixed_directory_; }
  /// Returns whether a match can be in a subdirectory of fixed_directory().
  bool spans_directories() const { return spans_directories_; }
  const std::string& text() const { return text_; }
  /// The memory that the alternatives need, in bytes.
  std::size_t memory() const;
  /// Globs are equal if their texts are equal.
  bool operator==(const Glob& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<Components> alternatives_;
  std::string fixed_directory_;
  bool spans_directories_ = false;
};

}  // namespace patchbay
