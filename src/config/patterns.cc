#include "config/patterns.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {
namespace {

/// The share of the limits that a pattern needs.
struct Need {
  std::size_t patterns, bytes;
};
Need NeedOf(const Glob& glob) { return {glob.alternatives().size(), glob.memory()}; }
Need NeedOf(const Regex& regex) { return {1, regex.memory()}; }
Need NeedOf(const TextPattern& pattern) { return {1, pattern.memory()}; }
Need NeedOf(const std::vector<NamePattern>& names) {
  Need need{0, 0};
  for (const NamePattern& name : names) need.bytes += sizeof name + name.text().size();
  return need;
}

std::string HintOnGlob(std::string_view text, std::size_t offset) {
  if (text.starts_with('!')) {
    return Format("remove the !: exclude = \"{}\" excludes what the glob matches",
                  Truncate(text.substr(1), 100));
  }
  if (text.starts_with('^')) return "a glob matches the whole path: remove ^ and $";
  if (text.find('/') == text.npos) {
    return Format(
        "write \"/dev/{0}\"; a network interface is found, or in not = {{ … }} excluded, by "
        "udev = {{ subsystem = \"net\", properties = {{ INTERFACE = \"{0}\" }} }}",
        Truncate(text, 100));
  }
  if (!text.starts_with('/')) return "use an absolute path, as in /dev/ttyUSB*";
  if (offset < text.size() && text[offset] == '.')
    return "write the path without . and .. components";
  return "supported: *, ?, [a-z], {a,b} and **; a backslash escapes the next character";
}

/// Returns "/" or "/proc" if a name in it has wildcards, so that the glob would search all of it,
/// or
/// "". The memory of a scan is limited, but it would take long.
std::string_view SearchedDirectory(const Glob& glob) {
  for (const Glob::Components& alternative : glob.alternatives()) {
    if (!alternative[0].literal()) return "/";
    const bool is_proc = alternative[0].name.text() == "proc" && alternative.size() > 1;
    if (is_proc && !alternative[1].literal()) return "/proc";
  }
  return "";
}

void ReportSearch(const Text& text, std::string_view directory, std::string hint,
                  Reporter& reporter) {
  reporter.Report(Code::kBadPattern, text.place,
                  Format("the pattern would search all of {}, which takes too long", directory),
                  std::move(hint));
}

void CheckCaptureNames(const Text& text, const Regex& regex, Reporter& reporter) {
  const std::vector<Variable> builtin = SuppliedBy(MatchSpec());
  for (const std::string& name : regex.capture_names()) {
    if (std::ranges::count(builtin, name, &Variable::name) == 0) continue;
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
  return HintOnForeignPart(text, PatternKind::kPathRegex,
                           "use RE2 syntax; in single quotes, backslashes need no escaping");
}

std::string HintOnSyntax(PatternKind kind, std::string_view text, std::size_t offset) {
  switch (kind) {
    case PatternKind::kSource:
    case PatternKind::kPath: return HintOnGlob(text, offset);
    case PatternKind::kPathRegex: return HintOnRegex(text, offset);
    case PatternKind::kRegex: return "use RE2 syntax";
    default: return "supported: *, ?, [a-z] and {a,b}; a backslash escapes the next character";
  }
}

}  // namespace

/// Returns a compiled pattern within the limits; otherwise reports its error.
template <class Pattern>
std::optional<Pattern> PatternCompiler::Accept(Parsed<Pattern> pattern, const Text& text,
                                               PatternKind kind) {
  if (!pattern) {
    reporter_.Report(Code::kBadPattern, text, pattern.error(),
                     HintOnSyntax(kind, text.value, pattern.error().offset));
    return std::nullopt;
  }
  const Need need = NeedOf(*pattern);
  if (need.patterns > patterns_left_ || need.bytes > bytes_left_) {
    reporter_.Report(Code::kBadPattern, text.place,
                     "the patterns of the configuration need too much memory",
                     "use fewer or shorter patterns; wildcards instead of single names");
    return std::nullopt;
  }
  patterns_left_ -= need.patterns;
  bytes_left_ -= need.bytes;
  return std::move(*pattern);
}

std::optional<Glob> PatternCompiler::OneGlob(const Text& text, PatternKind kind) {
  auto glob = Accept(Glob::Compile(text.value), text, kind);
  if (!glob) return std::nullopt;
  if (text.value.ends_with('/') && !text.value.ends_with("\\/")) {
    reporter_.Report(
        Code::kBadPattern, text.At(text.value.size() - 1), "a path cannot end with a slash",
        Format("remove the slash; {}* is every node in the directory", Truncate(text.value, 100)));
    return std::nullopt;
  }
  const auto searched = kind == PatternKind::kSource ? SearchedDirectory(*glob) : "";
  if (!searched.empty()) {
    ReportSearch(text, searched, "begin with a directory, as in /dev/ttyUSB*", reporter_);
    return std::nullopt;
  }
  WarnOfForeignParts(text, kind, reporter_);
  return glob;
}

std::optional<std::vector<Glob>> PatternCompiler::Globs(const std::vector<Text>& list,
                                                        PatternKind kind) {
  std::vector<Glob> globs;
  for (const Text& text : list) {
    if (auto glob = OneGlob(text, kind)) globs.push_back(std::move(*glob));
  }
  if (globs.size() != list.size()) return std::nullopt;
  return globs;
}

void PatternCompiler::CheckNames(const Text& text, const std::vector<NamePattern>& names,
                                 const NameKind& kind) {
  for (const NamePattern& name : names) {
    const std::string& pattern = name.text();
    const auto at = kind.bytes.empty() ? std::string::npos : pattern.find_first_not_of(kind.bytes);
    const bool has_byte = at != std::string::npos;
    if (!has_byte && (kind.can_match == nullptr || kind.can_match(name))) continue;
    const std::string near = kind.corrected == nullptr ? "" : kind.corrected(pattern);
    reporter_.Report(
        kind.code, has_byte ? text.At(text.value.find(pattern[at])) : text.place,
        Format("\"{}\" is not {}", Truncate(pattern, 100), kind.what),
        HintOnForeignPart(text.value, kind.notation,
                          near.empty() ? std::string(kind.hint) : Format("write \"{}\"", near)));
    return;
  }
  WarnOfForeignParts(text, kind.notation, reporter_);
}

std::vector<NamePattern> PatternCompiler::Names(const std::vector<Text>& list,
                                                const NameKind& kind) {
  std::vector<NamePattern> names;
  for (const Text& text : list) {
    auto patterns = Accept(CompileAlternatives(text.value), text, kind.notation);
    if (!patterns) continue;
    CheckNames(text, *patterns, kind);
    std::ranges::move(*patterns, std::back_inserter(names));
  }
  return names;
}

std::optional<Regex> PatternCompiler::PathRegex(const Text& text) {
  auto regex = Accept(Regex::Compile(text.value), text, PatternKind::kPathRegex);
  if (!regex) return std::nullopt;
  const std::string& directory = regex->fixed_directory();
  if (directory == "/" || directory == "/proc/") {
    ReportSearch(
        text, directory,
        HintOnForeignPart(text.value, PatternKind::kPathRegex,
                          "begin with the directory, outside of parentheses: '/dev/(a|b)'"),
        reporter_);
    return std::nullopt;
  }
  for (const std::string_view invalid_part : {"//", "/./", "/../"}) {
    if (directory.find(invalid_part) == std::string::npos) continue;
    const auto at = text.value.find(invalid_part);
    reporter_.Report(Code::kBadPattern, text.At(at == std::string::npos ? 0 : at),
                     Format("the path of a device cannot contain \"{}\"", invalid_part));
    return std::nullopt;
  }
  if (text.value.ends_with('/')) {
    reporter_.Report(Code::kBadPattern, text.At(text.value.size() - 1),
                     "a path cannot end with a slash", "name the files below it: …/.+");
    return std::nullopt;
  }
  CheckCaptureNames(text, *regex, reporter_);
  WarnOfForeignParts(text, PatternKind::kPathRegex, reporter_);
  return regex;
}

std::optional<TextPattern> PatternCompiler::TextRegex(const Text& text) {
  auto pattern = Accept(TextPattern::Compile(text.value), text, PatternKind::kRegex);
  if (pattern) WarnOfForeignParts(text, PatternKind::kRegex, reporter_);
  return pattern;
}

}  // namespace patchbay
