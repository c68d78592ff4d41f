#include "cli/explain/report_json.h"

#include <nlohmann/json.hpp>

#include "base/escape.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// Keys for the number of entries, in the order of MatchReport::ScannedPlace::At.
constexpr std::string_view kSeen[] = {"names", "devices", "entries"};

template <class Items, class ToJson>
Json List(const Items& items, ToJson to_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

Json Texts(const std::vector<std::string>& texts) {
  return List(texts, [](const std::string& text) { return Printable(text); });
}

Json ScannedJson(const MatchReport::ScannedPlace& place) {
  return {{"place", Printable(place.place)},
          {"pattern", Printable(place.pattern)},
          {std::string(kSeen[static_cast<std::size_t>(place.at)]), place.seen},
          {"matched", place.matched},
          {"problem", Printable(place.problem)}};
}

Json OutcomeJson(const MatchOutcome& outcome) {
  return {{"outcome", Name(outcome.kind)},
          {"id", Printable(outcome.id)},
          {"paths", Texts(outcome.paths)},
          {"reason", outcome.reason},
          {"detail", Printable(outcome.detail)}};
}

Json MatchJson(const ExplainReport::Match& match) {
  return {{"match", Printable(match.text)},
          {"scanned", List(match.scanned, ScannedJson)},
          {"outcomes", List(match.outcomes, OutcomeJson)},
          {"left_out", match.left_out},
          {"hint", Printable(match.hint)}};
}

Json ResourceJson(const ExplainReport& report) {
  Json json = {
      {"name", report.resource},
      {"listed", report.listed},
      {"matches", List(report.matches, MatchJson)},
      {"numa", Printable(report.numa)},
      {"shared", List(report.shared,
                      [](const ExplainReport::Shared& shared) -> Json {
                        return {{"path", Printable(shared.path)}, {"other", shared.other}};
                      })},
      {"missing_mounts", List(report.missing_mounts, [](const MissingMount& mount) -> Json {
         return {{"path", Printable(mount.path)}, {"reason", Printable(mount.detail)}};
       })}};
  if (report.slices) json["dra"] = PreviewJson(*report.slices);
  return json;
}

}  // namespace

Json ReportJson(const std::vector<ExplainReport>& reports, const ExplainTarget* target) {
  Json json = Json::object();
  if (target != nullptr) {
    json["target"] = {{"path", Printable(target->argument)},
                      {"paths", Texts(target->paths)},
                      {"sysfs", Texts(target->syspaths)},
                      {"description", Printable(target->description)}};
  }
  json["resources"] = List(reports, ResourceJson);
  return json;
}

}  // namespace patchbay
