// A report begins with the answer, one line for each match, and repeats its reason in the details.
//
// This file keeps reports short. Rejected or filtered entries with the same reason form a Group; a
// group of more than kMaxAlike entries shares a line. Groups are sorted so that near misses come
// first. Devices of other vendors share one line, and so do many directories that were scanned with
// the same pattern. Lines beyond the maximum are counted. Each hint is printed once per match, or
// once per report for `--path`.

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

using ScannedPlace = ExplainReport::ScannedPlace;

/// More lines of one kind than these are counted, not printed.
constexpr std::size_t kMaxDevices = 20;
constexpr std::size_t kMaxOthers = 10;
/// More entries with the same outcome and reason than these share a line, which names this many.
constexpr std::size_t kMaxAlike = 3;

std::string PaintLabel(std::string_view label, bool colored) {
  if (label == "listed") return Paint(label, Color::kGreen, colored);
  if (label == "rejected") return Paint(label, Color::kRed, colored);
  return label == "hint" ? Paint(label, Color::kCyan, colored) : std::string(label);
}

/// Writes the lines of one or more matches, and each hint once.
class Lines {
 public:
  Lines(std::string& out, const ReportStyle& style) : out_(out), style_(style) {}

  void Match(std::size_t number, const std::string& text) {
    out_ += Format("  match {}: {}\n", number, Printable(text));
  }
  void Add(std::string_view label, const std::string& text) {
    const std::string gap(std::max<std::size_t>(label.size(), 10) - label.size(), ' ');
    out_ += Format("    {}{} {}\n", PaintLabel(label, style_.colored), gap, Printable(text));
  }
  /// Adds a hint unless it was added before: one mount or permission may fix several problems.
  void Hint(const std::string& text) {
    if (!text.empty() && added_.insert(text).second) Add("hint", text);
  }
  void More(std::size_t count, std::string_view where) {
    if (count > 0) Add("", Format("and {} more{}", count, where));
  }
  const ReportStyle& style() const { return style_; }

 private:
  std::string& out_;
  const ReportStyle& style_;
  std::set<std::string> added_;
};

bool IsReportedAsRejection(const ScannedPlace& place, const std::vector<MatchOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [&](const MatchOutcome& outcome) {
    return outcome.kind == OutcomeKind::kRejected && outcome.detail == place.problem;
  });
}

/// Returns whether a place is the recursive part of another one, which saw the same names.
bool IsWalkOf(const ScannedPlace& walk, const std::vector<ScannedPlace>& scanned) {
  return walk.pattern == "**" &&
         std::any_of(scanned.begin(), scanned.end(), [&](const ScannedPlace& place) {
           return place.place == walk.place && place.pattern != "**";
         });
}

void AddScanned(const ExplainReport::Match& match, Lines& lines) {
  std::map<std::string, std::pair<ScannedPlace, std::vector<std::string>>> sums;  // by pattern
  std::vector<const ScannedPlace*> good;
  std::size_t problems = 0;
  for (const ScannedPlace& place : match.scanned) {
    if (place.problem.empty()) {
      if (IsWalkOf(place, match.scanned)) continue;
      auto& [sum, places] = sums.try_emplace(place.pattern, place, 0).first->second;
      if (!places.empty()) {
        sum.seen += place.seen;
        sum.matched += place.matched;
      }
      places.push_back(place.place);
      good.push_back(&place);
    } else if (!IsReportedAsRejection(place, match.outcomes) && ++problems <= kMaxOthers) {
      lines.Add("scanned", ProblemText(place));
      lines.Hint(place.hint);
    }
  }
  lines.More(problems - std::min(problems, kMaxOthers), " that cannot be read");
  for (const ScannedPlace* place : good) {
    const auto& [sum, places] = sums.at(place->pattern);
    if (places.size() <= kMaxAlike) {
      lines.Add("scanned", ScannedText(*place, {place->place}));
    } else if (place->place == places.front()) {
      lines.Add("scanned", ScannedText(sum, places));
    }
  }
}

