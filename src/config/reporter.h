#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "base/result.h"
#include "config/diagnostic_code.h"
#include "config/toml_value.h"

namespace patchbay {

/// Adds diagnostics by their Code to Diagnostics, which must outlive it. After kMaxFindings errors
/// it adds one more that reports that the rest is not shown, and likewise for warnings. Otherwise a
/// file of another kind, passed by accident, would fill the screen.
class Reporter {
 public:
  static constexpr int kMaxFindings = 200;

  explicit Reporter(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void Report(Code code, const SourceLocation& place, std::string message, std::string hint = "");
  /// Reports an error at its offset in `text`.
  void Report(Code code, const Text& text, SyntaxError error, std::string hint) {
    Report(code, text.At(error.offset), std::move(error.message), std::move(hint));
  }

 private:
  Diagnostics& diagnostics_;
  int errors_ = 0;
  int warnings_ = 0;
};

/// Returns a hint with the candidate most similar to `word`, "did you mean `x`?", or `otherwise` if
/// none is similar.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string otherwise = "");

/// Returns the words in quotes and joined: "`a`, `b` or `c`".
std::string OneOf(std::span<const std::string_view> words, char quote = '`');

/// Returns "file:line", to refer to another location in a message.
std::string Where(const SourceLocation& place);

}  // namespace patchbay
