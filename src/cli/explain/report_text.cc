// A report begins with the answer, one line for each match, and repeats its reason in the details.
//
// This file keeps reports short. Rejected or filtered entries with the same reason share a line.
// Near misses come first. Devices of other vendors share one line, and so do directories that were
// scanned with the same pattern. Lines beyond the maximum are counted.

#include "cli/explain/report_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/color.h"
#include "base/escape.h"
#include "base/format.h"
#include "discovery/match_summary.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using ScannedPlace = MatchReport::ScannedPlace;

/// More lines of one kind than these are counted, not printed.
constexpr std::size_t kMaxDevices = 20;
constexpr std::size_t kMaxOthers = 10;
/// A line names this many entries with the same reason.
constexpr std::size_t kMaxNamed = 3;

std::string PaintLabel(std::string_view label, bool colored) {
  if (label == "listed") return Paint(label, Color::kGreen, colored);
  if (label == "rejected") return Paint(label, Color::kRed, colored);
  if (label == "warning") return Paint(label, Color::kYellow, colored);
  return label == "hint" ? Paint(label, Color::kCyan, colored) : std::string(label);
}

/// Writes the indented lines of the details.
class Lines {
 public:
  Lines(std::string& out, const ReportStyle& style) : out_(out), style_(style) {}

  void Add(std::string_view label, const std::string& text) {
    const std::string gap(std::max<std::size_t>(label.size(), 10) - label.size(), ' ');
    out_ += Format("    {}{} {}\n", PaintLabel(label, style_.colored), gap, Printable(text));
  }
  /// Adds a line about the resource.
  void AddFact(const std::string& text) { out_ += Format("  {}\n", Printable(text)); }
  void More(std::size_t count, std::string_view where) {
    if (count > 0) Add("", Format("and {} more{}", count, where));
  }
  const ReportStyle& style() const { return style_; }

 private:
  std::string& out_;
  const ReportStyle& style_;
};

bool IsReportedAsRejection(const ScannedPlace& place, const std::vector<MatchOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [&](const MatchOutcome& outcome) {
    return outcome.kind == OutcomeKind::kRejected && outcome.detail == place.problem;
  });
}

void AddScanned(const ExplainReport::Match& match, Lines& lines) {
  std::size_t problems = 0, excludes = 0;
  for (const ScannedPlace& place : match.scanned) {
    if (place.problem.empty() || IsReportedAsRejection(place, match.outcomes)) continue;
    if (++(place.is_exclude ? excludes : problems) > kMaxOthers) continue;
    lines.Add(place.is_exclude ? "warning" : "scanned", ProblemText(place));
  }
  lines.More(problems - std::min(problems, kMaxOthers), " that cannot be read");
  lines.More(excludes - std::min(excludes, kMaxOthers), " that exclude nothing");
  for (const std::string& text : ScannedTexts(match.scanned)) lines.Add("scanned", text);
}

std::string Why(const MatchOutcome& outcome) {
  if (outcome.kind == OutcomeKind::kRejected) return outcome.reason + ": " + outcome.detail;
  return outcome.detail;
}

/// Returns the reason without the path of the node if the label ends with it.
std::string WhyAfter(const std::string& label, const MatchOutcome& outcome) {
  std::string why = Why(outcome);
  if (outcome.paths.size() != 1 || !label.ends_with(outcome.paths.front())) return why;
  const std::string prefix = outcome.paths.front() + ": ";
  return why.starts_with(prefix) ? why.substr(prefix.size()) : why;
}

/// The outcomes that share a line: those of one reason, or a single listed device.
struct Group {
  std::vector<std::string> labels;
  const MatchOutcome* first;

  /// The order of groups: near misses first, large groups last.
  int rank() const {
    if (labels.size() > kMaxNamed) return 2;
    return first->reason == Name(DropReason::kOtherKind) ? 1 : 0;
  }
};

std::vector<Group> GroupsOf(const std::vector<MatchOutcome>& outcomes, OutcomeKind kind) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> indexes;
  for (const MatchOutcome& outcome : outcomes) {
    if (outcome.kind != kind || !outcome.numbers.empty()) continue;
    const std::string label = LabelOf(outcome);
    const auto [index, is_new] =
        indexes.try_emplace(kind == OutcomeKind::kListed ? label : Why(outcome), groups.size());
    if (is_new) groups.push_back({{}, &outcome});
    groups[index->second].labels.push_back(label);
  }
  std::ranges::stable_sort(groups, {}, &Group::rank);
  return groups;
}

