#include "cli/match_outcome.h"

#include <algorithm>

namespace patchbay {
std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kListed: return "listed";
    case Outcome::kRejected: return "rejected";
    case Outcome::kNotTaken: return "filtered";
  }
  return "";
}

std::string HintFor(const std::string& place, const AccessHints& hints) {
  const auto hint = hints.find(place);
  return hint == hints.end() ? "" : hint->second;
}

std::string HintFor(const MatchReport::Look& look, const AccessHints& hints) {
  return look.problem.empty() ? "" : HintFor(look.place, hints);
}

Fate FateOf(const MatchReport::Thing& found, const Snapshot& snapshot) {
  if (const ListedDevice* listed = FindDevice(snapshot, found.id)) {
    return {found, Outcome::kListed, "",
            listed->health == Health::kHealthy ? "" : "unhealthy: " + listed->reason};
  }
  // An inventory records a rejected device under the path of its first node, or its ID.
  const auto& rejected = snapshot.rejected;
  const auto rejection = std::find_if(rejected.begin(), rejected.end(), [&](const Rejection& one) {
    return one.path == found.id || (!found.paths.empty() && one.path == found.paths.front());
  });
  if (rejection == rejected.end()) {
    return {found, Outcome::kRejected, std::string(kNoReason), "it cannot be allocated"};
  }
  return {found, Outcome::kRejected, std::string(Name(rejection->reason)), rejection->detail};
}

Fate FateOf(const MatchReport::Rejected& rejected, const MatchReport& report,
            const AccessHints& hints) {
  const MatchReport::Thing& thing = rejected;
  Fate fate{thing, Outcome::kRejected, std::string(Name(rejected.reason)), rejected.detail};
  if (rejected.reason != RejectReason::kUnreadable) return fate;
  // Everything unreadable in /sys is rejected under one name; the look has the actual place.
  const auto look =
      std::find_if(report.looks.begin(), report.looks.end(),
                   [&](const MatchReport::Look& l) { return l.problem == rejected.detail; });
  if (look != report.looks.end()) fate.hint = HintFor(*look, hints);
  return fate;
}

Fate FateOf(const MatchReport::Drop& drop, const AccessHints& hints) {
  const MatchReport::Thing& thing = drop;
  return {thing,
          Outcome::kNotTaken,
          std::string(Name(drop.reason)),
          drop.detail,
          drop.reason == DropReason::kMissing ? HintFor(drop.paths.front(), hints) : "",
          drop.numbers};
}

}  // namespace patchbay
