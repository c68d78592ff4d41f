#pragma once

#include <cstdint>
#include <string_view>

namespace patchbay {

/// FNV-1a, 64 bit: the same on every machine and in every release, since device IDs and socket
/// names are made of it. Not for anything that must withstand an attacker.
constexpr std::uint64_t StableHash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace patchbay
