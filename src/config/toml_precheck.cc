#include "config/toml_precheck.h"

#include <algorithm>

#include "base/escape.h"

namespace patchbay {
namespace {

constexpr int kMaxDotsInALine = 16;

/// Returns the offset after the string that begins at `at`.
std::size_t SkipString(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool multiline = three.size() == 3 && three[1] == quote && three[2] == quote;
  at += multiline ? 3 : 1;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\\' && quote == '"') {
      at += 2;
    } else if (multiline) {
      if (c != quote || text.substr(at, 3) != three) {
        ++at;
        continue;
      }
      at += 3;
      while (at < text.size() && text[at] == quote) ++at;  // up to two quotes may end the value
      return at;
    } else if (c == quote) {
      return at + 1;
    } else if (c == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

/// Returns the offset of the first character that is not valid UTF-8.
std::size_t FirstBadByte(std::string_view text) {
  std::size_t start = 0, end = 0;
  do {
    start = end++;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  } while (IsUtf8(text.substr(start, end - start)));
  return start;
}

}  // namespace

std::optional<SyntaxError> ProblemWithText(std::string_view text) {
  if (!IsUtf8(text)) return SyntaxError{FirstBadByte(text), "this byte is not part of UTF-8 text"};
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = SkipString(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > kMaxDotsInALine) {
      return SyntaxError{at, "the key has too many parts"};
    }
    if (static_cast<unsigned char>(c) >= 0x80) {
      return SyntaxError{at, "only strings and comments may contain non-ASCII characters"};
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace patchbay
