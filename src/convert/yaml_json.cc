#include "convert/yaml_json.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/escape.h"

namespace patchbay {
namespace {

/// Returns whether a scalar is the same value in JSON without quotes.
bool IsJsonLiteral(const YamlValue& scalar) {
  static constexpr std::string_view kWords[] = {"true", "false"};
  if (scalar.is_quoted()) return false;
  std::string_view digits = scalar.text();
  if (IsAmong(digits, kWords)) return true;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  return !digits.empty() && digits.size() < 16 && (digits == "0" || digits[0] != '0') &&
         std::all_of(digits.begin(), digits.end(), IsDigit);
}

void AppendJson(const YamlValue& value, std::size_t max_bytes, std::string& json) {
  if (value.IsNull()) {
    json += "null";
    return;
  }
  if (value.IsScalar()) {
    json += IsJsonLiteral(value) ? value.text() : QuoteJson(value.text());
    return;
  }
  json += value.IsMap() ? "{" : "[";
  std::string_view separator;
  /// Returns whether there is room for another part.
  const auto begin_part = [&] {
    json += separator;
    separator = ", ";
    if (json.size() > max_bytes) json += "…";
    return json.size() <= max_bytes;
  };
  for (const YamlValue& item : value.items()) {
    if (!begin_part()) return;
    AppendJson(item, max_bytes, json);
  }
  for (const YamlEntry& entry : value.entries()) {
    if (!begin_part()) return;
    json += QuoteJson(entry.key.text()) + ": ";
    AppendJson(entry.value, max_bytes, json);
  }
  json += value.IsMap() ? "}" : "]";
}

}  // namespace

std::string ToJson(const YamlValue& value, std::size_t max_bytes) {
  std::string json;
  AppendJson(value, max_bytes, json);
  return json;
}

}  // namespace patchbay
