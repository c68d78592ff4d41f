#include "cli/explanation_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/escape.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// Keys for the number of entries, in the order of MatchReport::Look::At.
constexpr std::string_view kSeen[] = {"names", "devices", "entries"};

Json Texts(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(Printable(text));
  return list;
}

Json LookJson(const Explanation::Look& look) {
  return {{"place", Printable(look.place)},
          {"pattern", Printable(look.pattern)},
          {std::string(kSeen[static_cast<std::size_t>(look.at)]), look.seen},
          {"fitting", look.matched},
          {"problem", Printable(look.problem)},
          {"hint", Printable(look.hint)}};
}

Json FateJson(const Fate& fate) {
  return {{"outcome", Name(fate.outcome)},    {"id", Printable(fate.id)},
          {"paths", Texts(fate.paths)},       {"reason", fate.reason},
          {"detail", Printable(fate.detail)}, {"hint", Printable(fate.hint)}};
}

template <class Things, class ToJson>
Json List(const Things& things, ToJson to_json) {
  Json list = Json::array();
  for (const auto& thing : things) list.push_back(to_json(thing));
  return list;
}

Json MatchJson(const Explanation::Match& match) {
  return {{"match", Printable(match.text)},
          {"looked_at", List(match.looks, LookJson)},
          {"verdicts", List(match.fates, FateJson)},
          {"left_out", match.left_out},
          {"hint", Printable(match.hint)}};
}

Json ResourceJson(const Explanation& explanation) {
  return {
      {"name", explanation.resource},
      {"listed", explanation.listed},
      {"matches", List(explanation.matches, MatchJson)},
      {"numa", Printable(explanation.numa)},
      {"shared", List(explanation.shared,
                      [](const Explanation::Shared& shared) -> Json {
                        return {{"path", Printable(shared.path)}, {"other", shared.other}};
                      })},
      {"missing_mounts", List(explanation.missing_mounts, [](const MissingMount& mount) -> Json {
         return {{"path", Printable(mount.path)}, {"reason", Printable(mount.detail)}};
       })}};
}

}  // namespace

std::string ExplanationJson(const std::vector<Explanation>& explanations, const Inquiry* inquiry) {
  Json json = Json::object();
  if (inquiry != nullptr) {
    json["asked"] = {{"path", Printable(inquiry->asked)},
                     {"known_as", Texts(inquiry->paths)},
                     {"in_sysfs", Texts(inquiry->syspaths)},
                     {"is", Printable(inquiry->description)},
                     {"hint", Printable(inquiry->hint)}};
  }
  json["resources"] = List(explanations, ResourceJson);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace patchbay
