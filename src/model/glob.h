#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// A pattern for one name: `*`, `?`, `[a-z]`, `[!a-z]`, and `{a,b}` for alternatives, which can be
/// nested; a backslash escapes the next character. As in a shell, a wildcard does not match a
/// leading dot. Matches bytes, not characters.
class NamePattern {
 public:
  /// Fails with the offset of the error: a bracket or brace that is not closed, or alternatives
  /// beyond the limits of Glob.
  static Parsed<NamePattern> Compile(std::string_view pattern);

  bool Matches(const std::string& name) const;
  /// Returns whether the pattern has no wildcards, so that it matches only text().
  bool literal() const { return literal_; }
  const std::string& text() const { return text_; }
  /// The number of alternatives, and the memory that they need in bytes.
  std::size_t size() const { return alternatives_.empty() ? 1 : alternatives_.size(); }
  std::size_t memory() const;
  bool operator==(const NamePattern&) const = default;

 private:
  static Parsed<NamePattern> CompileAlternatives(std::string_view pattern);

  std::string text_;  ///< the pattern, or the unescaped name if it is literal
  bool literal_ = true;
  std::vector<NamePattern> alternatives_;  ///< what braces expand to; empty without braces
};

/// Returns whether any of the patterns matches.
bool MatchesAny(const std::vector<NamePattern>& patterns, const std::string& name);

/// A pattern for a whole absolute path: a NamePattern for each component, and `**` for any number
/// of directories. Alternatives can contain slashes.
class Glob {
 public:
  /// One component of a path; `any_depth` is `**`.
  struct Component {
    NamePattern name;
    bool any_depth = false;
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
