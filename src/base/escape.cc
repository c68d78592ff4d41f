// Text from the configuration, the host and other programs is untrusted: it can contain invalid
// UTF-8 and characters that control a terminal. Every function processes one UTF-8 sequence at a
// time. A byte that does not start a well-formed sequence counts as one invalid byte, and decoding
// continues at the next byte.
//
// The table kUnseen defines which characters are printable. It does not depend on the locale, so
// that the output is the same on every host.

#include "base/escape.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// Returns the length of the well-formed UTF-8 sequence at the start of `text`, or 0 if there is
/// none. `text` must not be empty. The byte ranges are those of table 3-7 of the Unicode Standard.
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

/// Returns the code point of a well-formed sequence.
char32_t Decode(std::string_view sequence) {
  constexpr unsigned char kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code = static_cast<unsigned char>(sequence[0]) & kLeadBits[sequence.size()];
  for (const char c : sequence.substr(1))
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// Invisible characters. They move the cursor, end a line, change the direction of the surrounding
/// text, or have no width, so that two different texts look the same.
constexpr CodeRange kUnseen[] = {
    {0x00, 0x1f},        // controls
    {0x7f, 0x9f},        // DEL and C1
    {0xad, 0xad},        // soft hyphen
    {0x34f, 0x34f},      // combining grapheme joiner
    {0x61c, 0x61c},      // Arabic letter mark
    {0x115f, 0x1160},    // Hangul fillers
    {0x17b4, 0x17b5},    // Khmer inherent vowels
    {0x180b, 0x180f},    // Mongolian variation selectors and vowel separator
    {0x200b, 0x200f},    // zero width space and joiners, direction marks
    {0x2028, 0x202e},    // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206f},    // word joiner, invisible operators, isolates, deprecated format characters
    {0x3164, 0x3164},    // Hangul filler
    {0xfe00, 0xfe0f},    // variation selectors
    {0xfeff, 0xfeff},    // byte order mark
    {0xffa0, 0xffa0},    // halfwidth Hangul filler
    {0xfff9, 0xfffb},    // interlinear annotation
    {0xfffe, 0xffff},    // noncharacters, which YAML does not allow
    {0x1bca0, 0x1bca3},  // shorthand format controls
    {0x1d173, 0x1d17a},  // musical format controls
    {0xe0000, 0xe0fff},  // tags and variation selectors
};

bool IsUnseen(char32_t code) {
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), [code](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

/// Returns the JSON escape of a character. Above U+FFFF it is a surrogate pair.
std::string JsonEscape(char32_t code) {
  const auto value = static_cast<unsigned>(code);
  if (value <= 0xffff) return Format("\\u{:04x}", value);
  return Format("\\u{:04x}\\u{:04x}", 0xd7c0 + (value >> 10U), 0xdc00 + (value & 0x3ffU));
}

/// YAML, unlike JSON, does not allow surrogates.
std::string YamlEscape(char32_t code) {
  const auto value = static_cast<unsigned>(code);
  return value <= 0xffff ? Format("\\u{:04x}", value) : Format("\\U{:08x}", value);
}

/// Quotes a text for JSON, with `escape` for characters that are not printable.
std::string Quote(std::string_view text, std::string (*escape)(char32_t)) {
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
    } else if (const char32_t code = Decode(text.substr(0, length)); IsUnseen(code)) {
      out += escape(code);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
  return out;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;  // most texts are
    const std::size_t length = is_ascii ? 1 : SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0 || IsUnseen(Decode(text.substr(0, length)))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string QuoteJson(std::string_view text) { return Quote(text, JsonEscape); }

std::string QuoteYaml(std::string_view text) { return Quote(text, YamlEscape); }

std::string EscapeJsonDocument(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const char c = json.front();
    const std::size_t length = c >= 0x20 && c < 0x7f ? 1 : SequenceLength(json);
    const std::string_view sequence = json.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && c != '\n' && IsUnseen(Decode(sequence))) {
      out += JsonEscape(Decode(sequence));
    } else {
      out.append(sequence);
    }
    json.remove_prefix(sequence.size());
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(SequenceLength(text), 1);
    const std::string_view sequence = text.substr(0, length);
    if (IsPrintable(sequence)) {
      out.append(sequence);
    } else {
      for (const char c : sequence) out += Format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string QuoteShell(std::string_view text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlnum(c) || std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
  });
  if (is_plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "'";
}

std::string Truncate(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return Printable(text);
  // Do not split a character.
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0) == 0x80) --max_bytes;
  return Printable(text.substr(0, max_bytes)) + "…";
}

}  // namespace patchbay
