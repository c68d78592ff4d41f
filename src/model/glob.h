#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// A pattern for one name: `*`, `?` and `[a-z]`, `[!a-z]`; a backslash takes the next character as
/// it is. As in a shell, a wildcard does not match a leading dot. Bytes, not characters.
class NamePattern {
 public:
  static Parsed<NamePattern> Compile(std::string_view pattern);

  bool Matches(const std::string& name) const;
  /// Whether there are no wildcards, so that only text() itself matches.
  bool literal() const { return literal_; }
  const std::string& text() const { return text_; }
  bool operator==(const NamePattern&) const = default;

 private:
  std::string text_;  ///< the pattern; of a literal one the name itself
  bool literal_ = true;
};

/// Whether one of them matches.
bool MatchesAny(const std::vector<NamePattern>& patterns, const std::string& name);

/// A pattern for a whole absolute path: a NamePattern for each component, `**` for any number of
/// directories, and `{a,b}` for alternatives, which may hold slashes and nest.
class Glob {
 public:
  /// One component of a path; `any_depth` is `**`.
  struct Component {
    NamePattern name;
    bool any_depth = false;
  };
  using Components = std::vector<Component>;

  /// Fails with the offset of the mistake: not absolute, "..", an unclosed bracket or brace, more
  /// than 1,000 alternatives or 4,096 bytes.
  static Parsed<Glob> Compile(std::string_view pattern);

  bool Matches(std::string_view path) const;

  /// The pattern with its braces multiplied out; there is at least one, none is empty.
  const std::vector<Components>& alternatives() const { return alternatives_; }
  /// The deepest directory below which every match of every alternative lies, with a slash at its
  /// end: "/dev/", and whether matches can lie in more than that one directory.
  const std::string& fixed_directory() const { return fixed_directory_; }
  bool spans_directories() const { return spans_directories_; }
  const std::string& text() const { return text_; }
  /// Globs are equal when their texts are.
  bool operator==(const Glob& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<Components> alternatives_;
  std::string fixed_directory_;
  bool spans_directories_ = false;
};

}  // namespace patchbay
