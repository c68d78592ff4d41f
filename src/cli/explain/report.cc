// A report combines two results of a scan: the report of each match, which has everything
// that the scan saw, and the snapshot, which has the devices that the inventory lists. A device
// that a match found can be missing from the snapshot; OutcomeOf then finds the reason. Nothing
// here accesses the host: an error says itself what is wrong.

#include "cli/explain/report.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/path.h"
#include "discovery/match_summary.h"
#include "inventory/shared_nodes.h"

namespace patchbay {
namespace {

using ScannedPlace = MatchReport::ScannedPlace;

constexpr std::string_view kHintOnMissing =
    "if the host has {}, the container lacks a mount (a hostPath volume; read-only is enough); "
    "otherwise correct the pattern, or wait for the device";

/// Returns what to do about a match that found nothing, or "". An error has its own hint.
std::string HintFor(const MatchReport& report) {
  if (!report.found.empty()) return "";
  const auto gone = std::ranges::find_if(report.scanned, &ScannedPlace::is_missing);
  if (gone != report.scanned.end()) return Format(kHintOnMissing, gone->place);
  const auto absent =
      std::ranges::find(report.drops, DropReason::kMissing, &MatchReport::Drop::reason);
  if (absent != report.drops.end()) return Format(kHintOnMissing, absent->paths.front());
  if (!report.rejected.empty() || !report.drops.empty()) return "";
  std::size_t seen = 0, matched = 0;
  const ScannedPlace* first = nullptr;
  for (const ScannedPlace& place : report.scanned) {
    if (place.is_exclude) continue;
    if (!place.problem.empty()) return "";
    if (first == nullptr) first = &place;
    seen += place.seen;
    if (place.pattern != "**") matched += place.matched;
  }
  if (first == nullptr || matched > 0) return "";
  switch (first->at) {
    case ScannedPlace::At::kDevices:
      return seen > 0 ? "" : "sysfs has no such device; compare with `udevadm info --export-db`";
    case ScannedPlace::At::kEntries: return "the command prints no device; run it manually";
    case ScannedPlace::At::kNames: break;
  }
  return seen == 0 ? Format(kHintOnMissing, first->place)
                   : "no name there matches the pattern; compare it with the names on the host";
}

void SortOnce(std::vector<MatchOutcome>& outcomes) {
  const auto place = [](const MatchOutcome& outcome) {
    return outcome.paths.empty() ? std::string_view() : std::string_view(outcome.paths.front());
  };
  std::ranges::stable_sort(outcomes, [&](const MatchOutcome& a, const MatchOutcome& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.id != b.id) return IdLess(a.id, b.id);
    return IdLess(place(a), place(b));
  });
  outcomes.erase(std::unique(outcomes.begin(), outcomes.end()), outcomes.end());
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

/// Returns the outcome of a device that a match found. It can still be rejected, for example if a
/// template cannot be rendered.
MatchOutcome OutcomeOf(const MatchReport::Item& found, const Snapshot& snapshot) {
  if (const ListedDevice* listed = FindDevice(snapshot, found.id)) {
    std::string facts = listed->health == Health::kHealthy ? "" : "unhealthy: " + listed->reason;
    for (const DeviceNote& note : snapshot.notes) {
      if (note.device == found.id) facts += (facts.empty() ? "" : "; ") + note.text;
    }
    return {found, OutcomeKind::kListed, "", std::move(facts)};
  }
  // An inventory records a rejected device under the path of its first node, or its ID.
  const auto& rejected = snapshot.rejected;
  const auto rejection = std::ranges::find_if(rejected, [&](const Rejection& one) {
    return one.path == found.id || (!found.paths.empty() && one.path == found.paths.front());
  });
  if (rejection == rejected.end()) {
    return {found, OutcomeKind::kRejected, "unknown", "it cannot be allocated"};
  }
  return {found, OutcomeKind::kRejected, std::string(Name(rejection->reason)), rejection->detail};
}

ExplainReport::Match ExplainMatch(const MatchSpec& match, const MatchReport& report,
                                  const Snapshot& snapshot) {
  ExplainReport::Match explained;
  explained.text = match.display.text;
  explained.scanned = report.scanned;
  auto& outcomes = explained.outcomes;
  for (const MatchReport::Item& found : report.found) {
    outcomes.push_back(OutcomeOf(found, snapshot));
    AddNotCompared(report, outcomes.back());
  }
  const auto add = [&](const MatchReport::Item& item, OutcomeKind kind, std::string_view reason,
                       const std::string& detail, const std::string& numbers) {
    outcomes.push_back({item, kind, std::string(reason), detail, numbers});
  };
  for (const auto& one : report.rejected) {
    add(one, OutcomeKind::kRejected, Name(one.reason), one.detail, "");
  }
  for (const auto& one : report.drops) {
    add(one, OutcomeKind::kFiltered, Name(one.reason), one.detail, one.numbers);
  }
  SortOnce(outcomes);
  explained.left_out = report.left_out;
  explained.hint = HintFor(report);
  return explained;
}

std::string ExplainNuma(const Snapshot& snapshot) {
  if (snapshot.spec->api == Api::kDra) return "published as attributes of the devices";
  if (snapshot.topology && !snapshot.devices.empty()) return "reported to the kubelet";
  if (!snapshot.spec->topology) {
    return snapshot.spec->replicas > 1 ? "not reported (replicas share a device; see topology)"
                                       : "not reported (topology = false)";
  }
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.device->numa_node) continue;
    return Format("not reported (sysfs has no NUMA node for device \"{}\")", listed.device->id);
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

std::vector<ExplainReport> Explain(const std::vector<Inspection>& inspections,
                                   const std::string& node_name) {
  std::vector<ExplainReport> reports;
  for (const Inspection& inspection : inspections) {
    const Snapshot& snapshot = *inspection.snapshot;
    ExplainReport& report = reports.emplace_back();
    report.resource = snapshot.spec->name;
    report.listed = snapshot.devices.size();
    report.numa = ExplainNuma(snapshot);
    report.missing_mounts = snapshot.missing_mounts;
    report.has_probe = snapshot.spec->health.has_value();
    report.evicts = snapshot.spec->on_unhealthy == OnUnhealthy::kEvict;
    report.slices = PreviewSlices(inspection.snapshot, node_name);
    for (std::size_t i = 0; i < inspection.reports.size(); ++i) {
      report.matches.push_back(
          ExplainMatch(snapshot.spec->matches[i], inspection.reports[i], snapshot));
    }
  }
  AddShared(inspections, reports);
  return reports;
}

}  // namespace patchbay
