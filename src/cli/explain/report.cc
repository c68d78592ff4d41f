// A report combines two results of a scan: the report of each match, which has everything
// that the scan saw, and the snapshot, which has the devices that the inventory lists. A device
// that a match found can be missing from the snapshot; OutcomeOf then finds the reason. Hints were
// collected together with the scan, so nothing here accesses the host.

#include "cli/explain/report.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/path.h"
#include "discovery/match_summary.h"
#include "inventory/shared_nodes.h"

namespace patchbay {
namespace {

/// Returns the hint for a place, or an empty text if there is none.
std::string HintFor(const std::string& place, const AccessHints& hints) {
  const auto hint = hints.find(place);
  return hint == hints.end() ? "" : hint->second;
}

/// Returns the hint for a place that could not be scanned; empty for any other place.
std::string HintFor(const MatchReport::ScannedPlace& place, const AccessHints& hints) {
  return place.problem.empty() ? "" : HintFor(place.place, hints);
}

/// Returns a hint for a match that found nothing although everything could be read.
std::string HintForMatch(const MatchReport& report, const AccessHints& hints) {
  if (!report.found.empty() || !report.rejected.empty() || !report.drops.empty()) return "";
  std::size_t seen = 0, matched = 0;
  const MatchReport::ScannedPlace* first = nullptr;
  for (const MatchReport::ScannedPlace& place : report.scanned) {
    if (place.is_exclude) continue;
    if (!place.problem.empty()) return "";
    if (first == nullptr) first = &place;
    seen += place.seen;
    if (place.pattern != "**") matched += place.matched;
  }
  if (first == nullptr || matched > 0) return "";
  switch (first->at) {
    case MatchReport::ScannedPlace::At::kDevices:
      return seen > 0 ? "" : "sysfs has no such device; compare with `udevadm info --export-db`";
    case MatchReport::ScannedPlace::At::kEntries:
      return "the command prints no device; run it manually";
    case MatchReport::ScannedPlace::At::kNames: break;
  }
  if (seen > 0) {
    for (const MatchReport::ScannedPlace& place : report.scanned) {
      const std::string names = HintFor(place.place + "/" + place.pattern, hints);
      if (!names.empty()) return "no name there matches the pattern; " + names;
    }
    return "no name there matches the pattern; compare it with the names on the host";
  }
  return HintFor(first->place, hints);
}

void SortOnce(std::vector<MatchOutcome>& outcomes) {
  const auto place = [](const MatchOutcome& outcome) {
    return outcome.paths.empty() ? std::string_view() : std::string_view(outcome.paths.front());
  };
  const auto key = [&](const MatchOutcome& outcome) {
    return std::tuple(outcome.kind, std::string_view(outcome.id), place(outcome),
                      std::string_view(outcome.reason), std::string_view(outcome.detail));
  };
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [&](const MatchOutcome& a, const MatchOutcome& b) {
                     if (a.kind != b.kind) return a.kind < b.kind;
                     if (a.id != b.id) return IdLess(a.id, b.id);
                     return IdLess(place(a), place(b));
                   });
  outcomes.erase(
      std::unique(outcomes.begin(), outcomes.end(),
                  [&](const MatchOutcome& a, const MatchOutcome& b) { return key(a) == key(b); }),
      outcomes.end());
}

/// Adds to a listed device that `not` compared nothing.
void AddNotCompared(const MatchReport& report, MatchOutcome& outcome) {
  if (outcome.kind != OutcomeKind::kListed) return;
  auto why = report.not_compared.find(outcome.syspath);
  for (const std::string& path : outcome.paths) {
    if (why == report.not_compared.end()) why = report.not_compared.find(path);
  }
  if (why == report.not_compared.end()) return;
  outcome.detail +=
      Format("{}\"not\" compared nothing: {}", outcome.detail.empty() ? "" : "; ", why->second);
}

ExplainReport::Match ExplainMatch(const MatchSpec& match, const MatchReport& report,
                                  const Snapshot& snapshot, const AccessHints& hints) {
  ExplainReport::Match explained;
  explained.text = match.display.text;
  for (const auto& place : report.scanned)
    explained.scanned.push_back({place, HintFor(place, hints)});
  auto& outcomes = explained.outcomes;
  for (const auto& found : report.found) {
    outcomes.push_back(OutcomeOf(found, snapshot));
    AddNotCompared(report, outcomes.back());
  }
  for (const auto& rejected : report.rejected) {
    outcomes.push_back(OutcomeOf(rejected, report, hints));
  }
  for (const auto& drop : report.drops) outcomes.push_back(OutcomeOf(drop, hints));
  SortOnce(outcomes);
  explained.left_out = report.left_out;
  explained.hint = HintForMatch(report, hints);
  return explained;
}

/// Returns whether the device comes from a `count` source.
bool IsCounted(const Inspection& inspection, const std::string& id) {
  for (std::size_t i = 0; i < inspection.reports.size(); ++i) {
    if (!std::holds_alternative<CountSource>(inspection.snapshot->spec->matches[i].source)) {
      continue;
    }
    const auto& found = inspection.reports[i].found;
    if (std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.id == id; })) {
      return true;
    }
  }
  return false;
}

std::string ExplainNuma(const Inspection& inspection) {
  const Snapshot& snapshot = *inspection.snapshot;
  if (snapshot.spec->api == Api::kDra) return "published as attributes of the devices";
  if (snapshot.topology && !snapshot.devices.empty()) return "reported to the kubelet";
  if (!snapshot.spec->topology) {
    return snapshot.spec->replicas > 1 ? "not reported (replicas share a device; see topology)"
                                       : "not reported (topology = false)";
  }
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.device->numa_node) continue;
    const std::string& id = listed.device->id;
    if (IsCounted(inspection, id)) return "not reported (count devices have no hardware)";
    return Format("not reported (sysfs has no NUMA node for device \"{}\")", id);
  }
  return "not reported (no devices)";
}