void AddOutcomes(const ExplainReport::Match& match, OutcomeKind kind, Lines& lines) {
  const bool is_listed = kind == OutcomeKind::kListed;
  const std::size_t max_shown = is_listed ? kMaxDevices : kMaxOthers;
  std::size_t shown = 0, hidden = 0;
  for (const Group& group : GroupsOf(match.outcomes, kind)) {
    if (++shown > max_shown) {
      hidden += group.labels.size();
      continue;
    }
    const std::string what = Some(group.labels, kMaxNamed), why = WhyAfter(what, *group.first);
    lines.Add(Name(kind), why.empty() ? what : what + (is_listed ? ", " : ": ") + why);
  }
  lines.More(hidden, is_listed ? Format("; `{}` lists them all", lines.style().devices)
                               : "; --output json prints them all");
}

/// Adds a line with the devices of other vendors than the match selects, and their IDs.
void AddOtherVendors(const ExplainReport::Match& match, Lines& lines) {
  std::set<std::string> numbers;
  std::size_t count = 0;
  for (const MatchOutcome& outcome : match.outcomes) {
    if (outcome.numbers.empty()) continue;
    ++count;
    numbers.insert(outcome.numbers);
  }
  if (count == 0) return;
  lines.Add(Name(OutcomeKind::kFiltered),
            OtherVendorsText(count, {numbers.begin(), numbers.end()}));
}

