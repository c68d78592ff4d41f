#include "cli/explanation.h"

#include <algorithm>

#include "base/format.h"
#include "cli/match_text.h"
#include "inventory/shared_nodes.h"

namespace patchbay {
namespace {

constexpr std::string_view kListed = "listed", kRejected = "rejected", kNotTaken = "not taken";

std::string WithPaths(const MatchReport::Found& found) {
  std::string text = found.id;
  for (const std::string& path : found.paths)
    text += (&path == found.paths.data() ? ": " : ", ") + path;
  return text;
}

/// Snapshots are in the order of IDs.
bool IsListed(const Snapshot& snapshot, const std::string& id) {
  const auto at = std::lower_bound(snapshot.devices.begin(), snapshot.devices.end(), id,
                                   [](const ListedDevice& listed, const std::string& i) {
                                     return IdLess(listed.device->id, i);
                                   });
  return at != snapshot.devices.end() && at->device->id == id;
}

std::string WhyOf(const Rejection& rejection) {
  return format("{}: {}", Name(rejection.reason), rejection.detail);
}

/// Why a device that was found is not in the list: a template said no.
std::string WhyNotListed(const Snapshot& snapshot, const MatchReport::Found& found) {
  const std::string& label = found.paths.empty() ? found.id : found.paths.front();
  for (const Rejection& rejection : snapshot.rejected) {
    if (rejection.path == label) return WhyOf(rejection);
  }
  return "it cannot be allocated";
}

using Mends = std::map<std::string, std::string>;

std::string MendOf(const MatchReport::Look& look, const Mends& mends) {
  const auto mend = mends.find(look.place);
  return look.problem.empty() || mend == mends.end() ? "" : mend->second;
}

/// All that cannot be read in /sys is rejected as one; the look tells which place it was.
std::string MendOf(const Rejection& rejection, const MatchReport& report, const Mends& mends) {
  if (rejection.reason != RejectReason::kUnreadable) return "";
  const auto look =
      std::find_if(report.looks.begin(), report.looks.end(),
                   [&](const MatchReport::Look& l) { return l.problem == rejection.detail; });
  return look == report.looks.end() ? "" : MendOf(*look, mends);
}

bool LooksInSysfs(const MatchSpec& match) {
  return UsesSysfs(match) && !PatternMatches(match, "/");
}

/// What to do about a match that found nothing at all, although it could look.
std::string HintFor(const MatchSpec& match, const MatchReport& report) {
  if (!report.found.empty() || !report.rejected.empty()) return "";
  std::size_t seen = 0, matched = 0;
  for (const MatchReport::Look& look : report.looks) {
    if (!look.problem.empty()) return "";
    seen += look.seen;
    matched += look.matched;
  }
  if (matched > 0 || !report.drops.empty()) return "";
  if (seen == 0 && LooksInSysfs(match)) {
    return "sysfs has no such device; compare with `udevadm info --export-db`";
  }
  if (seen > 0) return "no name there fits the pattern; compare it with what the host has";
  if (report.looks.empty()) return "";
  return "there is nothing to look at yet; in a container, mount the host's /dev at the same path "
         "or name its place with --host-root";
}

Explanation::Match ExplainMatch(const MatchSpec& match, const MatchReport& report,
                                const Snapshot& snapshot, const Mends& mends) {
  Explanation::Match explained;
  explained.text = MatchText(match);
  for (const MatchReport::Look& look : report.looks) {
    explained.looks.push_back({look, MendOf(look, mends)});
  }
  explained.left_out = report.left_out;
  explained.hint = HintFor(match, report);
  std::vector<Explanation::Verdict> unlisted;
  for (const MatchReport::Found& found : report.found) {
    if (IsListed(snapshot, found.id)) {
      explained.verdicts.push_back({std::string(kListed), WithPaths(found), ""});
    } else {
      unlisted.push_back({std::string(kRejected), WithPaths(found), WhyNotListed(snapshot, found)});
    }
  }
  auto& verdicts = explained.verdicts;
  std::move(unlisted.begin(), unlisted.end(), std::back_inserter(verdicts));
  for (const Rejection& rejection : report.rejected) {
    verdicts.push_back({std::string(kRejected), rejection.path, WhyOf(rejection),
                        MendOf(rejection, report, mends)});
  }
  for (const MatchReport::Drop& drop : report.drops) {
    verdicts.push_back({std::string(kNotTaken), drop.what, drop.why});
  }
  return explained;
}

std::string ExplainNuma(const Snapshot& snapshot) {
  if (snapshot.topology && !snapshot.devices.empty()) return "the kubelet is told of them";
  if (!snapshot.spec->topology) {
    return snapshot.spec->replicas > 1 ? "not told: replicas share a device; see topology"
                                       : "not told: topology is false";
  }
  for (const ListedDevice& listed : snapshot.devices) {
    if (!listed.device->numa_node) {
      return format("not told: sysfs knows none for the device \"{}\"", listed.device->id);
    }
  }
  return "not told: there is no device";
}

void AddShared(const std::vector<Inspection>& inspections, std::vector<Explanation>& explanations) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots(inspections.size());
  std::transform(inspections.begin(), inspections.end(), snapshots.begin(),
                 [](const Inspection& inspection) { return inspection.snapshot; });
  for (const SharedNodes::Pair& pair : FindSharedNodes(snapshots).pairs) {
    const auto add = [&](std::size_t one, std::size_t other) {
      explanations[one].shared.push_back(
          format("{} also belongs to {}", pair.path, explanations[other].resource));
    };
    add(pair.first, pair.second);
    add(pair.second, pair.first);
  }
}

/// What became of one path in one match.
Explanation::Verdict VerdictOn(const std::string& path, const MatchSpec& match,
                               const MatchReport& report, const Snapshot& snapshot,
                               const Mends& mends) {
  for (const MatchReport::Found& found : report.found) {
    if (std::find(found.paths.begin(), found.paths.end(), path) == found.paths.end()) continue;
    const bool listed = IsListed(snapshot, found.id);
    return {std::string(listed ? kListed : kRejected), WithPaths(found),
            listed ? "" : WhyNotListed(snapshot, found)};
  }
  for (const Rejection& rejection : report.rejected) {
    if (rejection.path != path) continue;
    return {std::string(kRejected), path, WhyOf(rejection), MendOf(rejection, report, mends)};
  }
  for (const MatchReport::Drop& drop : report.drops) {
    if (drop.what == path) return {std::string(kNotTaken), path, drop.why};
  }
  if (PatternMatches(match, path) == std::optional(false)) {
    return {std::string(kNotTaken), path, "the pattern does not match it"};
  }
  return {std::string(kNotTaken), path, "it was not seen: there is nothing at this path"};
}

}  // namespace

