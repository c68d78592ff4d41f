#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/scan_request.h"
#include "model/match_summary.h"
#include "model/spec.h"

namespace patchbay {

/// The texts of a report that `explain` and the status share. Those that return a single line do
/// not escape it.

/// Returns a number with its noun: "1 name", "2 names".
std::string Counted(std::size_t n, std::string_view noun, std::string_view plural);
/// Returns "a, b, c and 4 more".
std::string Some(const std::vector<std::string>& names, std::size_t max_names);
/// Returns why a place could not be scanned: "/dev/serial: No such file or directory".
std::string ProblemText(const MatchReport::ScannedPlace& scanned);
/// Describes the places that could be scanned, in one text for each pattern: "/dev/ and 3 more
/// directories: 108 names, 2 of them match ttyUSB*".
std::vector<std::string> ScannedTexts(const std::vector<MatchReport::ScannedPlace>& scanned);
/// Describes devices of other vendors than the match selects: "2 devices of other vendors:
/// 0403:6001, 10c4:ea60".
std::string OtherVendorsText(std::size_t devices, const std::vector<std::string>& numbers);

/// Summarizes the reports of a scan that listed no device, one summary for each match, at most
/// kMaxSummaries. Each has at most kMaxSummaryLines lines, of at most kMaxSummaryLine bytes each
/// before they are escaped; `patchbay explain` prints the rest. Pure.
inline constexpr std::size_t kMaxSummaries = 10;
inline constexpr std::size_t kMaxSummaryLines = 8;
inline constexpr std::size_t kMaxSummaryLine = 300;
MatchSummaries Summarize(const ResourceSpec& spec, const std::vector<MatchReport>& reports);

}  // namespace patchbay
