#include "config/foreign_notation.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/toml_text.h"

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

/// Returns the first $NAME, ${NAME} or $(NAME) at an offset of the text or behind it. "$$" is a
/// literal dollar sign in most programs, and so not a variable.
std::optional<ForeignVariable> FindDollar(std::string_view text, std::size_t from = 0) {
  for (std::size_t at = text.find('$', from); at != std::string_view::npos;
       at = text.find('$', at + 1)) {
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

/// Returns the variable of the scope that has this name in upper or lower case, or is that of udev,
/// or "".
std::string VariableLike(std::string_view name, const Scope& scope) {
  if (ToLower(name) == "devnode" || name == "DEVNAME") name = "path";
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

bool IsPath(PatternKind kind) { return kind == PatternKind::kSource || kind == PatternKind::kPath; }

/// A position in a pattern. `rest` begins with what may be foreign there.
struct Spot {
  std::string_view before, rest;
  PatternKind kind = PatternKind::kText;
};
/// A condition under which a part of a pattern is foreign.
using Condition = bool (*)(const Spot& spot);

bool Always(const Spot&) { return true; }
bool InPath(const Spot& spot) { return IsPath(spot.kind); }
bool AtBegin(const Spot& spot) { return spot.before.empty(); }
bool AtBeginOfCondition(const Spot& spot) {
  return AtBegin(spot) && spot.kind != PatternKind::kHost;
}
bool AtEnd(const Spot& spot) { return spot.rest.size() == 1; }

/// Returns a name without the digits, and the wildcards that can be digits, at its end.
std::string_view WithoutNumber(std::string_view name) {
  constexpr auto kNone = std::string_view::npos;
  while (!name.empty()) {
    const auto open = name.back() == ']' ? name.rfind('[') : kNone;
    if (open != kNone && std::ranges::none_of(name.substr(open), IsLetter)) {
      name = name.substr(0, open);
    } else if (IsDigit(name.back()) || name.back() == '*' || name.back() == '?') {
      name.remove_suffix(1);
    } else {
      break;
    }
  }
  return name;
}

/// Names in /dev have a dot behind a number, as in links of by-path, or behind one of a few words.
/// Even behind a number it is unlikely if there is no other dot or colon, or if the name never has
/// one. In `exclude`, which would exclude nothing, it is unlikely then behind any number.
bool IsUnlikelyDot(std::string_view path, PatternKind kind) {
  constexpr std::string_view kNamesWithDots[] = {
      "afu", "dax",      "dfl-fme",   "dfl-port",  "intel-fpga-fme", "intel-fpga-port",
      "wq",  "nvme-eui", "nvme-nvme", "nvme-uuid", "pmem",           "spidev"};
  constexpr std::string_view kNumberedNames[] = {
      "card",    "controlC", "event",  "hidraw", "loop", "media",  "nvme",
      "renderD", "sd",       "ttyACM", "ttyAMA", "ttyS", "ttyUSB", "video"};
  if (!path.starts_with("/dev/") || path.starts_with("/dev/shm/")) return false;
  const std::string_view name = BaseName(path);
  const std::string_view word = WithoutNumber(name);
  if (name.ends_with('*') || std::ranges::count(kNamesWithDots, word) > 0) return false;
  if (word.size() == name.size()) return true;
  if (name.find_first_of(".:") != std::string_view::npos) return false;
  return kind == PatternKind::kPath || std::ranges::count(kNumberedNames, word) > 0;
}

/// In a text, a dot before a wildcard is unlikely behind a word at the beginning. Names in which
/// dots are usual have none at the beginning and behind a dash.
bool BehindWord(const Spot& spot) {
  if (IsPath(spot.kind)) return IsUnlikelyDot(spot.before, spot.kind);
  if (spot.kind == PatternKind::kDotted || spot.kind == PatternKind::kHost) {
    return spot.before.empty() || spot.before.ends_with('-');
  }
  return std::ranges::all_of(spot.before, [](char c) { return IsNameStart(c) || c == ' '; });
}

/// Braces can contain names and paths with commas between them.
bool OutsideBraces(const Spot& spot) {
  return std::ranges::count(spot.before, '{') == std::ranges::count(spot.before, '}');
}
bool BetweenPaths(const Spot& spot) { return IsPath(spot.kind) && OutsideBraces(spot); }
bool BetweenNames(const Spot& spot) {
  return !IsPath(spot.kind) && spot.kind != PatternKind::kText && OutsideBraces(spot);
}

/// Returns the text between the first character and the next `end`.
std::string_view BodyOf(const Spot& spot, char end) {
  return spot.rest.substr(1, spot.rest.find(end, 1) - 1);
}

bool HasOnly(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// {name}
bool IsOneText(const Spot& spot) {
  return BodyOf(spot, '}').find_first_of("{,") == std::string_view::npos;
}

/// {0..15}, {0-15} and {a-b}
bool IsRange(const Spot& spot) {
  if (!IsOneText(spot)) return false;
  const std::string_view body = BodyOf(spot, '}');
  return body.find("..") != std::string_view::npos ||
         (std::ranges::count(body, '-') == 1 &&
          (HasOnly(body, "0123456789-") || (body.size() == 3 && body[1] == '-')));
}

/// [0-15]
bool HasNumber(const Spot& spot) {
  const std::string_view body = BodyOf(spot, ']');
  return body.size() > 3 && HasOnly(body, "0123456789-") && std::ranges::count(body, '-') == 1 &&
         IsDigit(body.front()) && IsDigit(body.back());
}

/// [9-0]
bool HasEmptyRange(const Spot& spot) {
  const std::string_view body = BodyOf(spot, ']');
  for (std::size_t i = 0; i + 2 < body.size(); ++i) {
    if (body[i + 1] != '-') continue;
    if (body[i] > body[i + 2]) return true;
    i += 2;
  }
  return false;
}

/// [1|2]
bool HasBar(const Spot& spot) {
  const std::string_view body = BodyOf(spot, ']');
  return body.size() > 1 && body.find('|') != std::string_view::npos;
}

/// \x20, as udev writes a blank. In a glob this is the text x20.
bool IsHex(const Spot& spot) {
  return spot.rest.size() >= 4 && HasOnly(spot.rest.substr(2, 2), "0123456789abcdefABCDEF");
}

bool IsHexInPath(const Spot& spot) { return spot.kind == PatternKind::kPathRegex && IsHex(spot); }

/// {a,b} and {0..3}, but not {2,3}, which repeats what is before it
bool IsListInRegex(const Spot& spot) {
  const std::string_view body = BodyOf(spot, '}');
  return (body.find(',') != std::string_view::npos && !HasOnly(body, "0123456789,")) ||
         body.find("..") != std::string_view::npos;
}

/// video*, without anything else of regular expressions; 0* is any number of zeros.
bool IsGlob(const Spot& spot) {
  constexpr std::string_view kSyntax = "\\+?()[]{}|^$";
  const std::string_view before = spot.before;
  return !before.empty() && before.back() != '.' && !IsDigit(before.back()) &&
         before.find_first_of(kSyntax) == std::string_view::npos &&
         spot.rest.find_first_of(kSyntax) == std::string_view::npos &&
         spot.rest.find(".*") == std::string_view::npos;
}

/// :rw at the end of a path
bool IsPermissions(const Spot& spot) {
  return (IsPath(spot.kind) || spot.kind == PatternKind::kPlain) && spot.rest.size() > 1 &&
         HasOnly(spot.rest.substr(1), "rwmo");
}

/// A part of a pattern that has a meaning elsewhere or none, and what to write instead.
struct ForeignPart {
  std::string_view text;
  Condition is_foreign;
  std::string_view problem, hint;
  char end = 0;  ///< of the whole part, if `text` is only its beginning
};
constexpr std::string_view kIsRegex = "is syntax of regular expressions, and this is a glob";
constexpr std::string_view kForDigits = "write [0-9] for a digit, and [0-9]* for a number";
constexpr std::string_view kForAnyText = "write * for any text";
constexpr std::string_view kForNumbers =
    "write [0-3] for the numbers 0 to 3, {[0-9],1[0-5]} for 0 to 15, and [a-c] for letters";
constexpr std::string_view kNoSeparator = "does not separate paths";
constexpr std::string_view kNoSeparatorOfNames = "does not separate names";
constexpr std::string_view kForList = "write a list";  // and the pattern as one
constexpr ForeignPart kForeignParts[] = {
    {"\\x", IsHex, "is read without the backslash, which escapes the next character",
     "a backslash of the name needs another one"},  // and the pattern with it
    {"\\d", Always, kIsRegex, kForDigits},
    {"\\w", Always, kIsRegex, kForAnyText},
    {"\\s", Always, kIsRegex, "write ? for one character"},
    {"]+", Always, kIsRegex, kForDigits},
    {")+", Always, kIsRegex, kForAnyText},
    {"|", Always, kIsRegex, "write {a,b} for a or b, and \\| for the character"},
    {".+", Always, kIsRegex, kForAnyText},
    {".*", BehindWord, kIsRegex, kForAnyText},
    {"^", AtBegin, kIsRegex, "remove ^: a glob matches the whole text"},
    {"$", AtEnd, kIsRegex, "remove $: a glob matches the whole text; \\$ is the character"},
    {"!", AtBeginOfCondition, "does not negate a pattern",
     "remove the !: a condition selects devices, and one in not = { … } of the match excludes "
     "them"},
    {"{", IsRange, "is a range of a shell, and here only a text", kForNumbers, '}'},
    {"{", IsOneText, "is only the text between the braces",
     "a pattern has no variables: write * or ?; a list is {a,b}, and \\{ the character", '}'},
    {"[", HasNumber, "matches only one character", kForNumbers, ']'},
    {"[", HasEmptyRange, "has a range that matches nothing", "write the smaller character first",
     ']'},
    {"[", HasBar, "matches only one character, which can be the bar",
     "write [12] for 1 or 2, and {a,b} for longer texts", ']'},
    {":", IsPermissions, "does not set permissions",
     "write [[resource.device_node]] and below it permissions = \"rw\""},
    {":/", InPath, "does not separate the paths of host and container",
     "write [[resource.device_node]] and below it container_path = \"/dev/…\""},
    {",/", BetweenPaths, kNoSeparator, kForList},
    {";/", BetweenPaths, kNoSeparator, kForList},
    {" /", BetweenPaths, kNoSeparator, kForList},
    {",", BetweenNames, kNoSeparatorOfNames, kForList},
    {";", BetweenNames, kNoSeparatorOfNames, kForList},
};
constexpr ForeignPart kForeignInRegex[] = {
    {"\\x", IsHexInPath,
     "is a character of regular expressions, and udev writes it with a backslash",
     "a backslash of the name needs another one"},
    {"[", HasNumber, "matches only one character",
     "write [0-3] for the numbers 0 to 3, and ([0-9]|1[0-5]) for 0 to 15", ']'},
    {"{", IsListInRegex, "is only a text in a regular expression",
     "write (a|b) for a or b, and [0-3] for the numbers 0 to 3", '}'},
    {"*", IsGlob, "repeats the character before it", "in a regular expression, any text is .*"},
};

constexpr std::string_view kNoWildcards = "is only a character: this path has no wildcards";
constexpr std::string_view kOnePath =
    "name one path; the `path` of a match has patterns, and a container gets each node of a device";
constexpr std::string_view kForTables = "write a table with host_path for each path";
constexpr ForeignPart kForeignInPlain[] = {
    {":", IsPermissions, "does not set permissions",
     "write permissions = \"rw\" for a device node, and read_only = true or false for a mount"},
    {":/", Always, "does not separate the paths of host and container",
     "write host_path = \"/…\" and container_path = \"/…\""},
    {",/", Always, kNoSeparator, kForTables},
    {" /", Always, kNoSeparator, kForTables},
    {"*", Always, kNoWildcards, kOnePath},
    {"[0-9]", Always, kNoWildcards, kOnePath},
};

/// Returns the first foreign part of a pattern and sets `at` to its offset, or returns null.
/// Escaped characters and those in brackets are literal.
const ForeignPart* FindForeignPart(std::string_view pattern, PatternKind kind, std::size_t& at) {
  std::span<const ForeignPart> parts = kForeignParts;
  if (kind == PatternKind::kPathRegex || kind == PatternKind::kRegex) parts = kForeignInRegex;
  if (kind == PatternKind::kPlain) parts = kForeignInPlain;
  for (at = 0; at < pattern.size(); ++at) {
    const Spot spot{pattern.substr(0, at), pattern.substr(at), kind};
    const auto found = std::ranges::find_if(parts, [&](const ForeignPart& part) {
      return spot.rest.starts_with(part.text) && part.is_foreign(spot);
    });
    if (found != parts.end()) return &*found;
    if (spot.rest[0] == '\\') {
      ++at;
    } else if (spot.rest[0] == '[') {
      const bool is_negated = spot.rest.starts_with("[!") || spot.rest.starts_with("[^");
      at = pattern.find(']', at + (is_negated ? 3 : 2)) - 1;
    }
  }
  return nullptr;
}

/// Returns a pattern with a second backslash in each \x20, as a TOML string.
std::string WithBackslashes(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    text += pattern[i];
    if (pattern[i] != '\\' || i + 1 == pattern.size()) continue;
    const bool is_hex = pattern[i + 1] == 'x' && IsHex({"", pattern.substr(i)});
    text += is_hex ? '\\' : pattern[++i];
  }
  return QuoteToml(text);
}

/// Returns the texts that commas, semicolons, or spaces in front of a slash separate, in TOML.
std::string AsList(std::string_view pattern) {
  std::vector<std::string> items;
  std::string item;
  for (std::size_t i = 0; i <= pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    const bool is_end = rest.empty() || rest[0] == ',' || rest[0] == ';' ||
                        (rest[0] == ' ' && (item.empty() || rest.starts_with(" /")));
    if (!is_end) {
      item += rest[0];
    } else if (!item.empty()) {
      items.push_back(std::exchange(item, ""));
    }
  }
  return TomlList(items);
}

std::string HintOf(const ForeignPart& part, std::string_view pattern, PatternKind kind) {
  std::string hint(part.hint);
  if (part.text == "\\x") {
    hint += ": " + Truncate(WithBackslashes(pattern), 200);
  } else if (part.hint == kForList) {
    hint += ": " + Truncate(AsList(pattern), 200);
  } else if (kind == PatternKind::kSource && part.problem == kIsRegex) {
    hint += "; or write a regex instead of a path: regex = '…'";
  } else if (kind == PatternKind::kPathRegex && part.is_foreign == IsGlob) {
    hint = Format("write the glob as path = \"{}\"; {}", Truncate(pattern, 100), hint);
  }
  return hint;
}

}  // namespace

void WarnOfDoubledBraces(const Text& text, const Scope& scope, bool in_argv, Reporter& reporter) {
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
    const std::string_view rest = body.substr(start + name.size());
    const std::string variable = VariableLike(name, scope);
    const bool ends = rest.find_first_not_of(' ') == kNone;
    // Outside of programs, it can also be {{ .Spec.Name }} or have a filter.
    const bool is_foreign =
        in_argv ? ends && !variable.empty()
                : !name.empty() && (ends || rest.starts_with('.') || rest.starts_with(" |"));
    if (!is_foreign) continue;
    return ReportNotReplaced(
        text, at, value.substr(at, end + 2 - at),
        Format("variables are written in single braces: {{{}}}; {{{{ is a literal brace, and "
               "{{{{{{{{ are two",
               variable.empty() ? name : variable),
        reporter);
  }
}

void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter) {
  WarnOfDoubledBraces(text, scope, false, reporter);
  for (auto found = FindDollar(text.value); found;
       found = FindDollar(text.value, found->offset + 1)) {
    const std::string variable = VariableLike(found->name, scope);
    if (variable.empty()) continue;  // of another program
    return ReportNotReplaced(text, found->offset, Format("${}", found->name),
                             Format("variables are written in braces, without $: {{{}}}", variable),
                             reporter);
  }
}

