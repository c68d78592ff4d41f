// A summary is for an administrator who looks at the page and wonders why a resource is empty. It
// has what `explain` prints first: places that cannot be read, then the number of names that each
// pattern was compared with, then what was filtered or rejected, one line per reason. Everything
// beyond the limits is counted in the last line.

#include "discovery/match_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// More lines of one kind than these are counted.
constexpr std::size_t kMaxPlaces = 3;
constexpr std::size_t kMaxReasons = 2;
/// A line names this many items.
constexpr std::size_t kMaxNames = 3;
constexpr std::size_t kMaxNumbers = 6;

using ScannedPlace = MatchReport::ScannedPlace;

std::string NameOf(const MatchReport::Item& item) {
  return item.paths.empty() ? item.id : item.paths.front();
}

/// Describes the scan of one or more places with one pattern; `sum` has the first place and the
/// sums of their numbers.
std::string ScannedText(const ScannedPlace& sum, std::size_t places) {
  std::string text = sum.place;
  if (places > 1) {
    text += " and " + Counted(places - 1, "more directory", "more directories");
  }
  if (sum.at == ScannedPlace::At::kDevices)
    return text + ": " + Counted(sum.seen, "device", "devices");
  if (sum.at == ScannedPlace::At::kEntries) {
    text += ": printed " + Counted(sum.seen, "entry", "entries");
    return sum.matched == sum.seen ? text : Format("{}, {} of them valid", text, sum.matched);
  }
  text += ": " + Counted(sum.seen, "name", "names");
  if (sum.pattern == "**" || sum.seen == 0) return text;
  if (sum.seen == 1) {
    text += sum.matched == 1 ? ", which matches" : ", which does not match";
  } else {
    text += Format(", {} of them {}", sum.matched == 0 ? "none" : std::to_string(sum.matched),
                   sum.matched > 1 ? "match" : "matches");
  }
  return sum.pattern.empty() ? text : text + " " + sum.pattern;
}

/// Collects the lines of one match within the limits.
class Lines {
 public:
  explicit Lines(std::vector<std::string>& lines) : lines_(lines) {}

  void Add(const std::string& text) {
    if (lines_.size() + 1 < kMaxSummaryLines) {
      lines_.push_back(Truncate(text, kMaxSummaryLine));
    } else {
      ++left_out_;
    }
  }
  void LeaveOut(std::size_t lines) { left_out_ += lines; }
  void Finish() {
    if (left_out_ > 0) lines_.push_back(Format("and {} more", left_out_));
  }

 private:
  std::vector<std::string>& lines_;
  std::size_t left_out_ = 0;
};

void AddScanned(const MatchReport& report, Lines& lines) {
  std::size_t problems = 0;
  for (const ScannedPlace& place : report.scanned) {
    if (place.is_exclude || place.problem.empty()) continue;
    if (++problems <= kMaxPlaces) lines.Add("scanned: " + ProblemText(place));
  }
  const std::vector<std::string> texts = ScannedTexts(report.scanned);
  const std::size_t shown = std::min(texts.size(), kMaxPlaces);
  for (std::size_t i = 0; i < shown; ++i) lines.Add("scanned: " + texts[i]);
  lines.LeaveOut(problems - std::min(problems, kMaxPlaces) + texts.size() - shown);
}

/// Adds one line for each reason, the most frequent ones first.
void AddByReason(std::string_view outcome,
                 const std::map<std::string, std::vector<std::string>>& names, Lines& lines) {
  std::vector<const std::pair<const std::string, std::vector<std::string>>*> reasons;
  reasons.reserve(names.size());
  for (const auto& entry : names) reasons.push_back(&entry);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto* a, const auto* b) {
    return a->second.size() > b->second.size();
  });
  const std::size_t shown = std::min(reasons.size(), kMaxReasons);
  for (std::size_t i = 0; i < shown; ++i) {
    lines.Add(
        Format("{}: {}: {}", outcome, Some(reasons[i]->second, kMaxNames), reasons[i]->first));
  }
  lines.LeaveOut(reasons.size() - shown);
}

