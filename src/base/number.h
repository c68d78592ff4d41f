#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace patchbay {

/// Returns the number that the whole text is, in digits of `base`, with "-" for a negative one of a
/// signed type. Returns nothing for other texts and for numbers beyond the type.
template <std::integral T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace patchbay
