#pragma once

#include <chrono>
#include <string>

namespace patchbay {

/// The time in UTC to the millisecond, as RFC 3339 has it: "2026-01-31T12:00:00.000Z".
std::string UtcText(std::chrono::system_clock::time_point time);

}  // namespace patchbay