std::vector<Explanation> Explain(const std::vector<Inspection>& inspections) {
  std::vector<Explanation> explanations;
  for (const auto& [snapshot, reports, mends] : inspections) {
    Explanation& explanation = explanations.emplace_back();
    explanation.resource = snapshot->spec->name;
    explanation.listed = snapshot->devices.size();
    explanation.numa = ExplainNuma(*snapshot);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      explanation.matches.push_back(
          ExplainMatch(snapshot->spec->matches[i], reports[i], *snapshot, mends));
    }
  }
  AddShared(inspections, explanations);
  return explanations;
}

void NarrowToPath(const std::vector<Inspection>& inspections, const std::string& path,
                  std::vector<Explanation>& explanations) {
  for (std::size_t r = 0; r < inspections.size(); ++r) {
    const Snapshot& snapshot = *inspections[r].snapshot;
    std::erase_if(explanations[r].shared,
                  [&](const std::string& text) { return !text.starts_with(path + " "); });
    for (std::size_t m = 0; m < explanations[r].matches.size(); ++m) {
      Explanation::Match& match = explanations[r].matches[m];
      match.verdicts = {VerdictOn(path, snapshot.spec->matches[m], inspections[r].reports[m],
                                  snapshot, inspections[r].mends)};
      match.hint.clear();
      match.left_out = 0;
    }
  }
}

}  // namespace patchbay
