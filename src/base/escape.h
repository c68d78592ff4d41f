#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// Whether `text` is well-formed UTF-8: no overlong forms, surrogates or values above U+10FFFF.
/// The kubelet drops a stream that carries anything else in a string.
bool IsUtf8(std::string_view text);

/// `text` as a quoted JSON string. Characters that are not printable become \uxxxx and a byte that
/// is not part of well-formed UTF-8 becomes U+FFFD, so that the result is always one valid line.
std::string QuoteJson(std::string_view text);

/// Whether `text` is UTF-8 without characters that a reader cannot see: control characters,
/// separators of lines and paragraphs, characters that change the direction of text, and characters
/// without width.
bool IsPrintable(std::string_view text);

/// `text` made safe for a terminal or a table cell: characters that are not printable and bytes
/// that are not UTF-8 become \xNN. Printable text comes back unchanged.
std::string Printable(std::string_view text);

/// The same of no more than the first `most` bytes; "…" at the end where that is not all.
std::string Truncate(std::string_view text, std::size_t most);

}  // namespace patchbay
