#include "cli/yaml.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// Returns a double-quoted text. QuoteJson writes invisible characters above U+FFFF as two
/// surrogates, which YAML does not allow: they become one escape of eight digits.
std::string YamlQuoted(std::string_view text) {
  const std::string json = QuoteJson(text);
  std::string quoted;
  for (std::size_t i = 0; i < json.size(); ++i) {
    quoted.push_back(json[i]);
    if (json[i] != '\\') continue;
    const std::string_view rest = std::string_view(json).substr(i);
    const bool is_pair = rest.size() >= 12 && rest.starts_with("\\ud") && rest[6] == '\\';
    if (!is_pair) {
      quoted.push_back(json[++i]);
      continue;
    }
    const auto unit = [&](std::size_t at) {
      return std::stoul(std::string(rest.substr(at, 4)), nullptr, 16);
    };
    const auto code = 0x10000 + ((unit(2) - 0xd800) << 10U) + (unit(8) - 0xdc00);
    quoted += format("U{:08x}", code);
    i += 11;
  }
  return quoted;
}

/// Returns whether a key needs no quotes: a name that no version of YAML reads as another type.
bool IsPlainKey(std::string_view key) {
  constexpr std::string_view kTypes[] = {"y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null"};
  std::string lower(key);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return !lower.empty() && lower.front() >= 'a' && lower.front() <= 'z' &&
         lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
         std::find(std::begin(kTypes), std::end(kTypes), lower) == std::end(kTypes);
}

std::string YamlScalar(const Json& json) {
  if (json.is_string()) return YamlQuoted(json.get_ref<const std::string&>());
  if (json.is_array()) return "[]";
  if (json.is_object()) return "{}";
  std::string text = json.dump();
  // YAML 1.1 reads a number with an exponent only if it has a point.
  const auto exponent = text.find('e');
  const bool lacks_point =
      json.is_number() && exponent != std::string::npos && text.find('.') == std::string::npos;
  return lacks_point ? text.insert(exponent, ".0") : text;
}

bool IsNested(const Json& json) { return json.is_structured() && !json.empty(); }

/// Appends the lines of a collection. The caller has indented the first one.
void AddYaml(const Json& json, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  bool is_first = true;
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (!std::exchange(is_first, false)) out += margin;
    if (json.is_array()) {
      out += "- ";
      if (IsNested(*item)) {
        AddYaml(*item, indent + 2, out);
        continue;
      }
    } else {
      out += (IsPlainKey(item.key()) ? item.key() : YamlQuoted(item.key())) + ":";
      if (IsNested(*item)) {
        out += "\n" + margin + "  ";
        AddYaml(*item, indent + 2, out);
        continue;
      }
      out += " ";
    }
    out += YamlScalar(*item) + "\n";
  }
}

}  // namespace

std::string YamlText(const Json& json) {
  if (!IsNested(json)) return YamlScalar(json) + "\n";
  std::string text;
  AddYaml(json, 0, text);
  return text;
}

std::string ObjectText(const Json& json, Output output) {
  return output == Output::kYaml ? YamlText(json) : JsonText(json, 2) + "\n";
}

}  // namespace patchbay
