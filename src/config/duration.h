#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

/// A duration as the file has it: a whole number and one of the units ms, s, m, h, nothing between
/// or around them ("250ms", "30s", "5m", "1h"). Nothing for any other text, nor for more than a
/// thousand years.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

/// The same the other way round, in the largest unit that fits: "90s", "5m".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace patchbay
