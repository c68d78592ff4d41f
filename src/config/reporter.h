#pragma once

#include <string>

#include "base/diagnostics.h"
#include "config/diagnostic_code.h"

namespace patchbay {

/// Writes findings, each by its Code, into Diagnostics that must outlive it. Beyond kMaxFindings
/// errors, and as many warnings, only one more is written, which says so: a file of another kind
/// would otherwise fill the screen.
class Reporter {
 public:
  static constexpr int kMaxFindings = 200;

  explicit Reporter(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void Report(Code code, const SourceLocation& place, std::string message, std::string hint = "");

 private:
  Diagnostics& diagnostics_;
  int errors_ = 0;
  int warnings_ = 0;
};

/// `hint` about the nearest candidate: "did you mean `x`?", or `otherwise` when none is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string otherwise = "");

/// The words, quoted as code and joined: "`a`, `b` or `c`".
std::string OneOf(std::span<const std::string_view> words);

/// "file:line", to point from one finding to another place.
std::string Where(const SourceLocation& place);

}  // namespace patchbay
