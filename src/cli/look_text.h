#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/scan_request.h"

namespace patchbay {

/// Returns a number with its noun: "1 name", "2 names".
std::string Counted(std::size_t n, std::string_view noun, std::string_view plural);

/// Describes the scan of one or more places with one pattern: "/dev/ and 3 more directories: 108
/// names, 2 of them match ttyUSB*". `sum` has the sums of their numbers.
std::string LookText(const MatchReport::Look& sum, const std::vector<std::string>& places);

/// Returns why a place could not be scanned: "/dev/serial: No such file or directory".
std::string ProblemText(const MatchReport::Look& look);

}  // namespace patchbay
