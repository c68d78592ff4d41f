#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// Parses a duration of the file: a whole number followed by one of the units ms, s, m and h,
/// without spaces ("250ms", "30s", "5m", "1h"). Returns none for any other text and for more than
/// a thousand years.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

/// Formats a duration in the largest unit in which it is a whole number: "90s", "5m".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace patchbay
