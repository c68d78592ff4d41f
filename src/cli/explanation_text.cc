// This file keeps reports short. Rejected or filtered entries with the same reason form a Group; a
// group of more than kMaxAlike entries shares a line. Groups are sorted so that near misses come
// first. Devices of other vendors share one line, and so do many directories that were scanned with
// the same pattern. Lines beyond the maximum are counted. Each hint is printed once per match, or
// once per answer to `--path`.

#include "cli/explanation_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/escape.h"
#include "base/format.h"
#include "cli/look_text.h"

namespace patchbay {
namespace {

using Look = Explanation::Look;

/// More lines of one kind than these are counted, not printed.
constexpr std::size_t kMaxDevices = 20;
constexpr std::size_t kMaxOthers = 10;
/// More entries with the same outcome and reason than these share a line, which names this many.
constexpr std::size_t kMaxAlike = 3;
constexpr std::size_t kMaxNumbers = 6;

/// Returns "a, b, c and 4 more".
std::string Some(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = std::min(names.size(), most);
  const auto text = format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return names.size() > shown ? format("{} and {} more", text, names.size() - shown) : text;
}

/// Writes the lines of one or more matches, and each hint once.
class Lines {
 public:
  explicit Lines(std::string& out) : out_(out) {}

  void Match(std::size_t number, const std::string& text) {
    out_ += format("  match {}: {}\n", number, Printable(text));
  }
  void Add(std::string_view label, const std::string& text) {
    out_ += format("    {:<10} {}\n", label, Printable(text));
  }
  /// Adds a hint unless it was added before: one mount or permission may fix several problems.
  void Hint(const std::string& text) {
    if (!text.empty() && said_.insert(text).second) Add("hint", text);
  }
  void More(std::size_t count, std::string_view where) {
    if (count > 0) Add("", format("and {} more{}", count, where));
  }

 private:
  std::string& out_;
  std::set<std::string> said_;
};

bool IsToldByRejection(const Look& look, const std::vector<Fate>& fates) {
  return std::any_of(fates.begin(), fates.end(), [&](const Fate& fate) {
    return fate.outcome == Outcome::kRejected && fate.detail == look.problem;
  });
}

/// Returns whether a look is the recursive part of another one, which saw the same names.
bool IsWalkOf(const Look& walk, const std::vector<Look>& looks) {
  return walk.pattern == "**" && std::any_of(looks.begin(), looks.end(), [&](const Look& look) {
           return look.place == walk.place && look.pattern != "**";
         });
}

void AddLooks(const Explanation::Match& match, Lines& lines) {
  std::map<std::string, std::pair<Look, std::vector<std::string>>> sums;  // by pattern
  std::vector<const Look*> good;
  std::size_t problems = 0;
  for (const Look& look : match.looks) {
    if (look.problem.empty()) {
      if (IsWalkOf(look, match.looks)) continue;
      auto& [sum, places] = sums.try_emplace(look.pattern, look, 0).first->second;
      if (!places.empty()) {
        sum.seen += look.seen;
        sum.matched += look.matched;
      }
      places.push_back(look.place);
      good.push_back(&look);
    } else if (!IsToldByRejection(look, match.fates) && ++problems <= kMaxOthers) {
      lines.Add("scanned", ProblemText(look));
      lines.Hint(look.hint);
    }
  }
  lines.More(problems - std::min(problems, kMaxOthers), " that cannot be read");
  for (const Look* look : good) {
    const auto& [sum, places] = sums.at(look->pattern);
    if (places.size() <= kMaxAlike) {
      lines.Add("scanned", LookText(*look, {look->place}));
    } else if (look->place == places.front()) {
      lines.Add("scanned", LookText(sum, places));
    }
  }
}

std::string Why(const Fate& fate) {
  if (fate.outcome == Outcome::kRejected) return fate.reason + ": " + fate.detail;
  return fate.detail;
}

/// The fates that share a line: one, or several with the same reason.
struct Group {
  std::vector<std::string> labels;
  const Fate* first;