void WarnOfForeignParts(const Text& pattern, PatternKind kind, Reporter& reporter) {
  if (const auto found = IsPath(kind) ? FindDollar(pattern.value) : std::nullopt) {
    return ReportNotReplaced(pattern, found->offset, Format("${}", found->name),
                             "a pattern has no variables; use * or ?", reporter);
  }
  std::size_t at = 0;
  const ForeignPart* part = FindForeignPart(pattern.value, kind, at);
  if (part == nullptr) return;
  const std::string_view rest = std::string_view(pattern.value).substr(at);
  const auto size = part->text == "\\x" ? 4
                    : part->end == 0    ? part->text.size()
                                        : rest.find(part->end) + 1;
  reporter.Report(part->is_foreign == HasEmptyRange ? Code::kBadPattern : Code::kForeignNotation,
                  pattern.At(at),
                  Format("\"{}\" {}", Truncate(rest.substr(0, size), 100), part->problem),
                  HintOf(*part, pattern.value, kind));
}

std::string HintOnForeignPart(std::string_view pattern, PatternKind kind, std::string otherwise) {
  std::size_t at = 0;
  const ForeignPart* part = FindForeignPart(pattern, kind, at);
  return part == nullptr ? std::move(otherwise) : HintOf(*part, pattern, kind);
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
