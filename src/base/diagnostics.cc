// Diagnostics are rendered like compiler messages. File names, messages and source lines come from
// untrusted input, so each is escaped before it is printed. A long source line is clipped around
// the column. The caret line repeats the tabs of the source line, so that the caret is in the right
// place for any tab width.
//
// Suggestions for a misspelled name use an edit distance that counts a swap of adjacent characters
// as one edit, because that is a frequent typing error. A candidate is suggested if it needs one
// edit, or at most as many as a third of the length of the word.

#include "base/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/color.h"
#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// Returns the edit distance of two words. A swap of two adjacent characters counts as one edit
/// (optimal string alignment). Ignores ASCII case.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return ToLower(x) == ToLower(y); };
  std::vector<std::size_t> above(b.size() + 1), row(b.size() + 1), before;
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

/// Maximum number of bytes quoted from a source line.
constexpr std::size_t kMaxQuote = 240;

/// Returns the part of a long line around `column`, and makes `column` relative to that part.
std::string_view Clip(std::string_view line, int& column) {
  if (line.size() <= kMaxQuote) return line;
  const auto at = std::min(static_cast<std::size_t>(std::max(column - 1, 0)), line.size());
  std::size_t start = at > kMaxQuote / 2 ? at - kMaxQuote / 2 : 0;
  const auto inside_character = [&](std::size_t i) {
    return i < line.size() && (static_cast<unsigned char>(line[i]) & 0xC0) == 0x80;
  };
  while (inside_character(start)) ++start;
  std::size_t end = std::min(start + kMaxQuote, line.size());
  while (end > start && inside_character(end)) --end;
  column -= static_cast<int>(start);
  return line.substr(start, end - start);
}

/// Escapes the characters of a source line that are not printable, except tabs.
std::string EscapeLine(std::string_view line) {
  std::string escaped;
  while (true) {
    const auto tab = line.find('\t');
    escaped += Printable(line.substr(0, tab));
    if (tab == std::string_view::npos) return escaped;
    escaped.push_back('\t');
    line.remove_prefix(tab + 1);
  }
}

/// Returns the whitespace that places a caret below the character after `before`. Tabs are kept, so
/// that both lines align.
std::string Indent(std::string_view before) {
  std::string indent;
  for (const char c : EscapeLine(before)) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // continuation byte
    indent.push_back(c == '\t' ? '\t' : ' ');
  }
  return indent;
}

Color ColorOf(Severity severity) {
  return severity == Severity::kError ? Color::kRed : Color::kYellow;
}

}  // namespace

std::string_view Name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

void Diagnostics::AddSource(std::string file, std::string text) {
  sources_.emplace_back(std::move(file), std::move(text));
}

bool Diagnostics::HasErrors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

std::vector<Diagnostic> Diagnostics::Sorted() const {
  const auto file_rank = [&](const std::string& file) {
    return std::find_if(sources_.begin(), sources_.end(),
                        [&](const auto& source) { return source.first == file; }) -
           sources_.begin();
  };
  std::vector<Diagnostic> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(file_rank(a.place.file), a.place.line, a.place.column) <
           std::tuple(file_rank(b.place.file), b.place.line, b.place.column);
  });
  return sorted;
}

std::string_view Diagnostics::SourceLine(const SourceLocation& place) const {
  for (const auto& [file, text] : sources_) {
    if (file != place.file) continue;
    std::string_view rest = text;
    for (int line = 1; line < place.line; ++line) {
      const auto end = rest.find('\n');
      if (end == std::string_view::npos) return {};
      rest.remove_prefix(end + 1);
    }
    rest = rest.substr(0, rest.find('\n'));
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    return rest;
  }
  return {};
}

std::size_t Diagnostics::WarningCount() const {
  return static_cast<std::size_t>(
      std::count_if(list_.begin(), list_.end(),
                    [](const Diagnostic& d) { return d.severity == Severity::kWarning; }));
}

std::string Diagnostics::RenderErrors(bool colored) const {
  std::vector<Diagnostic> errors = Sorted();
  std::erase_if(errors, [](const Diagnostic& d) { return d.severity != Severity::kError; });
  return Render(errors, colored);
}

std::string Diagnostics::Render(const std::vector<Diagnostic>& findings, bool colored) const {
  std::string out;
  for (const Diagnostic& d : findings) {
    std::string place = Printable(d.place.file);
    if (d.place.line > 0) place += Format(":{}:{}", d.place.line, d.place.column);
    const std::string kind = Format("{}[{}]:", Name(d.severity), d.code);
    out += Format("{} {} {}\n", Paint(place + ":", Color::kBold, colored),
                  Paint(kind, ColorOf(d.severity), colored), Printable(d.message));
    int column = d.place.column;
    const std::string_view line =
        d.place.line == 0 ? std::string_view() : Clip(SourceLine(d.place), column);
    if (!line.empty()) {
      const auto before = line.substr(0, static_cast<std::size_t>(std::max(column - 1, 0)));
      out += Format("    {}\n    {}{}\n", EscapeLine(line), Indent(before),
                    Paint("^", Color::kGreen, colored));
    }
    if (d.hint.empty()) continue;
    out += Format("    {} {}\n", Paint("hint:", Color::kCyan, colored), Printable(d.hint));
  }
  return out;
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  std::size_t best = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string ListNames(std::span<const std::string_view> names) {
  constexpr std::size_t kMax = 10;
  if (names.empty()) return "it has none";
  const auto shown = names.first(std::min(names.size(), kMax));
  const auto text = Format("it has {}", fmt::join(shown.begin(), shown.end(), ", "));
  return names.size() > kMax ? Format("{} and {} more", text, names.size() - kMax) : text;
}

}  // namespace patchbay
