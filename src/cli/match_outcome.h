#pragma once

#include <map>
#include <string>

#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

enum class Outcome { kListed, kRejected, kNotTaken };
/// "listed", "rejected", "not taken".
std::string_view Name(Outcome outcome);

/// What became of something that was seen. Texts are of the host and not yet made printable.
struct Fate : MatchReport::Thing {
  Outcome outcome = Outcome::kListed;
  std::string reason = {};   ///< a RejectReason or DropReason by its name, or one of those below
  std::string detail = {};   ///< why, in words; of what is listed: what else is to be known
  std::string hint = {};     ///< what to do about it; may be empty
  std::string numbers = {};  ///< see MatchReport::Drop
};

/// Of something that is not what the match asks for; only where one asks about it.
inline constexpr std::string_view kNoMatch = "no_match";
/// Of something that the pass should have taken, as far as can be seen.
inline constexpr std::string_view kNoReason = "unknown";

/// What lets places be read, by their names in a report.
using Mends = std::map<std::string, std::string>;

/// Of a device that a match found: templates may have kept it out of the list.
Fate FateOf(const MatchReport::Thing& found, const Snapshot& snapshot);
Fate FateOf(const MatchReport::Rejected& rejected, const MatchReport& report, const Mends& mends);
Fate FateOf(const MatchReport::Drop& drop, const Mends& mends);

/// Empty for a place of which nothing is known.
std::string MendOf(const std::string& place, const Mends& mends);
/// Empty for a place that could be looked at.
std::string MendOf(const MatchReport::Look& look, const Mends& mends);

}  // namespace patchbay
