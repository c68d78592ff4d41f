#include "cli/look_text.h"

#include "base/format.h"

namespace patchbay {

std::string Counted(std::size_t n, std::string_view noun, std::string_view plural) {
  return format("{} {}", n, n == 1 ? noun : plural);
}

std::string ProblemText(const MatchReport::Look& look) {
  // Most error messages contain the place; avoid repeating it.
  std::string_view place = look.place;
  if (place.size() > 1 && place.ends_with('/')) place.remove_suffix(1);
  const auto at = look.problem.find(place);
  const auto end = at == std::string::npos ? at : at + place.size();
  if (end < look.problem.size() && look.problem[end] == ':') return look.problem.substr(at);
  if (at == 0 && look.problem[end] == ' ') {
    return format("{}: {}", place, look.problem.substr(end + 1));
  }
  return format("{}: {}", place, look.problem);
}

std::string LookText(const MatchReport::Look& sum, const std::vector<std::string>& places) {
  std::string text = places.front();
  if (places.size() > 1) {
    text += " and " + Counted(places.size() - 1, "more directory", "more directories");
  }
  if (sum.at == MatchReport::Look::At::kDevices)
    return text + ": " + Counted(sum.seen, "device", "devices");
  if (sum.at == MatchReport::Look::At::kEntries) {
    text += ": printed " + Counted(sum.seen, "entry", "entries");
    return sum.matched == sum.seen ? text : format("{}, {} of them valid", text, sum.matched);
  }
  text += ": " + Counted(sum.seen, "name", "names");
  if (sum.pattern == "**" || sum.seen == 0) return text;
  if (sum.seen == 1) {
    text += sum.matched == 1 ? ", which matches" : ", which does not match";
  } else {
    text += format(", {} of them {}", sum.matched == 0 ? "none" : std::to_string(sum.matched),
                   sum.matched > 1 ? "match" : "matches");
  }
  return sum.pattern.empty() ? text : text + " " + sum.pattern;
}

}  // namespace patchbay
