#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace patchbay {

/// The names and texts of the named groups of a match, in the order of the pattern. A group that
/// did not participate in the match is absent.
using Captures = std::vector<std::pair<std::string, std::string>>;

/// An RE2 regular expression that must match a whole path.
///
/// Immutable, cheap to copy, thread-safe. Matching takes linear time in the length of the path, for
/// every pattern.
class Regex {
 public:
  /// The value of depth() if the pattern does not limit the depth.
  static constexpr int kAnyDepth = 16;

  /// Compiles a pattern, which must begin with a literal "/". Fails with the offset of the error.
  static Parsed<Regex> Compile(std::string_view pattern);

  /// Returns whether the whole `path` matches, and sets `captures` to the named groups.
  bool Match(std::string_view path, Captures& captures) const;

  const std::vector<std::string>& capture_names() const { return names_; }
  /// The deepest known directory that contains all matches, directly or in subdirectories. Ends
  /// with a slash.
  const std::string& fixed_directory() const { return fixed_directory_; }
  /// The maximum number of directories between fixed_directory() and a match; 0 if all matches are
  /// directly in fixed_directory().
  int depth() const { return depth_; }
  const std::string& text() const { return text_; }
  /// The most memory that the expression needs, in bytes.
  std::size_t memory() const;
  /// Expressions are equal if their texts are equal.
  bool operator==(const Regex& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> re_;
  std::vector<std::string> names_;
  std::vector<int> groups_;  ///< the group number of each name
  std::string fixed_directory_;
  int depth_ = 0;
};

}  // namespace patchbay
