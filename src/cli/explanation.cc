// An explanation combines two results of a scan: the report of each match, which has everything
// that the scan saw, and the snapshot, which has the devices that the inventory lists. A device
// that a match found can be missing from the snapshot; FateOf then looks up why it was rejected.
// Hints were collected together with the scan, so nothing here accesses the host.

#include "cli/explanation.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/path.h"
#include "cli/match_text.h"
#include "inventory/shared_nodes.h"

namespace patchbay {
namespace {

/// Returns a hint for a match that found nothing although everything could be read.
std::string HintForMatch(const MatchReport& report, const AccessHints& hints) {
  if (!report.found.empty() || !report.rejected.empty() || !report.drops.empty()) return "";
  std::size_t seen = 0, matched = 0;
  const MatchReport::Look* first = nullptr;
  for (const MatchReport::Look& look : report.looks) {
    if (look.is_exclude) continue;
    if (!look.problem.empty()) return "";
    if (first == nullptr) first = &look;
    seen += look.seen;
    if (look.pattern != "**") matched += look.matched;
  }
  if (first == nullptr || matched > 0) return "";
  switch (first->at) {
    case MatchReport::Look::At::kDevices:
      return seen > 0 ? "" : "sysfs has no such device; compare with `udevadm info --export-db`";
    case MatchReport::Look::At::kEntries: return "the command prints no device; run it by hand";
    case MatchReport::Look::At::kNames: break;
  }
  if (seen > 0) {
    for (const MatchReport::Look& look : report.looks) {
      const std::string names = HintFor(look.place + "/" + look.pattern, hints);
      if (!names.empty()) return "no name there matches the pattern; " + names;
    }
    return "no name there matches the pattern; compare it with the names on the host";
  }
  return HintFor(first->place, hints);
}

void SortOnce(std::vector<Fate>& fates) {
  const auto place = [](const Fate& fate) {
    return fate.paths.empty() ? std::string_view() : std::string_view(fate.paths.front());
  };
  const auto key = [&](const Fate& fate) {
    return std::tuple(fate.outcome, std::string_view(fate.id), place(fate),
                      std::string_view(fate.reason), std::string_view(fate.detail));
  };
  std::stable_sort(fates.begin(), fates.end(), [&](const Fate& a, const Fate& b) {
    if (a.outcome != b.outcome) return a.outcome < b.outcome;
    if (a.id != b.id) return IdLess(a.id, b.id);
    return IdLess(place(a), place(b));
  });
  fates.erase(std::unique(fates.begin(), fates.end(),
                          [&](const Fate& a, const Fate& b) { return key(a) == key(b); }),
              fates.end());
}

Explanation::Match ExplainMatch(const MatchSpec& match, const MatchReport& report,
                                const Snapshot& snapshot, const AccessHints& hints) {
  Explanation::Match explained;
  explained.text = MatchText(match);
  for (const auto& look : report.looks) explained.looks.push_back({look, HintFor(look, hints)});
  auto& fates = explained.fates;
  for (const auto& found : report.found) fates.push_back(FateOf(found, snapshot));
  for (const auto& rejected : report.rejected) {
    fates.push_back(FateOf(rejected, report, hints));
  }
  for (const auto& drop : report.drops) fates.push_back(FateOf(drop, hints));
  SortOnce(fates);
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
  if (snapshot.topology && !snapshot.devices.empty()) return "reported to the kubelet";
  if (!snapshot.spec->topology) {
    return snapshot.spec->replicas > 1 ? "not reported (replicas share a device; see topology)"
                                       : "not reported (topology = false)";
  }
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.device->numa_node) continue;
    const std::string& id = listed.device->id;
    if (IsCounted(inspection, id)) return "not reported (count devices have no hardware)";
    return format("not reported (sysfs has no NUMA node for device \"{}\")", id);
  }
  return "not reported (no devices)";
}

void AddShared(const std::vector<Inspection>& inspections, std::vector<Explanation>& explanations) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots(inspections.size());
  std::transform(inspections.begin(), inspections.end(), snapshots.begin(),
                 [](const Inspection& inspection) { return inspection.snapshot; });
  for (const SharedNodes::Pair& pair : FindSharedNodes(snapshots).pairs) {
    const auto add = [&](std::size_t one, std::size_t other) {
      explanations[one].shared.push_back({pair.path, explanations[other].resource});
    };
    add(pair.first, pair.second);
    add(pair.second, pair.first);
  }
}

/// Joins up to four paths and counts the rest.
std::string Paths(const std::vector<std::string>& paths) {
  constexpr std::size_t kMax = 4;
  const std::size_t shown = std::min(paths.size(), kMax);
  std::string text = format("{}", fmt::join(paths.begin(), paths.begin() + shown, ", "));
  return paths.size() > kMax ? format("{} and {} more", text, paths.size() - kMax) : text;
}

}  // namespace

std::string LabelOf(const Fate& fate) {
  const auto& [id, paths] = std::tie(fate.id, fate.paths);
  const bool is_in_sysfs = paths.size() == 1 && paths.front() == fate.syspath;
  // The sysfs name is shorter than the path, and --path accepts it as well.
  std::string where = is_in_sysfs ? std::string(BaseName(fate.syspath)) : Paths(paths);
  if (id.empty()) return where;
  if (where.empty() || where == id || fate.outcome == Outcome::kNotTaken) return id;
  // A rejected device whose ID is the name of its only node needs no ID in the label.
  const bool is_told = paths.size() == 1 && BaseName(where) == id;
  return is_told && fate.outcome == Outcome::kRejected ? where : id + ": " + where;
}

std::vector<Explanation> Explain(const std::vector<Inspection>& inspections) {
  std::vector<Explanation> explanations;
  for (const Inspection& inspection : inspections) {
    const Snapshot& snapshot = *inspection.snapshot;
    Explanation& explanation = explanations.emplace_back();
    explanation.resource = snapshot.spec->name;
    explanation.listed = snapshot.devices.size();
    explanation.numa = ExplainNuma(inspection);
    explanation.missing_mounts = snapshot.missing_mounts;
    for (std::size_t i = 0; i < inspection.reports.size(); ++i) {
      explanation.matches.push_back(ExplainMatch(snapshot.spec->matches[i], inspection.reports[i],
                                                 snapshot, inspection.hints));
    }
  }
  AddShared(inspections, explanations);
  return explanations;
}

}  // namespace patchbay
