#pragma once

#include <map>
#include <string>

#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

enum class Outcome { kListed, kRejected, kNotTaken };
/// "listed", "rejected", "filtered".
std::string_view Name(Outcome outcome);

/// The outcome of a scan for one candidate. Texts from the host are not escaped.
struct Fate : MatchReport::Thing {
  Outcome outcome = Outcome::kListed;
  std::string reason = {};   ///< the name of a RejectReason or DropReason, kNoMatch or kNoReason
  std::string detail = {};   ///< the reason in words; if listed: additional facts
  std::string hint = {};     ///< how to fix it; may be empty
  std::string numbers = {};  ///< see MatchReport::Drop
};

/// The match does not select the object. Only used in answers to `explain --path`.
inline constexpr std::string_view kNoMatch = "no_match";
/// The scan did not list the candidate, and no reason was found.
inline constexpr std::string_view kNoReason = "unknown";

/// Hints for paths that could not be read, by the path in the report.
using AccessHints = std::map<std::string, std::string>;

/// Returns the fate of a device that a match found. It can still be rejected, for example if a
/// template cannot be rendered.
Fate FateOf(const MatchReport::Thing& found, const Snapshot& snapshot);
Fate FateOf(const MatchReport::Rejected& rejected, const MatchReport& report,
            const AccessHints& hints);
Fate FateOf(const MatchReport::Drop& drop, const AccessHints& hints);

/// Returns the hint for a place, or an empty text if there is none.
std::string HintFor(const std::string& place, const AccessHints& hints);
/// Returns the hint for a place that could not be scanned; empty for any other place.
std::string HintFor(const MatchReport::Look& look, const AccessHints& hints);

}  // namespace patchbay
