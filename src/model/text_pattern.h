#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace patchbay {

/// The compiled form of an RE2 expression; fails with the offset of the mistake.
Parsed<std::shared_ptr<const re2::RE2>> CompileRe2(std::string_view pattern);

/// An RE2 expression that must match the whole of a text: `up|unknown`.
///
/// Immutable, cheap to copy, thread-safe. Linear in the length of the text whatever the pattern.
class TextPattern {
 public:
  static Parsed<TextPattern> Compile(std::string_view pattern);

  bool Matches(std::string_view text) const;
  const std::string& text() const { return text_; }
  /// Expressions are equal when their texts are.
  bool operator==(const TextPattern& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> re_;
};

}  // namespace patchbay
