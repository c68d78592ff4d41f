#include "config/toml_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

struct ValueText {
  std::string operator()(const TomlOther& other) const { return std::string(other.kind); }
  std::string operator()(const Text& text) const { return QuoteToml(text.value); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const TomlArray& array) const {
    std::string text;
    for (const TomlValue& item : array.items) {
      text += (text.empty() ? "" : ", ") + std::visit(*this, item.value);
    }
    return "[" + text + "]";
  }
  std::string operator()(const TomlTable& table) const {
    return table.entries.empty() ? "{}" : "{ " + TomlText(table) + " }";
  }
};

}  // namespace

std::string QuoteToml(const std::string& text) {
  const bool has_backslash = text.find('\\') != std::string::npos;
  if (has_backslash && text.find('\'') == std::string::npos && IsPrintable(text)) {
    return "'" + text + "'";
  }
  return QuoteYaml(text);  // a basic string has the same escapes
}

std::string TomlList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + QuoteToml(text);
  return "[" + list + "]";
}

std::string TomlKey(const std::string& key) {
  const bool is_bare = !key.empty() && std::ranges::all_of(key, [](char c) {
    return IsAlnum(c) || c == '_' || c == '-';
  });
  return is_bare ? key : QuoteToml(key);
}

std::string TomlText(const TomlTable& table) {
  std::string text;
  for (const TomlEntry& entry : table.entries) {
    text += Format("{}{} = {}", text.empty() ? "" : ", ", TomlKey(entry.key.value),
                   std::visit(ValueText(), entry.value.value));
  }
  return text;
}

}  // namespace patchbay
