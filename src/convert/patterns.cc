#include "convert/patterns.h"

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

/// Reads the pattern byte by byte and writes the glob.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : rest_(pattern) {}

  GoPattern Run() && {
    while (!rest_.empty()) Next();
    if (wildcards_ == 0) out_.path = out_.before;
    out_.has_one_star = wildcards_ == 1 && stars_ == 1;
    return std::move(out_);
  }

 private:
  char Take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void Literal(char c) {
    out_.glob += GlobOf(std::string_view(&c, 1));
    (wildcards_ == 0 ? out_.before : out_.after).push_back(c);
  }

  void Next() {
    const char c = Take();
    if (c == '*') {
      // In Go, several stars are equivalent to one. In Patchbay, "**" matches several directory
      // levels.
      while (rest_.starts_with('*')) Take();
      ++wildcards_;
      ++stars_;
      out_.glob.push_back('*');
    } else if (c == '?') {
      ++wildcards_;
      out_.glob.push_back('?');
    } else if (c == '[') {
      ++wildcards_;
      Class();
    } else if (c == '\\' && !rest_.empty()) {
      Literal(Take());
    } else {
      Literal(c);
    }
  }

  void Class() {
    out_.glob.push_back('[');
    if (rest_.starts_with('^')) {
      Take();
      out_.glob.push_back('!');
    }
    bool is_first = true;
    while (!rest_.empty()) {
      char c = Take();
      if (c == ']' && !is_first) {
        out_.glob.push_back(']');
        return;
      }
      is_first = false;
      if (c == '-') {
        out_.glob.push_back('-');
        continue;
      }
      if (c == '\\' && !rest_.empty()) c = Take();
      out_.glob += Escaped(std::string_view(&c, 1), "!^[]-\\");
    }
  }

  std::string_view rest_;
  GoPattern out_;
  int wildcards_ = 0;
  int stars_ = 0;
};

}  // namespace

GoPattern FromGo(std::string_view pattern) {
  while (pattern.size() > 1 && pattern.ends_with('/')) pattern.remove_suffix(1);
  return Translation(pattern).Run();
}

std::string GlobOf(std::string_view text) { return Escaped(text, "*?[]{}\\"); }

std::string RegexOf(std::string_view text) { return Escaped(text, "\\.+*?()|[]{}^$"); }

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace patchbay
