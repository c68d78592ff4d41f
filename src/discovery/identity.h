#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

/// The device ID that stands for `text`: made of [A-Za-z0-9._:@+-], 1 to `longest` bytes, which
/// must be at least 16. A "/" becomes ":" and any other byte "_"; where that loses something, or
/// the text is too long, "." or "..", "-" and eight hexadecimal digits of its hash follow, so that
/// different texts have different IDs; only "a:b" and "a/b" share one. Depends on nothing but the
/// arguments.
std::string DeviceId(std::string_view text, std::size_t longest);

}  // namespace patchbay
