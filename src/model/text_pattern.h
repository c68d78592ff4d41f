#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace patchbay {

/// Compiles an RE2 regular expression. It never needs more memory than its options allow, at most
/// 1 MiB, also for matching: it is as slow as necessary instead. Fails with the offset of the
/// error.
Parsed<std::shared_ptr<const re2::RE2>> CompileRe2(std::string_view pattern);

/// An RE2 regular expression that must match a whole text: `up|unknown`.
///
/// Immutable, cheap to copy, thread-safe. Matching takes linear time in the length of the text, for
/// every pattern.
class TextPattern {
 public:
  static Parsed<TextPattern> Compile(std::string_view pattern);

  bool Matches(std::string_view text) const;
  const std::string& text() const { return text_; }
  /// The most memory that the pattern needs, in bytes.
  std::size_t memory() const;
  /// Expressions are equal if their texts are equal.
  bool operator==(const TextPattern& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> re_;
};

}  // namespace patchbay
