#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace patchbay {

/// A place in an input file. Line and column count from 1, the column in bytes; line 0 is the file
/// as a whole.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { kError, kWarning };

/// One finding about the input, as a compiler would report it.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string_view code;  ///< stable and documented: "unknown-key"
  SourceLocation place;
  std::string message;  ///< what is wrong, without a full stop
  std::string hint;     ///< what to do about it; may be empty

  bool operator==(const Diagnostic&) const = default;
};

/// Collects the findings about one input, so that all of them can be shown at once.
/// Not thread-safe; a value of the thread that loads.
class Diagnostics {
 public:
  /// Remembers the text of a file, whose lines RenderText quotes.
  void AddSource(std::string file, std::string text);
  void Add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }

  bool HasErrors() const;
  std::size_t WarningCount() const;
  /// In the order of file (as added), line and column.
  std::vector<Diagnostic> Sorted() const;
  bool empty() const { return list_.empty(); }

  /// `file:line:column: error[code]: message`, the source line, a caret, the hint; for each, or for
  /// each error.
  std::string RenderText() const { return Render(Sorted()); }
  std::string RenderErrors() const;

 private:
  std::string Render(const std::vector<Diagnostic>& findings) const;
  std::string_view SourceLine(const SourceLocation& place) const;

  std::vector<Diagnostic> list_;
  std::vector<std::pair<std::string, std::string>> sources_;
};

/// "error" or "warning".
std::string_view Name(Severity severity);

/// The candidate nearest to `word`, or "" when none is near enough to be what was meant.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

/// As many of the names as one reads: "it has a, b and 3 more", or "it has none".
std::string ListNames(std::span<const std::string_view> names);

}  // namespace patchbay
