#pragma once

#include <map>
#include <string>

#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

enum class Outcome { kListed, kRejected, kNotTaken };
/// "listed", "rejected", "filtered".
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

/// Hints for paths that could not be read, by the names in a report.
using AccessHints = std::map<std::string, std::string>;

/// Of a device that a match found: templates may have kept it out of the list.
Fate FateOf(const MatchReport::Thing& found, const Snapshot& snapshot);
Fate FateOf(const MatchReport::Rejected& rejected, const MatchReport& report,
            const AccessHints& hints);
Fate FateOf(const MatchReport::Drop& drop, const AccessHints& hints);

/// Empty for a place of which nothing is known.
std::string HintFor(const std::string& place, const AccessHints& hints);
/// Empty for a place that could be looked at.
std::string HintFor(const MatchReport::Look& look, const AccessHints& hints);

}  // namespace patchbay