void AddShared(const std::vector<Inspection>& inspections, std::vector<ExplainReport>& reports) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots(inspections.size());
  std::transform(inspections.begin(), inspections.end(), snapshots.begin(),
                 [](const Inspection& inspection) { return inspection.snapshot; });
  for (const SharedNodes::Pair& pair : FindSharedNodes(snapshots).pairs) {
    const auto add = [&](std::size_t one, std::size_t other) {
      reports[one].shared.push_back({pair.path, reports[other].resource});
    };
    add(pair.first, pair.second);
    add(pair.second, pair.first);
  }
}

}  // namespace

std::string_view Name(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kListed: return "listed";
    case OutcomeKind::kRejected: return "rejected";
    case OutcomeKind::kFiltered: return "filtered";
  }
  return "";
}

MatchOutcome OutcomeOf(const MatchReport::Thing& found, const Snapshot& snapshot) {
  if (const ListedDevice* listed = FindDevice(snapshot, found.id)) {
    std::string facts = listed->health == Health::kHealthy ? "" : "unhealthy: " + listed->reason;
    for (const DeviceNote& note : snapshot.notes) {
      if (note.device == found.id) facts += (facts.empty() ? "" : "; ") + note.text;
    }
    return {found, OutcomeKind::kListed, "", std::move(facts)};
  }
  // An inventory records a rejected device under the path of its first node, or its ID.
  const auto& rejected = snapshot.rejected;
  const auto rejection = std::find_if(rejected.begin(), rejected.end(), [&](const Rejection& one) {
    return one.path == found.id || (!found.paths.empty() && one.path == found.paths.front());
  });
  if (rejection == rejected.end()) {
    return {found, OutcomeKind::kRejected, std::string(kNoReason), "it cannot be allocated"};
  }
  return {found, OutcomeKind::kRejected, std::string(Name(rejection->reason)), rejection->detail};
}

MatchOutcome OutcomeOf(const MatchReport::Rejected& rejected, const MatchReport& report,
                       const AccessHints& hints) {
  const MatchReport::Thing& thing = rejected;
  MatchOutcome outcome{thing, OutcomeKind::kRejected, std::string(Name(rejected.reason)),
                       rejected.detail};
  if (rejected.reason != RejectReason::kUnreadable) return outcome;
  // Everything unreadable in /sys is rejected under one name; the scanned place has the actual
  // path.
  const auto place = std::find_if(
      report.scanned.begin(), report.scanned.end(),
      [&](const MatchReport::ScannedPlace& l) { return l.problem == rejected.detail; });
  if (place != report.scanned.end()) outcome.hint = HintFor(*place, hints);
  return outcome;
}

MatchOutcome OutcomeOf(const MatchReport::Drop& drop, const AccessHints& hints) {
  const MatchReport::Thing& thing = drop;
  return {thing,
          OutcomeKind::kFiltered,
          std::string(Name(drop.reason)),
          drop.detail,
          drop.reason == DropReason::kMissing ? HintFor(drop.paths.front(), hints) : "",
          drop.numbers};
}

std::string LabelOf(const MatchOutcome& outcome) {
  const auto& [id, paths] = std::tie(outcome.id, outcome.paths);
  const bool is_in_sysfs = paths.size() == 1 && paths.front() == outcome.syspath;
  // The sysfs name is shorter than the path, and --path accepts it as well.
  std::string where = is_in_sysfs ? std::string(BaseName(outcome.syspath)) : Some(paths, 4);
  if (id.empty()) return where;
  if (where.empty() || where == id || outcome.kind == OutcomeKind::kFiltered) return id;
  // A rejected device whose ID is the name of its only node needs no ID in the label.
  const bool is_redundant = paths.size() == 1 && BaseName(where) == id;
  return is_redundant && outcome.kind == OutcomeKind::kRejected ? where : id + ": " + where;
}

bool HaveDevices(const std::vector<ExplainReport>& reports, bool is_of_target) {
  if (!is_of_target) {
    return std::ranges::all_of(reports, [](const ExplainReport& r) { return r.listed > 0; });
  }
  const auto is_listed = [](const MatchOutcome& o) { return o.kind == OutcomeKind::kListed; };
  return std::ranges::any_of(reports, [&](const ExplainReport& report) {
    return std::ranges::any_of(report.matches, [&](const ExplainReport::Match& match) {
      return std::ranges::any_of(match.outcomes, is_listed);
    });
  });
}

std::vector<ExplainReport> Explain(const std::vector<Inspection>& inspections,
                                   const std::string& node_name) {
  std::vector<ExplainReport> reports;
  for (const Inspection& inspection : inspections) {
    const Snapshot& snapshot = *inspection.snapshot;
    ExplainReport& report = reports.emplace_back();
    report.resource = snapshot.spec->name;
    report.listed = snapshot.devices.size();
    report.numa = ExplainNuma(inspection);
    report.missing_mounts = snapshot.missing_mounts;
    report.has_probe = snapshot.spec->health.has_value();
    report.evicts = snapshot.spec->on_unhealthy == OnUnhealthy::kEvict;
    report.slices = PreviewSlices(inspection.snapshot, node_name);
    for (std::size_t i = 0; i < inspection.reports.size(); ++i) {
      report.matches.push_back(ExplainMatch(snapshot.spec->matches[i], inspection.reports[i],
                                            snapshot, inspection.hints));
    }
  }
  AddShared(inspections, reports);
  return reports;
}

}  // namespace patchbay