MatchSummary SummaryOf(const MatchSpec& match, const MatchReport& report) {
  MatchSummary summary{Truncate(match.display.text, kMaxSummaryLine), {}};
  Lines lines(summary.lines);
  AddScanned(report, lines);
  std::map<std::string, std::vector<std::string>> filtered, rejected;
  std::set<std::string> numbers;
  std::size_t others = 0;
  for (const MatchReport::Drop& drop : report.drops) {
    if (drop.numbers.empty()) {
      filtered[drop.detail].push_back(NameOf(drop));
    } else {
      ++others;
      numbers.insert(drop.numbers);
    }
  }
  for (const MatchReport::Rejected& one : report.rejected) {
    rejected[Format("{}: {}", Name(one.reason), one.detail)].push_back(NameOf(one));
  }
  AddByReason("rejected", rejected, lines);
  if (!report.found.empty()) {
    lines.Add("rejected: " + Counted(report.found.size(), "device that cannot be allocated",
                                     "devices that cannot be allocated"));
  }
  AddByReason("filtered", filtered, lines);
  if (others > 0) {
    lines.Add("filtered: " + OtherVendorsText(others, {numbers.begin(), numbers.end()}));
  }
  if (summary.lines.empty()) lines.Add("nothing on the host can match");
  lines.LeaveOut(report.left_out);
  lines.Finish();
  return summary;
}

}  // namespace

std::string Counted(std::size_t n, std::string_view noun, std::string_view plural) {
  return Format("{} {}", n, n == 1 ? noun : plural);
}

std::string Some(const std::vector<std::string>& names, std::size_t max_names) {
  const std::size_t shown = std::min(names.size(), max_names);
  const auto text = Format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return names.size() > shown ? Format("{} and {} more", text, names.size() - shown) : text;
}

std::string ProblemText(const ScannedPlace& scanned) {
  // Most error messages contain the place; avoid repeating it.
  std::string_view place = scanned.place;
  if (place.size() > 1 && place.ends_with('/')) place.remove_suffix(1);
  const auto at = scanned.problem.find(place);
  const auto end = at == std::string::npos ? at : at + place.size();
  if (end < scanned.problem.size() && scanned.problem[end] == ':')
    return scanned.problem.substr(at);
  if (at == 0 && scanned.problem[end] == ' ') {
    return Format("{}: {}", place, scanned.problem.substr(end + 1));
  }
  return Format("{}: {}", place, scanned.problem);
}

std::vector<std::string> ScannedTexts(const std::vector<ScannedPlace>& scanned) {
  std::vector<std::pair<ScannedPlace, std::size_t>> sums;  // with their number of places
  for (const ScannedPlace& place : scanned) {
    if (!place.problem.empty()) continue;
    const auto sum = std::ranges::find_if(
        sums, [&](const auto& other) { return other.first.pattern == place.pattern; });
    if (sum == sums.end()) {
      sums.emplace_back(place, 1);
      continue;
    }
    sum->first.seen += place.seen;
    sum->first.matched += place.matched;
    ++sum->second;
  }
  // The recursive part of a pattern sees the same names as the part after it.
  if (sums.size() > 1)
    std::erase_if(sums, [](const auto& sum) { return sum.first.pattern == "**"; });
  std::vector<std::string> texts;
  texts.reserve(sums.size());
  for (const auto& [sum, places] : sums) texts.push_back(ScannedText(sum, places));
  return texts;
}

std::string OtherVendorsText(std::size_t devices, const std::vector<std::string>& numbers) {
  return Format("{}: {}", Counted(devices, "device of another vendor", "devices of other vendors"),
                Some(numbers, kMaxNumbers));
}

MatchSummaries Summarize(const ResourceSpec& spec, const std::vector<MatchReport>& reports) {
  MatchSummaries summaries;
  const std::size_t shown = std::min({spec.matches.size(), reports.size(), kMaxSummaries});
  for (std::size_t i = 0; i < shown; ++i) {
    summaries.push_back(SummaryOf(spec.matches[i], reports[i]));
  }
  return summaries;
}

}  // namespace patchbay
