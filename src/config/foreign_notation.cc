#include "config/foreign_notation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

bool IsNameStart(char c) { return IsLetter(c) || c == '_'; }

/// Returns the name at the beginning of the text, or "".
std::string_view NameAt(std::string_view text) {
  if (text.empty() || !IsNameStart(text.front())) return "";
  const auto end = std::find_if_not(text.begin(), text.end(),
                                    [](char c) { return IsNameStart(c) || IsDigit(c); });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

struct ForeignVariable {
  std::size_t offset;
  std::string_view name;
};

/// Returns the first $NAME, ${NAME} or $(NAME) of the text. "$$" is a literal dollar sign in most
/// programs, and so not a variable.
std::optional<ForeignVariable> FindDollar(std::string_view text) {
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('$')) {
      ++at;
      continue;
    }
    const bool is_enclosed = rest.starts_with('{') || rest.starts_with('(');
    if (is_enclosed) rest.remove_prefix(1);
    if (const auto name = NameAt(rest); !name.empty()) return ForeignVariable{at, name};
  }
  return std::nullopt;
}

/// Returns the variable of the scope that has this name in upper or lower case, or "".
std::string VariableLike(std::string_view name, const Scope& scope) {
  for (const Variable& variable : scope.variables) {
    if (ToLower(variable.name) == ToLower(name)) return variable.name;
  }
  return std::string(name.starts_with("ID_") && scope.TypeOf(name) ? name : "");
}

void ReportNotReplaced(const Text& text, std::size_t offset, std::string_view variable,
                       std::string hint, Reporter& reporter) {
  reporter.Report(Code::kForeignNotation, text.At(offset),
                  Format("\"{}\" is not replaced by a value", Truncate(variable, 100)),
                  std::move(hint));
}

/// The patterns in which a part is foreign. A dot before a wildcard is usual in patterns for names
/// and for most paths, but not behind one of kNumberedNames.
enum class ForeignIn { kAllPatterns, kPaths, kNumberedPaths };
constexpr std::string_view kNumberedNames[] = {"card",   "controlC", "event",   "hidraw", "loop",
                                               "media",  "nvme",     "renderD", "sd",     "spidev",
                                               "ttyACM", "ttyAMA",   "ttyS",    "ttyUSB", "video"};

/// A part of a pattern that has a meaning elsewhere, and what to write instead.
struct ForeignPart {
  std::string_view text;
  ForeignIn where;
  std::string_view problem, hint;
};
constexpr std::string_view kIsRegex = "is syntax of regular expressions, and this is a glob";
constexpr std::string_view kForDigits = "write [0-9] for a digit, and [0-9]* for a number";
constexpr std::string_view kForAnyText = "write * for any text";
constexpr ForeignPart kForeignParts[] = {
    {"\\d", ForeignIn::kAllPatterns, kIsRegex, kForDigits},
    {"\\w", ForeignIn::kAllPatterns, kIsRegex, kForAnyText},
    {"\\s", ForeignIn::kAllPatterns, kIsRegex, "write ? for one character"},
    {"]+", ForeignIn::kAllPatterns, kIsRegex, kForDigits},
    {")+", ForeignIn::kAllPatterns, kIsRegex, kForAnyText},
    {"|", ForeignIn::kAllPatterns, kIsRegex, "write {a,b} for a or b, and \\| for the character"},
    {".*", ForeignIn::kNumberedPaths, kIsRegex, kForAnyText},
    {".+", ForeignIn::kNumberedPaths, kIsRegex, kForAnyText},
    {":/", ForeignIn::kPaths, "does not separate the paths of host and container",
     "write [[resource.device_node]] and below it container_path = \"/dev/…\""},
};

