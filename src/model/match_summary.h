#pragma once

#include <string>
#include <vector>

namespace patchbay {

/// Why a match found no device, in a few lines; see discovery/match_summary.h. All texts are
/// printable and of limited length.
struct MatchSummary {
  std::string match;               ///< its keys on one line
  std::vector<std::string> lines;  ///< "scanned: /dev/: 108 names, none of them matches ttyUSB*"
  bool operator==(const MatchSummary&) const = default;
};
using MatchSummaries = std::vector<MatchSummary>;

}  // namespace patchbay
