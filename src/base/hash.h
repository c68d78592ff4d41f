#pragma once

#include <cstdint>
#include <string_view>

namespace patchbay {

/// Returns the 64-bit FNV-1a hash of `text`. The result is the same on every machine and in every
/// release, because device IDs and socket names contain it. It does not resist deliberate
/// collisions.
constexpr std::uint64_t StableHash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Returns 32 bits of StableHash, which names append as eight hexadecimal digits.
constexpr std::uint32_t ShortHash(std::string_view text) {
  const std::uint64_t hash = StableHash(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace patchbay
