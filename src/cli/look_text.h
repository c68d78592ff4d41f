#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/scan_request.h"

namespace patchbay {

/// "1 name", "2 names".
std::string Counted(std::size_t n, std::string_view noun, std::string_view plural);

/// What came of looking at these places, at least one, all held to one pattern: "/dev/ and 3 more
/// directories: 108 names, 2 of them match ttyUSB*". The numbers are their sums.
std::string LookText(const MatchReport::Look& sum, const std::vector<std::string>& places);

/// Why a place could not be looked at: "/dev/serial: No such file or directory".
std::string ProblemText(const MatchReport::Look& look);

}  // namespace patchbay
