#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns the SHA-256 hash of `text`. Names and locks of devices are made from it: a serial number
/// cannot be chosen to have the hash of another one. Pure.
std::array<unsigned char, 32> Sha256(std::string_view text);

/// Returns the first `digits` hexadecimal digits of the hash; an even number, at most 64. Pure.
std::string HashDigits(std::string_view text, std::size_t digits);

}  // namespace patchbay
