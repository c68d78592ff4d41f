#include "cli/match_outcome.h"

#include <algorithm>

namespace patchbay {
std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kListed: return "listed";
    case Outcome::kRejected: return "rejected";
    case Outcome::kNotTaken: return "not taken";
  }
  return "";
}

std::string MendOf(const std::string& place, const Mends& mends) {
  const auto mend = mends.find(place);
  return mend == mends.end() ? "" : mend->second;
}

std::string MendOf(const MatchReport::Look& look, const Mends& mends) {
  return look.problem.empty() ? "" : MendOf(look.place, mends);
}

Fate FateOf(const MatchReport::Thing& found, const Snapshot& snapshot) {
  if (const ListedDevice* listed = FindDevice(snapshot, found.id)) {
    return {found, Outcome::kListed, "",
            listed->health == Health::kHealthy ? "" : "unhealthy: " + listed->reason};
  }
  // Inventories know what they reject by its first node, or its ID.
  const auto& rejected = snapshot.rejected;
  const auto rejection = std::find_if(rejected.begin(), rejected.end(), [&](const Rejection& one) {
    return one.path == found.id || (!found.paths.empty() && one.path == found.paths.front());
  });
  if (rejection == rejected.end()) {
    return {found, Outcome::kRejected, std::string(kNoReason), "it cannot be allocated"};
  }
  return {found, Outcome::kRejected, std::string(Name(rejection->reason)), rejection->detail};
}

Fate FateOf(const MatchReport::Rejected& rejected, const MatchReport& report, const Mends& mends) {
  const MatchReport::Thing& thing = rejected;
  Fate fate{thing, Outcome::kRejected, std::string(Name(rejected.reason)), rejected.detail};
  if (rejected.reason != RejectReason::kUnreadable) return fate;
  // All that cannot be read in /sys is rejected as one; the look tells which place it was.
  const auto look =
      std::find_if(report.looks.begin(), report.looks.end(),
                   [&](const MatchReport::Look& l) { return l.problem == rejected.detail; });
  if (look != report.looks.end()) fate.hint = MendOf(*look, mends);
  return fate;
}

Fate FateOf(const MatchReport::Drop& drop, const Mends& mends) {
  const MatchReport::Thing& thing = drop;
  return {thing,
          Outcome::kNotTaken,
          std::string(Name(drop.reason)),
          drop.detail,
          drop.reason == DropReason::kMissing ? MendOf(drop.paths.front(), mends) : "",
          drop.numbers};
}

}  // namespace patchbay
