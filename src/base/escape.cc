#include "base/escape.h"

#include <algorithm>
#include <cstddef>

#include "base/format.h"

namespace patchbay {
namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
/// Ranges as in table 3-7 of the Unicode standard.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool IsPrintable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), IsControl) && IsUtf8(text);
}

std::string QuoteJson(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const char c = text.front();
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (IsControl(c)) {
      out += format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = SequenceLength(text);
    if (length == 0 || IsControl(text.front())) {
      out += format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      length = 1;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string Excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return Printable(text);
  // Not in the middle of a character.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return Printable(text.substr(0, most)) + "…";
}

}  // namespace patchbay