void AddMatch(const ExplainReport::Match& match, Lines& lines) {
  AddScanned(match, lines);
  for (const OutcomeKind kind :
       {OutcomeKind::kListed, OutcomeKind::kRejected, OutcomeKind::kFiltered}) {
    AddOutcomes(match, kind, lines);
  }
  AddOtherVendors(match, lines);
  lines.More(match.left_out, "");
  if (!match.hint.empty()) lines.Add("hint", match.hint);
  for (std::string_view rest = match.nearest; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    lines.Add(rest.size() == match.nearest.size() ? "nearest" : "", std::string(line));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
}

/// Returns the main reason why a match lists nothing, or "" if there is no short one.
std::string ReasonOf(const ExplainReport::Match& match) {
  const auto of_kind = [&](OutcomeKind kind) {
    const auto found = std::ranges::find_if(match.outcomes, [&](const MatchOutcome& outcome) {
      return outcome.kind == kind && outcome.reason != Name(DropReason::kOtherKind);
    });
    return found == match.outcomes.end() ? "" : LabelOf(*found) + ": " + Why(*found);
  };
  if (std::string why = of_kind(OutcomeKind::kRejected); !why.empty()) return why;
  for (const ScannedPlace& place : match.scanned) {
    if (!place.problem.empty() && !place.is_exclude) return ProblemText(place);
  }
  const std::string why = of_kind(OutcomeKind::kFiltered);
  return why.empty() ? match.hint : why;
}

/// Returns the answer for one match: "1 listed, 2 filtered".
std::string SummaryOf(const ExplainReport::Match& match) {
  std::string text;
  std::size_t listed = 0;
  for (const OutcomeKind kind :
       {OutcomeKind::kListed, OutcomeKind::kRejected, OutcomeKind::kFiltered}) {
    const auto count =
        static_cast<std::size_t>(std::ranges::count(match.outcomes, kind, &MatchOutcome::kind));
    if (kind == OutcomeKind::kListed) listed = count;
    if (count == 0 && kind != OutcomeKind::kListed) continue;
    text += Format("{}{} {}", text.empty() ? "" : ", ", count, Name(kind));
  }
  const std::string reason = listed == 0 ? ReasonOf(match) : "";
  return reason.empty() ? text : text + "; " + reason;
}

/// Returns the answer: the number of devices of each resource, and a line for each match.
std::string AnswerText(const std::vector<ExplainReport>& reports, const ReportStyle& style) {
  std::string out;
  for (const ExplainReport& report : reports) {
    const Color color = report.listed > 0 ? Color::kGreen : Color::kYellow;
    const std::string count = Counted(report.listed, "device", "devices") + " listed";
    out += Format("{}: {}\n", Paint(report.resource, Color::kBold, style.colored),
                  Paint(count, color, style.colored));
    for (std::size_t i = 0; i < report.matches.size(); ++i) {
      out += Format("  match {}: {}\n", i + 1, Printable(SummaryOf(report.matches[i])));
    }
  }
  return out;
}

/// Adds the devices of a resource as its ResourceSlices have them.
void AddSlices(const ExplainReport& report, Lines& lines) {
  const SlicePreview& preview = *report.slices;
  lines.AddFact(Format("ResourceSlices: {} in pool {}, DeviceClass {}", preview.slices,
                       preview.pool, preview.device_class));
  if (!preview.not_served.empty()) lines.Add("not served", preview.not_served);
  std::size_t shown = 0;
  for (const auto& [id, entry] : preview.devices) {
    if (++shown > kMaxDevices) continue;
    std::string text = entry.name;
    const auto attributes = AttributesJson(entry.attributes);
    for (const auto& [name, value] : attributes.items()) {
      text += Format("{} {} = {}", text == entry.name ? ":" : ",", name, JsonText(value));
    }
    for (const auto& [name, capacity] : entry.capacity) {
      text += Format("; {} {}", QuantityText(capacity.value), name);
    }
    for (const DeviceTaint& taint : entry.taints) text += "; taint " + TaintText(taint);
    lines.Add("device", text);
  }
  lines.More(preview.devices.size() - std::min(preview.devices.size(), kMaxDevices),
             "; --output json prints them all");
  shown = 0;
  for (const std::string& problem : preview.problems) {
    if (++shown <= kMaxOthers) lines.Add("problem", problem);
  }
  lines.More(preview.problems.size() - std::min(preview.problems.size(), kMaxOthers), " problems");
  if (report.has_probe) {
    lines.Add("hint", Format("taints of health probes are missing, because probes do not run here; "
                             "`{} --probe --output json {}` has them",
                             lines.style().devices, report.resource));
  }
  if (report.evicts) {
    lines.Add("hint",
              "unhealthy devices evict their pods; a claim that tolerates it needs `effect: "
              "NoExecute` in its toleration");
  }
}

/// Adds the details of a resource: what each match found, and what concerns all of them.
void AddResource(const ExplainReport& report, Lines& lines) {
  for (std::size_t i = 0; i < report.matches.size(); ++i) {
    lines.AddFact(Format("match {}: {}", i + 1, report.matches[i].text));
    AddMatch(report.matches[i], lines);
  }
  if (!report.numa.empty()) lines.AddFact("NUMA nodes: " + report.numa);
  if (report.slices) AddSlices(report, lines);
  for (const auto& [path, detail] : report.missing_mounts) {
    lines.AddFact(Format("mount: {} is missing: {}", path, detail));
  }
  for (const auto& [path, other] : report.shared) {
    lines.AddFact(Format("shared: {} also belongs to {}; it may be allocated twice", path, other));
  }
}

bool IsUnrelated(const ExplainReport& report) {
  return std::ranges::all_of(report.matches, &ExplainReport::Match::is_unrelated);
}

}  // namespace

std::string ReportText(const std::vector<ExplainReport>& reports, const ExplainTarget* target,
                       const ReportStyle& style) {
  std::string out;
  if (target == nullptr) {
    out = AnswerText(reports, style);
  } else {
    const std::string& what = target->description;
    out = Paint(Printable(target->argument), Color::kBold, style.colored) +
          (what.empty() ? "" : ": " + Printable(what)) + "\n";
  }
  std::vector<std::string> unrelated;
  for (const ExplainReport& report : reports) {
    if (IsUnrelated(report)) unrelated.push_back(report.resource);
  }
  if (unrelated.size() <= kMaxNamed) unrelated.clear();
  Lines lines(out, style);
  for (const ExplainReport& report : reports) {
    if (!unrelated.empty() && IsUnrelated(report)) continue;
    out += Format("\n{}\n", Paint(report.resource, Color::kBold, style.colored));
    AddResource(report, lines);
  }
  if (!unrelated.empty()) {
    out += Format("\nno match of these resources is for it: {}\n", Some(unrelated, kMaxDevices));
  }
  return out;
}

}  // namespace patchbay
