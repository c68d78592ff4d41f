#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns whether `text` is well-formed UTF-8: no overlong forms, surrogates or values above
/// U+10FFFF. The kubelet closes a stream if a string in it contains anything else.
bool IsUtf8(std::string_view text);

/// Returns `text` as a quoted JSON string. Characters that are not printable become \uxxxx, a
/// newline becomes \n, and each byte that is not part of well-formed UTF-8 becomes U+FFFD. The
/// result is always one line of valid JSON.
std::string QuoteJson(std::string_view text);
/// Returns `text` as a double-quoted YAML scalar, like QuoteJson. It is a basic string of TOML too.
std::string QuoteYaml(std::string_view text);

/// Escapes the characters of a JSON document that are not printable, as QuoteJson does. Keeps
/// newlines, which in a document stand between its values.
std::string EscapeJsonDocument(std::string_view json);

/// Returns whether `text` is UTF-8 without invisible characters: control characters, line and
/// paragraph separators, characters that change the text direction, and zero-width characters.
bool IsPrintable(std::string_view text);

/// Escapes `text` for a terminal or a table cell: the bytes of characters that are not printable
/// and bytes that are not UTF-8 become \xNN. Returns printable text unchanged.
std::string Printable(std::string_view text);

/// Returns `text` as one word of a POSIX shell: unchanged if it has only letters, digits and
/// characters without a meaning there, and otherwise in single quotes.
std::string QuoteShell(std::string_view text);

/// Like Printable, but uses at most the first `max_bytes` bytes of `text`, and appends "…" if
/// `text` is longer.
std::string Truncate(std::string_view text, std::size_t max_bytes);

}  // namespace patchbay
