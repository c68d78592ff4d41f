// OutcomeFor searches the report of the scan for the object, by ID, path, link target and sysfs
// path, first among the devices found, then the rejected ones, then the dropped ones. If the report
// does not mention the object, it may be a child of a USB or PCI device that was found. Otherwise
// WhyNot evaluates the source of the match for this one object: first the pattern, then whether the
// object exists, then the conditions. It never returns "listed": only a scan lists a device.

#include "cli/explain/target_filter.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "cli/access_hints.h"
#include "discovery/conditions.h"

namespace patchbay {
namespace {

/// The input of OutcomeFor: one match and the target. Everything it refers to must
/// outlive it.
struct TargetQuery {
  const ExplainTarget& target;
  const std::string& id;  ///< the device ID of the object in this resource, if it is listed
  const MatchSpec& match;
  const MatchReport& report;
  const Inspection& inspection;
  const Sysfs& sysfs;
  DeviceAncestries& ancestries;
};

bool IsKnownAs(const ExplainTarget& target, const std::string& path) {
  return std::find(target.paths.begin(), target.paths.end(), path) != target.paths.end();
}

/// Returns whether the pattern of a `path` or `regex` source matches `path`. Returns nothing for
/// other sources.
std::optional<bool> PatternMatches(const MatchSpec& match, const std::string& path) {
  if (const auto* source = std::get_if<PathSource>(&match.source)) {
    return std::any_of(source->globs.begin(), source->globs.end(),
                       [&](const Glob& glob) { return glob.Matches(path); });
  }
  if (const auto* source = std::get_if<RegexSource>(&match.source)) {
    Captures ignored;
    return source->regex.Match(path, ignored);
  }
  return std::nullopt;
}

/// Returns the path or its target if it is the target.
std::optional<std::string> ResolvesToTarget(const TargetQuery& query, const std::string& path) {
  if (IsKnownAs(query.target, path)) return path;
  auto node = query.sysfs.host().Resolve(path);
  if (!node || !IsKnownAs(query.target, node->path)) return std::nullopt;
  return std::move(node->path);
}

/// Returns whether an entry of the report is the object, by ID, path, link or sysfs device.
bool IsTarget(const TargetQuery& query, const MatchReport::Thing& thing) {
  if (!thing.id.empty() && thing.id == query.id) return true;
  const auto& syspaths = query.target.syspaths;
  if (std::find(syspaths.begin(), syspaths.end(), thing.syspath) != syspaths.end()) return true;
  return std::any_of(thing.paths.begin(), thing.paths.end(), [&](const std::string& path) {
    return ResolvesToTarget(query, path).has_value();
  });
}

/// Returns the device of a USB or PCI match that the object belongs to.
const MatchReport::Thing* ParentDeviceOf(const TargetQuery& query) {
  const auto& found = query.report.found;
  for (const std::string& path : query.target.syspaths) {
    const auto ancestry = query.ancestries.Of(path);
    if (!ancestry) continue;
    for (const SysfsDevice* parent : {ancestry->UsbDevice(), ancestry->PciDevice()}) {
      const auto it = std::find_if(found.begin(), found.end(), [&](const auto& device) {
        return parent != nullptr && device.syspath == parent->path;
      });
      if (it != found.end()) return &*it;
    }
  }
  return nullptr;
}

MatchOutcome Filtered(const TargetQuery& query, std::string_view reason, std::string detail) {
  return {{"", {query.target.argument}, ""},
          OutcomeKind::kFiltered,
          std::string(reason),
          std::move(detail)};
}

MatchOutcome Filtered(const TargetQuery& query, DropReason reason, std::string detail) {
  return Filtered(query, Name(reason), std::move(detail));
}

MatchOutcome Unreadable(const TargetQuery& query, std::string why, std::string hint) {
  return {{"", {query.target.argument}, ""},
          OutcomeKind::kRejected,
          std::string(Name(RejectReason::kUnreadable)),
          std::move(why),
          std::move(hint)};
}

/// The outcome of an object that has no device to compare with the match.
MatchOutcome NoDevice(const TargetQuery& query, std::string_view if_missing) {
  const HostRoot& host = query.sysfs.host();
  const ExplainTarget& target = query.target;
  if (target.error && target.error->kind != ErrorKind::kNotFound) {
    return Unreadable(query, target.error->message, target.hint);
  }
  if (target.error) {
    return Filtered(
        query, if_missing,
        host.ReadLink(target.argument) ? "the link is dangling" : "the path does not exist");
  }
  if (target.paths.empty()) {
    return Filtered(query, kNoMatch, "no device of this match has this ID");
  }
  if (const auto numbers = host.Resolve("/sys/dev"); !numbers) {
    return Unreadable(query, "only /sys identifies it: " + numbers.error().message,
                      AccessHint(CheckAccess(host, "/sys/dev"), host));
  }
  const std::string_view what = target.type ? Describe(*target.type) : "something";
  return Filtered(query, DropReason::kUnknown,
                  Format("it is {}, and sysfs has no device for it", what));
}

MatchOutcome NoReasonFound(const TargetQuery& query) {
  return Filtered(query, kNoReason,
                  "nothing excludes it; it may have appeared a moment ago: try again");
}

MatchOutcome WhyNotByPath(const TargetQuery& query) {
  const MatchSpec& match = query.match;
  const auto& paths = query.target.paths;
  if (paths.empty()) {
    return Filtered(query, kNoMatch, "it has no path for the pattern to match");
  }
  const bool fits = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return PatternMatches(match, path).value_or(false);
  });
  if (!fits) return Filtered(query, kNoMatch, "the pattern does not match it");
  const bool has_conditions = HasConditions(match);
  if (query.target.error || (has_conditions && query.target.syspaths.empty())) {
    return NoDevice(query, Name(DropReason::kMissing));
  }
  if (!has_conditions) return NoReasonFound(query);
  const auto ancestry = query.ancestries.Of(query.target.syspaths.front());
  if (!ancestry) return Unreadable(query, ancestry.error().message, "");
  auto why = WhyNotMet(match, *ancestry, query.sysfs);
  return why ? Filtered(query, DropReason::kCondition, std::move(*why)) : NoReasonFound(query);
}

