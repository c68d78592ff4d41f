// nlohmann-json validates the whole text first. Afterwards it is sufficient to skip strings and to
// count brackets: SkipValue relies on that, and on nothing else.

#include "base/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace patchbay {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void SkipSpace(std::string_view& text) {
  const auto first = std::ranges::find_if_not(text, IsSpace);
  text.remove_prefix(static_cast<std::size_t>(first - text.begin()));
}

/// Returns the length of the string at the start of `text`, with its quotes.
std::size_t StringLength(std::string_view text) {
  std::size_t end = 1;
  while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// Removes the value at the start of `text`, and returns it.
std::string_view TakeValue(std::string_view& text) {
  std::size_t end = 0;
  std::size_t depth = 0;
  do {
    const char c = text[end];
    if (c == '"') {
      end += StringLength(text.substr(end));
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++end;
    if (depth == 0 && c != '}' && c != ']') {  // a number or a literal
      while (end < text.size() && text[end] != ',' && text[end] != '}' && text[end] != ']' &&
             !IsSpace(text[end])) {
        ++end;
      }
    }
  } while (depth > 0);
  const std::string_view value = text.substr(0, end);
  text.remove_prefix(end);
  return value;
}

bool IsShallow(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i += StringLength(text.substr(i));
      continue;
    }
    if ((text[i] == '{' || text[i] == '[') && ++depth > kMaxJsonNesting) return false;
    if (text[i] == '}' || text[i] == ']') --depth;
    ++i;
  }
  return true;
}

/// Removes the space and the opening bracket at the start of a value. Returns whether it was there.
bool Open(std::string_view& value, char bracket) {
  SkipSpace(value);
  if (!value.starts_with(bracket)) return false;
  value.remove_prefix(1);
  SkipSpace(value);
  return true;
}

/// Removes the space and one character: a comma, a colon or the closing bracket.
void SkipPunctuation(std::string_view& text) {
  SkipSpace(text);
  text.remove_prefix(1);
  SkipSpace(text);
}

}  // namespace

bool IsJson(std::string_view text) {
  // The parser would treat a NUL as the end of the input, and skip a byte order mark.
  if (text.find('\0') != std::string_view::npos || text.starts_with("\xEF\xBB\xBF")) return false;
  return nlohmann::json::accept(text) && IsShallow(text);
}

std::optional<std::vector<JsonMember>> MembersOfJson(std::string_view value) {
  if (!Open(value, '{')) return std::nullopt;
  std::vector<JsonMember> members;
  while (value.front() != '}') {
    const std::string_view quoted = TakeValue(value);
    SkipPunctuation(value);
    const std::string_view member = TakeValue(value);
    members.push_back({quoted.substr(1, quoted.size() - 2), member});
    SkipSpace(value);
    if (value.front() == ',') SkipPunctuation(value);
  }
  std::vector<std::string_view> keys(members.size());
  std::ranges::transform(members, keys.begin(), &JsonMember::key);
  std::ranges::sort(keys);
  if (std::ranges::adjacent_find(keys) != keys.end()) return std::nullopt;
  return members;
}

std::optional<std::vector<std::string_view>> ElementsOfJson(std::string_view value,
                                                            std::size_t max) {
  if (!Open(value, '[')) return std::nullopt;
  std::vector<std::string_view> elements;
  while (value.front() != ']') {
    if (elements.size() == max) return std::nullopt;
    elements.push_back(TakeValue(value));
    SkipSpace(value);
    if (value.front() == ',') SkipPunctuation(value);
  }
  return elements;
}

std::string_view FindMember(const std::vector<JsonMember>& members, std::string_view key) {
  const auto found = std::ranges::find(members, key, &JsonMember::key);
  return found == members.end() ? std::string_view() : found->value;
}

std::optional<std::string> TextOfJson(std::string_view value, std::size_t max_bytes) {
  SkipSpace(value);
  if (!value.starts_with('"') || value.size() > max_bytes + 2) return std::nullopt;
  const auto parsed = nlohmann::json::parse(value, nullptr, false);
  if (!parsed.is_string()) return std::nullopt;
  return parsed.get<std::string>();
}

}  // namespace patchbay
