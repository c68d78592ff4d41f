#pragma once

#include <array>
#include <string_view>

namespace patchbay {

/// Returns the SHA-256 hash of `text`. Names and locks of devices are made from it: a serial number
/// cannot be chosen to have the hash of another one. Pure.
std::array<unsigned char, 32> Sha256(std::string_view text);

}  // namespace patchbay