template <class Pattern>
MatchOutcome WhyNotBySysfs(const TargetQuery& query, const Pattern& pattern) {
  const Sysfs& sysfs = query.sysfs;
  if (query.target.syspaths.empty()) return NoDevice(query, kNoMatch);
  MatchOutcome outcome;
  for (const std::string& path : query.target.syspaths) {
    const auto ancestry = query.ancestries.Of(path);
    if (!ancestry) {
      outcome = Unreadable(query, ancestry.error().message, "");
    } else if (IsOfOtherKind(pattern, *ancestry, sysfs)) {
      // Another device with the same name may be a closer match.
      outcome =
          Filtered(query, DropReason::kOtherKind, FirstMismatch(pattern, *ancestry, sysfs)->why);
    } else {
      std::optional<std::string> why;
      if (auto mismatch = FirstMismatch(pattern, *ancestry, sysfs)) {
        why = std::move(mismatch->why);
      } else {
        why = WhyNotMet(query.match, *ancestry, sysfs);
      }
      return why ? Filtered(query, DropReason::kCondition, std::move(*why)) : NoReasonFound(query);
    }
  }
  return outcome;
}

MatchOutcome WhyNotByCommand(const TargetQuery& query) {
  const auto& rejected = query.report.rejected;
  const bool failed = std::any_of(rejected.begin(), rejected.end(), [](const auto& one) {
    return one.reason == RejectReason::kCommandFailed;
  });
  return failed ? Filtered(query, kNoReason, "the command printed no usable entry for it")
                : Filtered(query, kNoMatch, "the command did not print it");
}

/// Returns why the match did not find the object, by the source of the match.
struct WhyNot {
  const TargetQuery& query;

  MatchOutcome operator()(const CountSource&) const {
    return Filtered(query, kNoMatch, "a count has no devices on the host");
  }
  MatchOutcome operator()(const CommandSource&) const { return WhyNotByCommand(query); }
  MatchOutcome operator()(const PathSource&) const { return WhyNotByPath(query); }
  MatchOutcome operator()(const RegexSource&) const { return WhyNotByPath(query); }
  template <class AnySource>
  MatchOutcome operator()(const AnySource& source) const {
    if constexpr (requires(const DeviceAncestry& a) { FirstMismatch(source, a, query.sysfs); }) {
      return WhyNotBySysfs(query, source);
    } else {
      return Filtered(query, kNoMatch, "the match did not find it");
    }
  }
};

MatchOutcome Listed(const TargetQuery& query, const MatchReport::Thing& found, std::string detail) {
  MatchOutcome outcome = OutcomeOf(found, *query.inspection.snapshot);
  if (outcome.kind == OutcomeKind::kListed && !detail.empty()) {
    outcome.detail = outcome.detail.empty() ? std::move(detail) : detail + "; " + outcome.detail;
  }
  return outcome;
}

/// Returns a note if the match found the device only through a link.
std::string ByLink(const TargetQuery& query, const MatchReport::Thing& found) {
  for (const std::string& path : found.paths) {
    const auto target = ResolvesToTarget(query, path);
    if (target) return *target == path ? "" : "a link to " + *target;
  }
  return "";
}

