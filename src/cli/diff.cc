#include <nlohmann/json.hpp>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/table.h"
#include "daemon/reload_plan.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// The effect of a reload. A rejected one has none.
struct Outlook {
  std::string_view refused;  ///< the reason; empty if the reload would be accepted
  ReloadPlan plan;
};

Outlook OutlookFor(const Model& from, const Model& to) {
  const std::string node = NodeName();
  const ResourceSpecs old = ResourcesFor(from, node);
  if (const auto why = WhyRefused(old, to)) return {*why, {}};
  return {"", PlanReload(from.daemon, old, to.daemon, ResourcesFor(to, node))};
}

std::string RenderJson(const Outlook& outlook) {
  const ReloadPlan& plan = outlook.plan;
  Json resources = Json::array(), daemon = Json::array();
  for (const ResourceStep& step : plan.resources) {
    resources.push_back(
        {{"name", step.resource}, {"reach", Name(step.impact)}, {"keys", step.keys}});
  }
  for (const DaemonStep& step : plan.daemon) {
    daemon.push_back({{"key", step.key}, {"live", step.is_live}});
  }
  return Json({{"refused", outlook.refused},
               {"resources", std::move(resources)},
               {"daemon", std::move(daemon)}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string_view MeaningOf(ChangeImpact impact) {
  switch (impact) {
    case ChangeImpact::kNothing: return "untouched";
    case ChangeImpact::kInternal: return "no effect on the kubelet or on containers";
    case ChangeImpact::kAllocateResponse: return "applies to containers started after the reload";
    case ChangeImpact::kDeviceList:
      return "kubelet receives an updated device list; running pods unaffected";
    case ChangeImpact::kRegistration: return "registers again, with a new socket";
    case ChangeImpact::kNew: return "registers";
    case ChangeImpact::kGone: return "unregistered: capacity drops to 0";
  }
  return "";
}

std::string RenderText(const Outlook& outlook) {
  if (!outlook.refused.empty()) {
    return format("a running patchbay rejects it: {}\n", outlook.refused);
  }
  const ReloadPlan& plan = outlook.plan;
  std::vector<std::vector<std::string>> rows = {{"RESOURCE", "REACH", "KEYS", "MEANING"}};
  std::size_t untouched = 0;
  for (const ResourceStep& step : plan.resources) {
    if (step.impact == ChangeImpact::kNothing) {
      ++untouched;
      continue;
    }
    const std::string keys = JoinKeys(step.keys);
    rows.push_back({step.resource, std::string(Name(step.impact)), keys.empty() ? "-" : keys,
                    std::string(MeaningOf(step.impact))});
  }
  std::string text = rows.size() > 1 ? RenderTable(rows) : "";
  if (untouched > 0) text += format("{} untouched\n", untouched);
  for (const DaemonStep& step : plan.daemon) {
    text += format("[daemon] {}: {}\n", step.key,
                   step.is_live ? "takes effect on reload" : "needs a restart of Patchbay");
  }
  return text.empty() ? "no changes\n" : text;
}

}  // namespace

int RunDiff(const Arguments& arguments, Streams streams) {
  std::optional<Model> models[2];
  for (std::size_t i : {0, 1}) {
    Loaded loaded = LoadPaths({arguments.files[i]});
    streams.err << BriefDiagnostics(loaded.diagnostics, arguments.files[i]);
    models[i] = std::move(loaded.model);
  }
  if (!models[0] || !models[1]) return kFailed;
  const Outlook outlook = OutlookFor(*models[0], *models[1]);
  streams.out << (arguments.output == Output::kJson ? RenderJson(outlook) : RenderText(outlook));
  return kOk;
}

}  // namespace patchbay
