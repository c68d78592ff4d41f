#include "cli/yaml.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

std::string YamlScalar(const Json& json) {
  if (json.is_string()) return YamlString(json.get_ref<const std::string&>());
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
      out += YamlString(item.key()) + ":";
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

std::string YamlString(const std::string& text) {
  constexpr std::string_view kPlain =
      "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  constexpr std::string_view kTypes[] = {"y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null"};
  const bool is_plain = !text.empty() && (IsLetter(text.front()) || text.front() == '/') &&
                        text.find_first_not_of(kPlain) == std::string::npos &&
                        std::ranges::count(kTypes, ToLower(text)) == 0;
  return is_plain ? text : QuoteYaml(text);
}

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
