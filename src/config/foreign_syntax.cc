#include "config/foreign_syntax.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "base/format.h"

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

}  // namespace

void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter) {
  const auto found = FindDollar(text.value);
  if (!found) return;
  std::string example = "name";
  for (const std::string& name : {std::string(found->name), ToLower(found->name)}) {
    if (scope.TypeOf(name)) example = name;
  }
  reporter.Report(Code::kForeignVariable, text.At(found->offset),
                  Format("\"${}\" is not replaced by a value", found->name.substr(0, 100)),
                  Format("variables are written in braces, without $: {{{}}}", example));
}

void WarnOfVariableInGlob(const Text& text, Reporter& reporter) {
  const auto found = FindDollar(text.value);
  if (!found) return;
  reporter.Report(Code::kForeignVariable, text.At(found->offset),
                  Format("\"${}\" is not replaced by a value", found->name.substr(0, 100)),
                  "a pattern has no variables; use * or ?");
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
