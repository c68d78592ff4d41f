#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace patchbay::fuzz {

/// Ends the run with the input at hand when what must always hold does not.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

/// The input in two: what stands before its first line end, and the rest.
inline std::pair<std::string_view, std::string_view> TwoParts(const std::uint8_t* data,
                                                              std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto end = input.find('\n');
  if (end == std::string_view::npos) return {input, {}};
  return {input.substr(0, end), input.substr(end + 1)};
}

}  // namespace patchbay::fuzz
