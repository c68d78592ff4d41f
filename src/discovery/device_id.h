#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// Returns the device ID for `text`: [A-Za-z0-9._:@+-], 1 to `longest` bytes, at least 16. A "/"
/// becomes ":", and any other byte "_". If information is lost, or the text is too long, "." or
/// "..", then "-" and eight hexadecimal digits of its hash are appended: different texts have
/// different IDs, except "a:b" and "a/b". Pure.
std::string DeviceId(std::string_view text, std::size_t longest);

}  // namespace patchbay
