#pragma once

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

/// What the named groups of a regex matched, in the order of the pattern. A group that took no part
/// in the match is absent.
using Captures = std::vector<std::pair<std::string, std::string>>;

/// An RE2 regular expression that must match a whole path.
///
/// Immutable, cheap to copy, thread-safe. Linear in the length of the path whatever the pattern.
class Regex {
 public:
  /// How many levels of directories below fixed_directory() a match may lie; this if any.
  static constexpr int kAnyDepth = 16;

  /// Fails with the offset of the mistake. The pattern must begin with a literal "/".
  static Parsed<Regex> Compile(std::string_view pattern);

  /// Whether the whole of `path` matches; `captures` then holds the named groups.
  bool Match(std::string_view path, Captures& captures) const;

  const std::vector<std::string>& capture_names() const { return names_; }
  /// The directory below which every match lies, with a slash at its end.
  const std::string& fixed_directory() const { return fixed_directory_; }
  /// 0: matches lie in fixed_directory() itself; n: at most n levels below.
  int depth() const { return depth_; }
  const std::string& text() const { return text_; }
  /// Expressions are equal when their texts are.
  bool operator==(const Regex& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> re_;
  std::vector<std::string> names_;
  std::vector<int> groups_;  ///< the index of the group of each name
  std::string fixed_directory_;
  int depth_ = 0;
};

}  // namespace patchbay
