// A source reports why it did not select the object, so that each match has an entry about it. That
// reason counts only if there is no better one: a node or a child of a USB device or PCI function
// is a part of it, and has the outcome of the device if it has none of its own.

#include "cli/explain/target_filter.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

/// The object in one match.
struct Subject {
  const ExplainTarget& target;
  const std::string& id;  ///< its device ID in the resource; the argument if it has none there
  SourceTraits traits;    ///< of the match
  const HostRoot& host;
};

/// How an outcome relates to the object, the closest relation first.
enum class Relation {
  kAbout,      ///< what the match did with the object
  kOfParent,   ///< with the USB device or PCI function that it is part of
  kUnmatched,  ///< why the source did not select it
  kProblem,    ///< why the match may not have found it
  kNone
};

/// Returns the device ID that the argument stands for in a resource: it can be that of a unit, or a
/// name in a ResourceSlice, which logs write with the number of a slot.
std::string IdOf(const std::shared_ptr<const Snapshot>& snapshot, const std::string& argument) {
  if (const auto* listed = FindAdvertised(*snapshot, argument).listed) return listed->device->id;
  const auto slot = ParseReplica(argument);
  return IdOfSliceName(snapshot, slot ? slot->device_id : argument).value_or(argument);
}

bool IsAbout(const Subject& subject, const MatchOutcome& outcome) {
  const ExplainTarget& target = subject.target;
  const auto& syspaths = target.syspaths;
  if (outcome.id == subject.id) return true;
  if (std::ranges::find(syspaths, outcome.syspath) != syspaths.end()) return true;
  return std::ranges::any_of(outcome.paths, [&](const std::string& path) {
    if (path == target.argument || target.HasPath(path)) return true;
    const auto node = subject.host.Resolve(path);
    return node && target.HasPath(node->path);
  });
}

bool IsOfParent(const Subject& subject, const MatchOutcome& outcome) {
  const bool has_parts = subject.traits.reads_sysfs && subject.traits.has_several_nodes;
  if (!has_parts || outcome.syspath.empty()) return false;
  return std::ranges::count(subject.target.functions, outcome.syspath) > 0 ||
         std::ranges::any_of(subject.target.syspaths, [&](const std::string& path) {
           return path.starts_with(outcome.syspath + "/");
         });
}

Relation RelationOf(const Subject& subject, const MatchOutcome& outcome) {
  const std::string& reason = outcome.reason;
  if (IsAbout(subject, outcome)) {
    const bool is_unmatched =
        reason == Name(DropReason::kNoMatch) || reason == Name(DropReason::kNotFound);
    return is_unmatched ? Relation::kUnmatched : Relation::kAbout;
  }
  if (IsOfParent(subject, outcome)) return Relation::kOfParent;
  const bool is_problem =
      reason == Name(RejectReason::kUnreadable) || reason == Name(RejectReason::kCommandFailed);
  return is_problem ? Relation::kProblem : Relation::kNone;
}

/// Keeps the outcomes with the closest relation to the object, and returns that relation. Of
/// several parents, the nearest counts.
Relation KeepClosest(const Subject& subject, std::vector<MatchOutcome>& outcomes) {
  std::pair<Relation, std::size_t> closest{Relation::kNone, 0};
  std::vector<MatchOutcome> kept;
  for (MatchOutcome& outcome : outcomes) {
    const Relation relation = RelationOf(subject, outcome);
    if (relation == Relation::kNone) continue;
    const bool is_parent = relation == Relation::kOfParent;
    const std::pair here{relation, is_parent ? ~outcome.syspath.size() : 0};
    if (here > closest) continue;
    if (here < closest) kept.clear();
    closest = here;
    kept.push_back(std::move(outcome));
  }
  outcomes = std::move(kept);
  return closest.first;
}

/// Reduces one match, and returns whether its report has the object.
bool Reduce(const Subject& subject, ExplainReport::Match& match) {
  auto& outcomes = match.outcomes;
  const Relation relation = KeepClosest(subject, outcomes);
  match.hint.clear();
  match.left_out = 0;
  std::erase_if(match.scanned, [&](const MatchReport::ScannedPlace& place) {
    return place.problem.empty() || place.is_exclude || !outcomes.empty();
  });
  if (outcomes.empty() && match.scanned.empty()) {
    outcomes.push_back({{"", {subject.target.argument}},
                        OutcomeKind::kFiltered,
                        std::string(Name(DropReason::kNoMatch)),
                        "the match did not find it"});
  }
  const auto is_unrelated = [&](const MatchOutcome& outcome) {
    return outcome.reason == Name(DropReason::kNoMatch) ||
           (subject.traits.reads_sysfs && outcome.reason == Name(DropReason::kOtherKind));
  };
  match.is_unrelated = !outcomes.empty() && std::ranges::all_of(outcomes, is_unrelated);
  for (MatchOutcome& outcome : outcomes) outcome.numbers.clear();  // they would share a line
  return relation == Relation::kAbout;
}

}  // namespace

Status FilterByTarget(const ExplainTarget& target, const std::vector<Inspection>& inspections,
                      const HostRoot& host, std::vector<ExplainReport>& reports) {
  bool is_known = target.is_path() || !target.syspaths.empty();
  for (std::size_t r = 0; r < reports.size(); ++r) {
    ExplainReport& report = reports[r];
    const auto& snapshot = inspections[r].snapshot;
    const std::string id = IdOf(snapshot, target.argument);
    report.listed = 0;
    for (std::size_t m = 0; m < report.matches.size(); ++m) {
      const SourceTraits traits = TraitsOf(snapshot->spec->matches[m]);
      is_known = Reduce({target, id, traits, host}, report.matches[m]) || is_known;
      report.listed += static_cast<std::size_t>(std::ranges::count(
          report.matches[m].outcomes, OutcomeKind::kListed, &MatchOutcome::kind));
    }
    report.numa.clear();
    report.missing_mounts.clear();
    report.slices.reset();
    report.shared.clear();
  }
  for (ExplainReport& one : reports) {
    for (const ExplainReport& other : reports) {
      if (&one == &other || one.listed == 0 || other.listed == 0) continue;
      one.shared.push_back({target.argument, other.resource});
    }
  }
  if (is_known) return {};
  return Fail(ErrorKind::kInvalid,
              Format("\"{}\" is not a path, and there is no device with this ID or name in sysfs: "
                     "write a path such as /dev/ttyUSB0, the ID of a device that a match found, or "
                     "a name such as 1-1.2, can0 or 0000:00:05.0",
                     target.argument));
}

}  // namespace patchbay
