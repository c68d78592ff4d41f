#pragma once

#include <chrono>
#include <string>

namespace patchbay {

/// Formats a time in UTC with milliseconds as in RFC 3339: "2026-01-31T12:00:00.000Z".
std::string UtcText(std::chrono::system_clock::time_point time);

}  // namespace patchbay
