#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace patchbay {

/// A position in an input file. Lines and columns are numbered from 1; a column counts bytes. Line
/// 0 stands for the whole file.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { kError, kWarning };

/// An error or a warning about the input, in the style of a compiler message.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string_view code;  ///< stable, see docs/diagnostics.md: "unknown-key"
  SourceLocation place;
  std::string message;  ///< what is wrong, without a final period
  std::string hint;     ///< how to fix it; may be empty

  bool operator==(const Diagnostic&) const = default;
};

/// Collects the errors and warnings about one input, so that they can be reported together. Not
/// thread-safe; owned by the thread that loads the input.
class Diagnostics {
 public:
  /// Stores the text of a file. RenderText and RenderErrors quote its lines.
  void AddSource(std::string file, std::string text);
  void Add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }

  bool HasErrors() const;
  std::size_t WarningCount() const;
  /// Returns the diagnostics sorted by file (in the order of AddSource), line and column.
  std::vector<Diagnostic> Sorted() const;
  bool empty() const { return list_.empty(); }

  /// Renders each diagnostic as `file:line:column: error[code]: message`, followed by the source
  /// line, a caret and the hint, with the colors of a terminal if `colored`. RenderErrors omits
  /// warnings.
  std::string RenderText(bool colored = false) const { return Render(Sorted(), colored); }
  std::string RenderErrors(bool colored = false) const;

 private:
  std::string Render(const std::vector<Diagnostic>& findings, bool colored) const;
  std::string_view SourceLine(const SourceLocation& place) const;

  std::vector<Diagnostic> list_;
  std::vector<std::pair<std::string, std::string>> sources_;
};

/// Returns "error" or "warning".
std::string_view Name(Severity severity);

/// Returns the candidate with the smallest edit distance to `word`, or "" if `word` is probably not
/// a misspelling of any candidate.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Lists at most ten names for a hint: "it has a, b and 3 more", or "it has none".
std::string ListNames(std::span<const std::string_view> names);

}  // namespace patchbay
