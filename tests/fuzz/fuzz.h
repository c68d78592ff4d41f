#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/escape.h"

namespace patchbay::fuzz {

/// Aborts if an invariant does not hold, so that the fuzzer reports the current input.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

/// Requires a message for people, of limited length.
inline void RequireMessage(std::string_view message, std::size_t limit = 8192) {
  Require(!message.empty() && message.size() < limit && IsPrintable(message));
}

inline std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Splits the input at its first line end.
inline std::pair<std::string_view, std::string_view> TwoParts(const std::uint8_t* data,
                                                              std::size_t size) {
  const std::string_view input = Text(data, size);
  const auto end = input.find('\n');
  if (end == std::string_view::npos) return {input, {}};
  return {input.substr(0, end), input.substr(end + 1)};
}

}  // namespace patchbay::fuzz