/// Returns what the scan did with the object. If the report does not mention it, inspects the host
/// to find the reason. Reports an object as missing only if it does not exist; an object that
/// cannot be read is reported as unreadable. May block.
MatchOutcome OutcomeFor(const TargetQuery& query) {
  const auto& [found, rejected, drops] =
      std::tie(query.report.found, query.report.rejected, query.report.drops);
  const auto& hints = query.inspection.hints;
  const auto is_target = [&](const MatchReport::Thing& thing) { return IsTarget(query, thing); };
  if (const auto it = std::find_if(found.begin(), found.end(), is_target); it != found.end()) {
    return Listed(query, *it, ByLink(query, *it));
  }
  // An unreadable object can be rejected twice: as unreadable, and for what follows from that. The
  // first is the cause.
  auto why = std::find_if(rejected.begin(), rejected.end(), [&](const auto& one) {
    return one.reason == RejectReason::kUnreadable && is_target(one);
  });
  if (why == rejected.end()) why = std::find_if(rejected.begin(), rejected.end(), is_target);
  if (why != rejected.end()) return OutcomeOf(*why, query.report, hints);
  if (const auto it = std::find_if(drops.begin(), drops.end(), is_target); it != drops.end()) {
    return OutcomeOf(*it, hints);
  }
  if (const auto* parent = ParentDeviceOf(query)) {
    return Listed(query, *parent, "which contains it");
  }
  return std::visit(WhyNot{query}, query.match.source);
}

/// Returns the problems that affected the whole match, other than the outcome itself.
std::vector<MatchOutcome> ScanProblems(const MatchOutcome& outcome, const MatchReport& report,
                                       const AccessHints& hints) {
  std::vector<MatchOutcome> problems;
  for (const MatchReport::Rejected& rejected : report.rejected) {
    const bool is_of_all = rejected.reason == RejectReason::kUnreadable ||
                           rejected.reason == RejectReason::kCommandFailed;
    if (!is_of_all || rejected.detail == outcome.detail) continue;
    problems.push_back(OutcomeOf(rejected, report, hints));
  }
  return problems;
}

/// Sets for each resource that lists the object which other resources list it.
void AddShared(std::vector<ExplainReport>& reports, const std::string& argument) {
  const auto lists = [](const ExplainReport& report) {
    return std::any_of(report.matches.begin(), report.matches.end(), [](const auto& match) {
      return match.outcomes.front().kind == OutcomeKind::kListed;
    });
  };
  for (ExplainReport& one : reports) {
    one.shared.clear();
    for (const ExplainReport& other : reports) {
      if (&one == &other || !lists(one) || !lists(other)) continue;
      one.shared.push_back({argument, other.resource});
    }
  }
}

/// Returns whether the match does not apply to the object. A path that matches a `path` or `regex`
/// pattern always applies.
bool IsUnrelatedMatch(const MatchOutcome& outcome, const MatchSpec& match) {
  return outcome.reason == kNoMatch || (outcome.reason == Name(DropReason::kOtherKind) &&
                                        !PatternMatches(match, "/").has_value());
}

}  // namespace

void FilterByTarget(const ExplainTarget& target, const std::vector<Inspection>& inspections,
                    const Sysfs& sysfs, DeviceAncestries& ancestries,
                    std::vector<ExplainReport>& reports) {
  for (std::size_t r = 0; r < inspections.size(); ++r) {
    const Inspection& inspection = inspections[r];
    const auto advertised = FindAdvertised(*inspection.snapshot, target.argument).listed;
    const std::string& id = advertised == nullptr ? target.argument : advertised->device->id;
    reports[r].numa.clear();
    for (std::size_t m = 0; m < reports[r].matches.size(); ++m) {
      ExplainReport::Match& match = reports[r].matches[m];
      const MatchReport& report = inspection.reports[m];
      const MatchSpec& spec = inspection.snapshot->spec->matches[m];
      const TargetQuery query{target, id, spec, report, inspection, sysfs, ancestries};
      match.outcomes = {OutcomeFor(query)};
      MatchOutcome& outcome = match.outcomes.front();
      outcome.numbers.clear();
      match.hint.clear();
      match.left_out = 0;
      match.is_unrelated = IsUnrelatedMatch(outcome, spec);
      const bool is_clear =
          outcome.kind == OutcomeKind::kListed || (match.is_unrelated && !target.error);
      std::erase_if(match.scanned,
                    [&](const auto& place) { return is_clear || place.problem.empty(); });
      if (is_clear) continue;
      auto problems = ScanProblems(outcome, report, inspection.hints);
      std::move(problems.begin(), problems.end(), std::back_inserter(match.outcomes));
    }
  }
  AddShared(reports, target.argument);
}

}  // namespace patchbay
