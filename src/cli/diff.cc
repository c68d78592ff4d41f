#include <nlohmann/json.hpp>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/table.h"
#include "model/plan.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

std::string RenderJson(const Plan& plan) {
  Json resources = Json::array(), daemon = Json::array();
  for (const ResourceStep& step : plan.resources) {
    resources.push_back(
        {{"name", step.resource}, {"reach", Name(step.reach)}, {"keys", step.keys}});
  }
  for (const DaemonStep& step : plan.daemon) {
    daemon.push_back({{"key", step.key}, {"live", step.is_live}});
  }
  return Json({{"resources", std::move(resources)}, {"daemon", std::move(daemon)}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string_view MeaningOf(Reach reach) {
  switch (reach) {
    case Reach::kNothing: return "untouched";
    case Reach::kInside: return "neither the kubelet nor containers see it";
    case Reach::kResponse: return "containers that start from then on get something else";
    case Reach::kList: return "the kubelet gets a new list on the stream it has";
    case Reach::kRegistration: return "registers again, with a new socket";
    case Reach::kNew: return "registers";
    case Reach::kGone: return "the kubelet gets an empty list, then the socket goes";
  }
  return "";
}

std::string RenderText(const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"RESOURCE", "REACH", "KEYS", "MEANING"}};
  std::size_t untouched = 0;
  for (const ResourceStep& step : plan.resources) {
    if (step.reach == Reach::kNothing) {
      ++untouched;
      continue;
    }
    const std::string keys = JoinKeys(step.keys);
    rows.push_back({step.resource, std::string(Name(step.reach)), keys.empty() ? "-" : keys,
                    std::string(MeaningOf(step.reach))});
  }
  std::string text = rows.size() > 1 ? RenderTable(rows) : "";
  if (untouched > 0) text += format("{} untouched\n", untouched);
  for (const DaemonStep& step : plan.daemon) {
    text += format("[daemon] {}: {}\n", step.key,
                   step.is_live ? "changes in the running process" : "needs a restart of patchbay");
  }
  return text.empty() ? "nothing differs\n" : text;
}

}  // namespace

int RunDiff(const Arguments& arguments, Streams streams) {
  std::optional<Model> models[2];
  for (std::size_t i : {0, 1}) {
    Loaded loaded = LoadPaths({arguments.files[i]});
    streams.err << loaded.diagnostics.RenderText();
    models[i] = std::move(loaded.model);
  }
  if (!models[0] || !models[1]) return kFailed;
  const std::string node = NodeName();
  const Plan plan = PlanReload(models[0]->daemon, ResourcesFor(*models[0], node), models[1]->daemon,
                               ResourcesFor(*models[1], node));
  streams.out << (arguments.output == Output::kJson ? RenderJson(plan) : RenderText(plan));
  return kOk;
}

}  // namespace patchbay