std::string Why(const MatchOutcome& outcome) {
  if (outcome.kind == OutcomeKind::kRejected) return outcome.reason + ": " + outcome.detail;
  return outcome.detail;
}

/// The outcomes that share a line: one, or several with the same reason.
struct Group {
  std::vector<std::string> labels;
  const MatchOutcome* first;

  bool is_of_many() const { return labels.size() > kMaxAlike; }
  /// The order of groups: near misses first, large groups last.
  int rank() const {
    return is_of_many() ? 2 : first->reason == Name(DropReason::kOtherKind) ? 1 : 0;
  }
};

std::vector<Group> GroupsOf(const std::vector<MatchOutcome>& outcomes, OutcomeKind kind) {
  std::map<std::string, Group> alike;
  for (const MatchOutcome& outcome : outcomes) {
    if (outcome.kind != kind || !outcome.numbers.empty()) continue;
    alike.try_emplace(Why(outcome), Group{{}, &outcome})
        .first->second.labels.push_back(LabelOf(outcome));
  }
  std::vector<Group> groups;
  for (const MatchOutcome& outcome : outcomes) {
    if (outcome.kind != kind || !outcome.numbers.empty()) continue;
    const Group& all = alike.at(Why(outcome));
    if (kind == OutcomeKind::kListed || !all.is_of_many()) {
      groups.push_back({{LabelOf(outcome)}, &outcome});
    } else if (all.first == &outcome) {
      groups.push_back(all);
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.rank() < b.rank(); });
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
    const std::string what = Some(group.labels, kMaxAlike), why = Why(*group.first);
    lines.Add(Name(kind), why.empty() ? what : what + (is_listed ? ", " : ": ") + why);
    lines.Hint(group.first->hint);
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

void AddMatch(const ExplainReport::Match& match, std::size_t number, Lines& lines) {
  lines.Match(number, match.text);
  AddScanned(match, lines);
  std::set<OutcomeKind> added;
  for (const MatchOutcome& outcome : match.outcomes) {
    if (added.insert(outcome.kind).second) AddOutcomes(match, outcome.kind, lines);
  }
  AddOtherVendors(match, lines);
  lines.More(match.left_out, "");
  lines.Hint(match.hint);
}

bool IsUnrelated(const ExplainReport& report) {
  return std::all_of(report.matches.begin(), report.matches.end(),
                     [](const ExplainReport::Match& match) {
                       return match.is_unrelated && match.outcomes.size() == 1;
                     });
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
  return match.hint.empty() ? of_kind(OutcomeKind::kFiltered) : match.hint;
}

/// Returns the answer for one match: "1 listed, 2 filtered".
std::string SummaryOf(const ExplainReport::Match& match) {
  std::string text;
  std::size_t listed = 0;
  for (const OutcomeKind kind :
       {OutcomeKind::kListed, OutcomeKind::kRejected, OutcomeKind::kFiltered}) {
    const auto count = static_cast<std::size_t>(std::ranges::count(
        match.outcomes, kind, [](const MatchOutcome& outcome) { return outcome.kind; }));
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

/// Returns the answer for one object: which matches list or reject it.
std::string TargetAnswerText(const std::vector<ExplainReport>& reports, const ReportStyle& style) {
  std::string out;
  bool is_listed = false;
  for (const ExplainReport& report : reports) {
    for (std::size_t i = 0; i < report.matches.size(); ++i) {
      const MatchOutcome& outcome = report.matches[i].outcomes.front();
      if (outcome.kind == OutcomeKind::kFiltered) continue;
      const bool is_good = outcome.kind == OutcomeKind::kListed;
      is_listed = is_listed || is_good;
      out += Format("  {} by match {} of {}\n", PaintLabel(Name(outcome.kind), style.colored),
                    i + 1, report.resource);
    }
  }
  return is_listed ? out : out + "  no resource lists it\n";
}

/// Adds the devices of a resource as its ResourceSlices have them.
void AddSlices(const SlicePreview& preview, Lines& lines) {
  if (!preview.not_served.empty()) return lines.Add("not served", preview.not_served);
  std::size_t shown = 0;
  for (const auto& [id, entry] : preview.devices) {
    if (++shown > kMaxDevices) continue;
    std::string text = entry.name;
    const auto attributes = AttributesJson(entry.attributes);
    for (const auto& [name, value] : attributes.items()) {
      text += Format("{} {} = {}", text == entry.name ? ":" : ",", name, JsonText(value));
    }
    if (entry.slots) text += Format("; {} slots", entry.slots->slots);
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
}

}  // namespace

std::string ReportText(const std::vector<ExplainReport>& reports, const ReportStyle& style) {
  std::string out = AnswerText(reports, style);
  for (const ExplainReport& report : reports) {
    out += Format("\n{}\n", Paint(report.resource, Color::kBold, style.colored));
    for (std::size_t i = 0; i < report.matches.size(); ++i) {
      Lines lines(out, style);  // each match has its own hints
      AddMatch(report.matches[i], i + 1, lines);
    }
    out += Format("  NUMA nodes: {}\n", Printable(report.numa));
    if (report.slices) {
      out += Format("  ResourceSlices: {} in pool {}, DeviceClass {}\n", report.slices->slices,
                    report.slices->pool, report.slices->device_class);
      Lines lines(out, style);
      AddSlices(*report.slices, lines);
      if (report.has_probe) {
        lines.Hint(
            Format("taints of health probes are missing, because probes do not run here; "
                   "`{} --probe --output json {}` has them",
                   style.devices, report.resource));
      }
      if (report.evicts) {
        lines.Hint(
            "unhealthy devices evict their pods; a claim that tolerates it needs `effect: "
            "NoExecute` "
            "in its toleration");
      }
    }
    for (const auto& [path, detail] : report.missing_mounts) {
      out += Format("  mount: {} is missing: {}\n", Printable(path), Printable(detail));
    }
    for (const auto& [path, other] : report.shared) {
      out += Format("  shared: {} also belongs to {}; it may be allocated twice\n", Printable(path),
                    other);
    }
  }
  return out;
}

std::string TargetReportText(const ExplainTarget& target, const std::vector<ExplainReport>& reports,
                             const ReportStyle& style) {
  std::string out = Paint(Printable(target.argument), Color::kBold, style.colored);
  if (!target.description.empty()) out += ": " + Printable(target.description);
  out += "\n" + TargetAnswerText(reports, style);
  Lines lines(out, style);
  // Other errors are printed with their hint below the matches that they affect.
  if (target.error && target.error->kind == ErrorKind::kNotFound) lines.Hint(target.hint);
  std::vector<std::string> unrelated;
  std::set<std::string> others;
  for (const ExplainReport& report : reports) {
    if (IsUnrelated(report)) unrelated.push_back(report.resource);
    for (const auto& [path, other] : report.shared) {
      others.insert({report.resource, other});
    }
  }
  if (unrelated.size() <= kMaxAlike) unrelated.clear();
  for (const ExplainReport& report : reports) {
    if (!unrelated.empty() && IsUnrelated(report)) continue;
    out += Format("\n{}\n", Paint(report.resource, Color::kBold, style.colored));
    for (std::size_t i = 0; i < report.matches.size(); ++i) {
      AddMatch(report.matches[i], i + 1, lines);
    }
  }
  if (!others.empty()) {
    out += Format("\nshared: it belongs to {}; it may be allocated {} times\n",
                  fmt::join(others, ", "), others.size());
  }
  if (!unrelated.empty())
    out += Format("\nnot relevant here (run `{} RESOURCE --path …` for details): {}\n",
                  Printable(style.explain), Some(unrelated, kMaxDevices));
  return out;
}

}  // namespace patchbay
