#include "convert/patterns.h"

#include "model/glob.h"

namespace patchbay {
namespace {

std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

char TakeFirst(std::string_view& text) {
  const char c = text.front();
  text.remove_prefix(1);
  return c;
}

/// Takes a class of Go behind its bracket, and returns that of a glob. Both are closed, or neither.
std::string TakeClass(std::string_view& rest) {
  std::string glob = "[";
  if (rest.starts_with('^')) {
    TakeFirst(rest);
    glob.push_back('!');
  }
  for (bool is_first = true; !rest.empty(); is_first = false) {
    char c = TakeFirst(rest);
    if (c == ']' && !is_first) return glob + "]";
    if (c == '\\' && !rest.empty()) {
      c = TakeFirst(rest);
    } else if (c == '-') {
      glob.push_back('-');
      continue;
    }
    glob += Escaped(std::string_view(&c, 1), "!^[]-\\");
  }
  return glob;
}

}  // namespace

GoPattern FromGo(std::string_view pattern) {
  while (pattern.size() > 1 && pattern.ends_with('/')) pattern.remove_suffix(1);
  GoPattern converted;
  int wildcards = 0;
  while (!pattern.empty()) {
    char c = TakeFirst(pattern);
    if (c == '*' || c == '?' || c == '[') {
      ++wildcards;
      converted.has_one_star = c == '*' && wildcards == 1;
      converted.glob += c == '[' ? TakeClass(pattern) : std::string(1, c);
      // In Go, several stars are equivalent to one. In Patchbay, "**" matches several directory
      // levels.
      while (c == '*' && pattern.starts_with('*')) TakeFirst(pattern);
      continue;
    }
    if (c == '\\' && !pattern.empty()) c = TakeFirst(pattern);
    converted.glob += EscapedForGlob(std::string_view(&c, 1));
    (wildcards == 0 ? converted.before : converted.after).push_back(c);
  }
  if (wildcards == 0) converted.path = converted.before;
  return converted;
}

std::string RegexOf(std::string_view text) { return Escaped(text, "\\.+*?()|[]{}^$"); }

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace patchbay