  bool is_of_many() const { return labels.size() > kMaxAlike; }
  /// The order of groups: near misses first, large groups last.
  int rank() const {
    return is_of_many() ? 2 : first->reason == Name(DropReason::kOtherKind) ? 1 : 0;
  }
};

std::vector<Group> GroupsOf(const std::vector<Fate>& fates, Outcome outcome) {
  std::map<std::string, Group> alike;
  for (const Fate& fate : fates) {
    if (fate.outcome != outcome || !fate.numbers.empty()) continue;
    alike.try_emplace(Why(fate), Group{{}, &fate}).first->second.labels.push_back(LabelOf(fate));
  }
  std::vector<Group> groups;
  for (const Fate& fate : fates) {
    if (fate.outcome != outcome || !fate.numbers.empty()) continue;
    const Group& all = alike.at(Why(fate));
    if (outcome == Outcome::kListed || !all.is_of_many()) {
      groups.push_back({{LabelOf(fate)}, &fate});
    } else if (all.first == &fate) {
      groups.push_back(all);
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.rank() < b.rank(); });
  return groups;
}

void AddFates(const Explanation::Match& match, Outcome outcome, Lines& lines) {
  const bool is_listed = outcome == Outcome::kListed;
  const std::size_t most = is_listed ? kMaxDevices : kMaxOthers;
  std::size_t shown = 0, hidden = 0;
  for (const Group& group : GroupsOf(match.fates, outcome)) {
    if (++shown > most) {
      hidden += group.labels.size();
      continue;
    }
    const std::string what = Some(group.labels, kMaxAlike), why = Why(*group.first);
    lines.Add(Name(outcome), why.empty() ? what : what + (is_listed ? ", " : ": ") + why);
    lines.Hint(group.first->hint);
  }
  lines.More(hidden,
             is_listed ? "; `patchbay devices` lists them all" : "; --output json prints them all");
}

/// Adds a line with the devices of other vendors than the match selects, and their IDs.
void AddOtherVendors(const Explanation::Match& match, Lines& lines) {
  std::set<std::string> numbers;
  std::size_t count = 0;
  for (const Fate& fate : match.fates) {
    if (fate.numbers.empty()) continue;
    ++count;
    numbers.insert(fate.numbers);
  }
  if (count == 0) return;
  lines.Add(Name(Outcome::kNotTaken),
            format("{}: {}", Counted(count, "device of another vendor", "devices of other vendors"),
                   Some({numbers.begin(), numbers.end()}, kMaxNumbers)));
}

void AddMatch(const Explanation::Match& match, std::size_t number, Lines& lines) {
  lines.Match(number, match.text);
  AddLooks(match, lines);
  std::set<Outcome> told;
  for (const Fate& fate : match.fates) {
    if (told.insert(fate.outcome).second) AddFates(match, fate.outcome, lines);
  }
  AddOtherVendors(match, lines);
  lines.More(match.left_out, "");
  lines.Hint(match.hint);
}

bool IsBesideAll(const Explanation& explanation) {
  return std::all_of(
      explanation.matches.begin(), explanation.matches.end(),
      [](const Explanation::Match& match) { return match.is_beside && match.fates.size() == 1; });
}

}  // namespace

std::string ExplanationText(const std::vector<Explanation>& explanations) {
  std::string out;
  for (const Explanation& explanation : explanations) {
    if (!out.empty()) out += "\n";
    out += format("{}: {} listed\n", explanation.resource,
                  Counted(explanation.listed, "device", "devices"));
    for (std::size_t i = 0; i < explanation.matches.size(); ++i) {
      Lines lines(out);  // each match has its own hints
      AddMatch(explanation.matches[i], i + 1, lines);
    }
    out += format("  NUMA nodes: {}\n", Printable(explanation.numa));
    for (const auto& [path, detail] : explanation.missing_mounts) {
      out += format("  mount: {} is missing: {}\n", Printable(path), Printable(detail));
    }
    for (const auto& [path, other] : explanation.shared) {
      out += format("  shared: {} also belongs to {}; the kubelet may allocate it twice\n",
                    Printable(path), other);
    }
  }
  return out;
}

std::string AnswerText(const Inquiry& inquiry, const std::vector<Explanation>& explanations) {
  std::string out = Printable(inquiry.asked);
  if (!inquiry.description.empty()) out += ": " + Printable(inquiry.description);
  out += "\n";
  Lines lines(out);
  // Other errors are printed with their hint below the matches that they affect.
  if (inquiry.error && inquiry.error->kind == ErrorKind::kNotFound) lines.Hint(inquiry.hint);
  std::vector<std::string> beside;
  std::set<std::string> owners;
  for (const Explanation& explanation : explanations) {
    if (IsBesideAll(explanation)) beside.push_back(explanation.resource);
    for (const auto& [path, other] : explanation.shared) {
      owners.insert({explanation.resource, other});
    }
  }
  if (beside.size() <= kMaxAlike) beside.clear();
  for (const Explanation& explanation : explanations) {
    if (!beside.empty() && IsBesideAll(explanation)) continue;
    out += format("\n{}\n", explanation.resource);
    for (std::size_t i = 0; i < explanation.matches.size(); ++i) {
      AddMatch(explanation.matches[i], i + 1, lines);
    }
  }
  if (!owners.empty()) {
    out += format("\nshared: it belongs to {}; the kubelet may allocate it {} times\n",
                  fmt::join(owners, ", "), owners.size());
  }
  if (!beside.empty())
    out += format("\nnot relevant here (run `explain RESOURCE --path …` for details): {}\n",
                  Some(beside, kMaxDevices));
  return out;
}

}  // namespace patchbay