/// Returns the first foreign part of a valid glob and sets `at` to its offset, or returns null.
/// Escaped characters and those in brackets are literal.
const ForeignPart* FindForeignPart(std::string_view glob, GlobKind kind, std::size_t& at) {
  const auto is_foreign = [&](const ForeignPart& part) {
    if (!glob.substr(at).starts_with(part.text)) return false;
    if (part.where == ForeignIn::kAllPatterns) return true;
    return kind == GlobKind::kPath &&
           (part.where == ForeignIn::kPaths ||
            std::ranges::count(kNumberedNames, BaseName(glob.substr(0, at))) > 0);
  };
  for (at = 0; at < glob.size(); ++at) {
    const auto* found = std::ranges::find_if(kForeignParts, is_foreign);
    if (found != std::end(kForeignParts)) return found;
    if (glob[at] == '\\') {
      ++at;
    } else if (glob[at] == '[') {
      at = glob.find(']', at + (glob[at + 1] == '!' || glob[at + 1] == '^' ? 3 : 2)) - 1;
    }
  }
  return nullptr;
}

}  // namespace

void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter) {
  const auto found = FindDollar(text.value);
  if (!found) return;
  std::string example = VariableLike(found->name, scope);
  if (example.empty()) example = scope.TypeOf(found->name) ? found->name : "name";
  ReportNotReplaced(text, found->offset, Format("${}", found->name),
                    Format("variables are written in braces, without $: {{{}}}", example),
                    reporter);
}

void WarnOfDoubledBraces(const Text& text, const Scope& scope, Reporter& reporter) {
  constexpr auto kNone = std::string_view::npos;
  const std::string_view value = text.value;
  for (auto at = value.find("{{"); at != kNone; at = value.find("{{", at + 1)) {
    const auto end = value.find("}}", at);
    if (end == kNone) return;
    const bool has_three =
        (at > 0 && value[at - 1] == '{') || value.substr(end + 2).starts_with('}');
    const std::string_view body = value.substr(at + 2, end - at - 2);
    const auto start = body.find_first_not_of(" .");
    if (has_three || start == kNone) continue;
    const std::string_view name = NameAt(body.substr(start));
    const std::string variable = VariableLike(name, scope);
    if (variable.empty() || body.find_first_not_of(' ', start + name.size()) != kNone) continue;
    return ReportNotReplaced(
        text, at, value.substr(at, end + 2 - at),
        Format("variables are written in single braces: {{{}}}; {{{{ is a literal brace, and "
               "{{{{{{{{ are two",
               variable),
        reporter);
  }
}

void WarnOfForeignParts(const Text& glob, GlobKind kind, Reporter& reporter) {
  const bool is_path = kind == GlobKind::kPath;
  if (const auto found = is_path ? FindDollar(glob.value) : std::nullopt) {
    return ReportNotReplaced(glob, found->offset, Format("${}", found->name),
                             "a pattern has no variables; use * or ?", reporter);
  }
  std::size_t at = 0;
  const ForeignPart* part = FindForeignPart(glob.value, kind, at);
  if (part == nullptr) return;
  reporter.Report(Code::kForeignNotation, glob.At(at),
                  Format("\"{}\" {}", part->text, part->problem),
                  Format("{}{}", part->hint,
                         is_path && part->problem == kIsRegex
                             ? "; or write a regex instead of a path: regex = '…'"
                             : ""));
}

std::string_view HintOnForeignPart(std::string_view pattern) {
  std::size_t at = 0;
  const ForeignPart* part = FindForeignPart(pattern, GlobKind::kName, at);
  return part == nullptr ? "" : part->hint;
}

std::string HintOnGlobInRegex(std::string_view regex) {
  constexpr auto kNone = std::string_view::npos;
  const bool has_more = regex.find_first_of("\\+?()[]{}|^$") != kNone || regex.find(".*") != kNone;
  if (has_more || regex.find('*') == kNone) return "";
  return Format("write the glob as path = \"{}\"; in a regular expression, any text is .*",
                Truncate(regex, 100));
}

std::string_view HintOnForeignGroup(std::string_view text) {
  for (const std::string_view group : {"(?=", "(?!", "(?<=", "(?<!"}) {
    if (!text.starts_with(group)) continue;
    return "RE2 has no look-around: use `exclude` or `not` of the match";
  }
  return text.starts_with("(?<") ? "a named group is written (?P<name>…)" : "";
}

bool LooksLikeYaml(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (line == "---" || line.starts_with("- ")) return true;
    const std::string_view name = line.substr(0, line.find_first_of(":= \t"));
    const std::string_view rest = line.substr(name.size());
    return !name.empty() && (rest == ":" || rest.starts_with(": "));
  }
  return false;
}

}  // namespace patchbay
