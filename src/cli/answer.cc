#include "cli/answer.h"

#include <algorithm>

#include "cli/match_text.h"
#include "cli/question.h"

namespace patchbay {
namespace {

/// Returns the problems that affected the whole match, other than the answer itself.
std::vector<Fate> Obstacles(const Fate& answer, const MatchReport& report,
                            const AccessHints& hints) {
  std::vector<Fate> obstacles;
  for (const MatchReport::Rejected& rejected : report.rejected) {
    const bool is_of_all = rejected.reason == RejectReason::kUnreadable ||
                           rejected.reason == RejectReason::kCommandFailed;
    if (!is_of_all || rejected.detail == answer.detail) continue;
    obstacles.push_back(FateOf(rejected, report, hints));
  }
  return obstacles;
}

/// Sets for each resource that lists the object which other resources list it.
void AddShared(std::vector<Explanation>& explanations, const std::string& asked) {
  const auto lists = [](const Explanation& explanation) {
    return std::any_of(
        explanation.matches.begin(), explanation.matches.end(),
        [](const auto& match) { return match.fates.front().outcome == Outcome::kListed; });
  };
  for (Explanation& one : explanations) {
    one.shared.clear();
    for (const Explanation& other : explanations) {
      if (&one == &other || !lists(one) || !lists(other)) continue;
      one.shared.push_back({asked, other.resource});
    }
  }
}

/// Returns whether the match does not apply to the object. A path that matches a `path` or `regex`
/// pattern always applies.
bool IsBeside(const Fate& answer, const MatchSpec& match) {
  return answer.reason == kNoMatch ||
         (answer.reason == Name(DropReason::kOtherKind) && !PatternMatches(match, "/").has_value());
}

}  // namespace

void NarrowTo(const Inquiry& inquiry, const std::vector<Inspection>& inspections,
              const Sysfs& sysfs, DeviceAncestries& ancestries,
              std::vector<Explanation>& explanations) {
  for (std::size_t r = 0; r < inspections.size(); ++r) {
    const Inspection& inspection = inspections[r];
    const auto advertised = FindAdvertised(*inspection.snapshot, inquiry.asked).listed;
    const std::string& id = advertised == nullptr ? inquiry.asked : advertised->device->id;
    explanations[r].numa.clear();
    for (std::size_t m = 0; m < explanations[r].matches.size(); ++m) {
      Explanation::Match& match = explanations[r].matches[m];
      const MatchReport& report = inspection.reports[m];
      const MatchSpec& spec = inspection.snapshot->spec->matches[m];
      const Question question{inquiry, id, spec, report, inspection, sysfs, ancestries};
      match.fates = {Answer(question)};
      Fate& answer = match.fates.front();
      answer.numbers.clear();
      match.hint.clear();
      match.left_out = 0;
      match.is_beside = IsBeside(answer, spec);
      const bool is_clear =
          answer.outcome == Outcome::kListed || (match.is_beside && !inquiry.error);
      std::erase_if(match.looks,
                    [&](const auto& look) { return is_clear || look.problem.empty(); });
      if (is_clear) continue;
      auto obstacles = Obstacles(answer, report, inspection.hints);
      std::move(obstacles.begin(), obstacles.end(), std::back_inserter(match.fates));
    }
  }
  AddShared(explanations, inquiry.asked);
}

}  // namespace patchbay
