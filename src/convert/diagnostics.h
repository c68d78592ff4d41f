#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace patchbay {

/// Adds findings about a file of another plugin to Diagnostics, which must outlive it. After
/// kMaxFindings findings one more is added, which reports that there are more. A finding is added
/// once, also if several pools have it. An error prevents the conversion of one part of the input,
/// such as a group.
class Findings {
 public:
  static constexpr int kMaxFindings = 200;

  explicit Findings(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// The file has the wrong format: not valid YAML, or a value of the wrong type.
  void Malformed(const SourceLocation& place, std::string message, std::string hint = "") {
    Add(Severity::kError, "foreign-syntax", place, std::move(message), std::move(hint));
  }
  /// Patchbay has no equivalent for it.
  void CannotConvert(const SourceLocation& place, std::string message, std::string hint) {
    Add(Severity::kError, "cannot-convert", place, std::move(message), std::move(hint));
  }
  /// The other plugin ignores it as well, or it is not part of the output.
  void Ignored(const SourceLocation& place, std::string message, std::string hint = "") {
    Add(Severity::kWarning, "ignored", place, std::move(message), std::move(hint));
  }
  /// The file does not specify it, and an assumption was made that needs a review.
  void Assumed(const SourceLocation& place, std::string message, std::string hint) {
    Add(Severity::kWarning, "assumed", place, std::move(message), std::move(hint));
  }

  /// The output can behave differently on some hosts. Returns the comment for the output.
  std::string Differs(const SourceLocation& place, const std::string& difference,
                      const std::string& hint) {
    Assumed(place, difference, hint);
    return "Difference: " + difference + "; " + hint + ".";
  }

  /// Returns whether there are errors that TakeErrors has not returned.
  bool HasNewErrors() const { return !errors_.empty(); }
  /// Returns the errors since the last call, including those that are not shown.
  std::vector<Diagnostic> TakeErrors() { return std::exchange(errors_, {}); }

 private:
  void Add(Severity severity, std::string_view code, const SourceLocation& place,
           std::string message, std::string hint);

  Diagnostics& diagnostics_;
  std::vector<Diagnostic> errors_ = {};
  std::set<std::string> known_ = {};
  int count_ = 0;
};

}  // namespace patchbay
