#include "convert/fields.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "config/reporter.h"

namespace patchbay {
Fields::Fields(const YamlValue& map, std::string_view owner,
               std::span<const std::string_view> known, Findings& findings, bool is_closed)
    : map_(map), findings_(findings) {
  if (!is_closed) return;
  std::vector<YamlValue> found;
  for (const std::string_view key : known) found.push_back(map.Find(key));
  for (const YamlEntry& entry : map.entries()) {
    const std::string& name = entry.key.text();
    const bool is_known = std::ranges::any_of(
        found, [&](const YamlValue& value) { return value.IsSameAs(entry.value); });
    if (is_known) continue;
    findings.Ignored(entry.key.place(),
                     Format("unknown key `{}`; {} ignores it", Truncate(name, 60), owner),
                     DidYouMean(name.substr(0, 60), known));
  }
}

YamlValue Fields::Find(std::string_view key) const {
  const YamlValue value = map_.Find(key);
  return value.IsNull() ? YamlValue() : value;
}

/// Returns whether a value contains no template or substitution; otherwise adds a finding.
bool Fields::IsKnown(std::string_view key, const YamlValue& value) const {
  std::string hint = HintOnTemplate(value.text());
  if (hint.empty()) return true;
  findings_.CannotConvert(value.place(),
                          Format("`{}` is not known: {}", key, Truncate(value.text(), 100)),
                          std::move(hint));
  return false;
}

std::optional<std::string> Fields::Text(std::string_view key) const {
  const YamlValue value = Find(key);
  if (!value) return std::nullopt;
  if (!IsKnown(key, value)) return std::nullopt;
  if (value.IsScalar()) return value.text();
  findings_.Malformed(value.place(), Format("`{}` must be a string", key));
  return std::nullopt;
}

bool Fields::Flag(std::string_view key) const {
  const YamlValue value = Find(key);
  if (!value || !IsKnown(key, value)) return false;
  const auto flag = value.AsBool();
  if (!flag) findings_.Malformed(value.place(), Format("`{}` must be true or false", key));
  return flag.value_or(true);
}

std::int64_t Fields::Number(std::string_view key, std::int64_t max, std::int64_t otherwise) const {
  const YamlValue value = Find(key);
  if (!value || !IsKnown(key, value)) return otherwise;
  const std::string& text = value.text();
  if (!value.IsScalar() || value.is_quoted() || text.empty() ||
      !std::ranges::all_of(text, IsDigit) || (text.size() > 1 && text[0] == '0')) {
    findings_.Malformed(
        value.place(), Format("`{}` must be a whole number from 0 to {}", key, max),
        value.is_quoted() ? "remove the quotes" : "use decimal digits without a leading zero");
    return otherwise;
  }
  const auto number = ParseNumber<std::int64_t>(text);
  if (number && *number <= max) return *number;
  findings_.CannotConvert(value.place(), Format("`{}` must be at most {}", key, max),
                          "use a smaller number");
  return otherwise;
}

std::vector<YamlValue> Fields::List(std::string_view key) const {
  const YamlValue value = Find(key);
  if (!value) return {};
  if (value.IsList()) return value.items();
  findings_.Malformed(value.place(), Format("`{}` must be a list", key));
  return {};
}

SourceLocation Fields::PlaceOfKey(std::string_view key) const {
  const YamlValue value = Find(key);
  return value ? value.place() : map_.place();
}

bool ExpectMap(const YamlValue& value, std::string_view what, Findings& findings) {
  if (value.IsMap()) return true;
  findings.Malformed(value.place(), Format("{} must be a map of keys and values", what));
  return false;
}

}  // namespace patchbay
