#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace patchbay {

/// Writes what there is to say about a foreign file into Diagnostics that must outlive it. Beyond
/// kMost findings only one more is written, which says so.
class Findings {
 public:
  static constexpr int kMost = 200;

  explicit Findings(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// The file is not what it is said to be: no YAML, a value of another kind.
  void Malformed(const Place& place, std::string message, std::string hint = "") {
    Add(Severity::kError, "foreign-syntax", place, std::move(message), std::move(hint));
  }
  /// It means something that Patchbay has no words for.
  void CannotSay(const Place& place, std::string message, std::string hint) {
    Add(Severity::kError, "cannot-convert", place, std::move(message), std::move(hint));
  }
  /// The other program pays no heed to it either.
  void Ignored(const Place& place, std::string message, std::string hint = "") {
    Add(Severity::kWarning, "ignored", place, std::move(message), std::move(hint));
  }
  /// The file leaves it open, and an assumption was made that somebody should look at.
  void Assumed(const Place& place, std::string message, std::string hint) {
    Add(Severity::kWarning, "assumed", place, std::move(message), std::move(hint));
  }

 private:
  void Add(Severity severity, std::string_view code, const Place& place, std::string message,
           std::string hint);

  Diagnostics& diagnostics_;
  int count_ = 0;
};

}  // namespace patchbay
