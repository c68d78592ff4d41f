#include "config/patterns.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/foreign_notation.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {
namespace {

/// The part of the budget that a pattern needs.
PatternBudget NeedOf(const Glob& glob) { return {glob.alternatives().size(), glob.memory()}; }
PatternBudget NeedOf(const Regex& regex) { return {1, regex.memory()}; }
PatternBudget NeedOf(const TextPattern& pattern) { return {1, pattern.memory()}; }
PatternBudget NeedOf(const std::vector<NamePattern>& names) {
  PatternBudget need{0, 0};
  for (const NamePattern& name : names) need.bytes += sizeof name + name.text().size();
  return need;
}

/// Returns a hint on the error at an offset of a pattern.
using Hint = std::string (*)(std::string_view text, std::size_t offset);

/// Returns a compiled pattern if the budget is enough for it; otherwise reports its error.
template <class Pattern>
std::optional<Pattern> Accept(Parsed<Pattern> pattern, const Text& text, Hint hint,
                              PatternBudget& budget, Reporter& reporter) {
  if (!pattern) {
    reporter.Report(Code::kBadPattern, text, pattern.error(),
                    hint(text.value, pattern.error().offset));
    return std::nullopt;
  }
  const PatternBudget need = NeedOf(*pattern);
  if (need.patterns > budget.patterns || need.bytes > budget.bytes) {
    reporter.Report(Code::kBadPattern, text.place,
                    "the patterns of the configuration need too much memory",
                    "use fewer or shorter patterns; wildcards instead of single names");
    return std::nullopt;
  }
  budget.patterns -= need.patterns;
  budget.bytes -= need.bytes;
  return std::move(*pattern);
}

std::string HintOnGlob(std::string_view text, std::size_t offset) {
  if (text.starts_with('!')) {
    return Format("remove the !: exclude = \"{}\" excludes what the glob matches",
                  Truncate(text.substr(1), 100));
  }
  if (text.starts_with('^')) return "a glob matches the whole path: remove ^ and $";
  if (!text.starts_with('/')) return "use an absolute path, as in /dev/ttyUSB*";
  if (offset < text.size() && text[offset] == '.')
    return "write the path without . and .. components";
  return "supported: *, ?, [a-z], {a,b} and **; a backslash escapes the next character";
}

std::optional<Glob> CompileGlob(const Text& text, GlobKind kind, PatternBudget& budget,
                                Reporter& reporter) {
  auto glob = Accept(Glob::Compile(text.value), text, HintOnGlob, budget, reporter);
  if (!glob) return std::nullopt;
  if (text.value.ends_with('/') && !text.value.ends_with("\\/")) {
    reporter.Report(
        Code::kBadPattern, text.At(text.value.size() - 1), "a path cannot end with a slash",
        Format("remove the slash; {}* is every node in the directory", Truncate(text.value, 100)));
    return std::nullopt;
  }
  WarnOfForeignParts(text, kind, reporter);
  return glob;
}

void CheckCaptureNames(const Text& text, const Regex& regex, Reporter& reporter) {
  const std::vector<Variable> builtin = SuppliedBy(MatchSpec());
  for (const std::string& name : regex.capture_names()) {
    const bool taken = std::any_of(builtin.begin(), builtin.end(),
                                   [&](const Variable& v) { return v.name == name; });
    if (!taken) continue;
    const auto at = text.value.find("<" + name + ">");
    reporter.Report(Code::kReservedName, text.At(at == std::string::npos ? 0 : at + 1),
                    Format("\"{}\" is a built-in variable of every device", name),
                    "rename the group");
  }
}

std::string HintOnRegex(std::string_view text, std::size_t offset) {
  const std::string_view hint = HintOnForeignGroup(text.substr(offset));
  if (!hint.empty()) return std::string(hint);
  if (text.starts_with('^')) return "it always matches the whole path: remove ^ and $";
  if (!text.starts_with('/')) return "start with the directory, as in '/dev/tty(USB|ACM)\\d+'";
  if (auto foreign = FindForeignInRegex(text, true)) return std::move(foreign->hint);
  return "use RE2 syntax; in single quotes, backslashes need no escaping";
}

void ReportForeign(const Text& regex, ForeignInRegex foreign, Reporter& reporter) {
  reporter.Report(Code::kForeignNotation, regex.At(foreign.offset), std::move(foreign.problem),
                  std::move(foreign.hint));
}

/// The memory of a scan is limited, but it would take long.
std::nullopt_t SearchesTooMuch(const Text& text, std::string_view directory, std::string hint,
                               Reporter& reporter) {
  reporter.Report(Code::kBadPattern, text.place,
                  Format("the pattern would search all of {}, which takes too long", directory),
                  std::move(hint));
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Glob>> CompileGlobs(const std::vector<Text>& list, GlobKind kind,
                                              PatternBudget& budget, Reporter& reporter) {
  std::vector<Glob> globs;
  for (const Text& text : list) {
    if (auto glob = CompileGlob(text, kind, budget, reporter)) globs.push_back(std::move(*glob));
  }
  if (globs.size() != list.size()) return std::nullopt;
  return globs;
}

std::optional<std::vector<NamePattern>> CompileNamePatterns(const Text& text, PatternBudget& budget,
                                                            Reporter& reporter) {
  const Hint hint = [](std::string_view, std::size_t) -> std::string {
    return "supported: *, ?, [a-z] and {a,b}; a backslash escapes the next character";
  };
  return Accept(CompileAlternatives(text.value), text, hint, budget, reporter);
}

std::vector<NamePattern> CompileNames(const std::vector<Text>& list, const NameKind& kind,
                                      PatternBudget& budget, Reporter& reporter) {
  std::vector<NamePattern> names;
  for (const Text& text : list) {
    auto patterns = CompileNamePatterns(text, budget, reporter);
    if (!patterns) continue;
    const auto invalid = std::ranges::find_if(*patterns, [&](const NamePattern& pattern) {
      return kind.can_match != nullptr && !kind.can_match(pattern.text());
    });
    if (invalid == patterns->end()) {
      WarnOfForeignParts(text, kind.notation, reporter);
    } else {
      const std::string foreign = HintOnForeignPart(text.value, kind.notation);
      const std::string near = kind.corrected == nullptr ? "" : kind.corrected(invalid->text());
      reporter.Report(kind.code, text.place,
                      Format("\"{}\" is not {}", invalid->text().substr(0, 100), kind.what),
                      !foreign.empty() ? foreign
                      : !near.empty()  ? Format("write \"{}\"", near)
                                       : std::string(kind.hint));
    }
    std::ranges::move(*patterns, std::back_inserter(names));
  }
  return names;
}

std::optional<Regex> CompileRegex(const Text& text, PatternBudget& budget, Reporter& reporter) {
  auto regex = Accept(Regex::Compile(text.value), text, HintOnRegex, budget, reporter);
  if (!regex) return std::nullopt;
  auto foreign = FindForeignInRegex(text.value, true);
  const std::string& directory = regex->fixed_directory();
  if (directory == "/" || directory == "/proc/") {
    return SearchesTooMuch(text, directory,
                           foreign
                               ? std::move(foreign->hint)
                               : "begin with the directory, outside of parentheses: '/dev/(a|b)'",
                           reporter);
  }
  for (const std::string_view invalid_part : {"//", "/./", "/../"}) {
    if (directory.find(invalid_part) == std::string::npos) continue;
    const auto at = text.value.find(invalid_part);
    reporter.Report(Code::kBadPattern, text.At(at == std::string::npos ? 0 : at),
                    Format("the path of a device cannot contain \"{}\"", invalid_part));
    return std::nullopt;
  }
  if (text.value.ends_with('/')) {
    reporter.Report(Code::kBadPattern, text.At(text.value.size() - 1),
                    "a path cannot end with a slash", "name the files below it: …/.+");
    return std::nullopt;
  }
  CheckCaptureNames(text, *regex, reporter);
  if (foreign) ReportForeign(text, *std::move(foreign), reporter);
  return regex;
}

std::optional<TextPattern> CompileTextPattern(const Text& text, PatternBudget& budget,
                                              Reporter& reporter) {
  const Hint hint = [](std::string_view, std::size_t) -> std::string { return "use RE2 syntax"; };
  auto pattern = Accept(TextPattern::Compile(text.value), text, hint, budget, reporter);
  if (!pattern) return std::nullopt;
  if (auto foreign = FindForeignInRegex(text.value, false)) {
    ReportForeign(text, *std::move(foreign), reporter);
  }
  return pattern;
}

bool CheckBeginnings(const std::vector<Glob>& globs, const std::vector<Text>& list,
                     Reporter& reporter) {
  bool is_ok = true;
  for (std::size_t i = 0; i < globs.size(); ++i) {
    for (const Glob::Components& alternative : globs[i].alternatives()) {
      const auto known = static_cast<std::size_t>(
          std::ranges::find_if(
              alternative, [](const Glob::Component& component) { return !component.literal(); }) -
          alternative.begin());
      if (known == alternative.size()) continue;
      const bool is_proc = known == 1 && alternative.front().name.text() == "proc";
      if (known > 0 && !is_proc) continue;
      SearchesTooMuch(list[i], is_proc ? "/proc" : "/",
                      "begin with a directory, as in /dev/ttyUSB*", reporter);
      is_ok = false;
      break;
    }
  }
  return is_ok;
}

}  // namespace patchbay
