// The plan is that of a reload in the daemon. Whether pods must be drained is decided here from the
// two entries: device IDs are compared by what they are made of, since the devices of the node are
// not known.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/color.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/run_scan.h"
#include "cli/table.h"
#include "cli/yaml.h"
#include "daemon/reload_plan.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// The effect of a reload. A rejected one has none.
struct ReloadEffect {
  std::string_view refused;  ///< the reason; empty if the reload would be accepted
  ReloadPlan plan;
  /// Why pods that use the resource must be drained before the reload, by resource.
  std::map<std::string, std::string> drains = {};
  std::set<std::string> dra = {};  ///< the resources of Dynamic Resource Allocation
};

/// Returns whether a device of the match can get another ID.
bool ChangesIds(const MatchSpec& from, const MatchSpec& to) {
  return from.source.index() != to.source.index() || from.id != to.id ||
         from.group_by != to.group_by || from.together != to.together;
}

bool HasSource(const ResourceSpec& resource, const Source& source) {
  return std::ranges::any_of(resource.matches,
                             [&](const MatchSpec& match) { return match.source == source; });
}

/// Returns whether devices that both entries list can have other IDs in the second one. Compares
/// each match with the one that has the same source, otherwise with the one in the same place.
bool ChangesIds(const ResourceSpec& from, const ResourceSpec& to) {
  if ((from.replicas > 1) != (to.replicas > 1)) return true;
  for (std::size_t i = 0; i < from.matches.size(); ++i) {
    const MatchSpec& old = from.matches[i];
    const auto same = std::ranges::find(to.matches, old.source, &MatchSpec::source);
    const bool is_replaced =
        same == to.matches.end() && i < to.matches.size() && !HasSource(from, to.matches[i].source);
    if (same != to.matches.end() && ChangesIds(old, *same)) return true;
    if (is_replaced && ChangesIds(old, to.matches[i])) return true;
  }
  return false;
}

/// Returns the name of a new resource that has a match of a removed one; empty if there is none.
std::string SuccessorOf(const ResourceSpec& removed, const ResourceSpecs& from,
                        const ResourceSpecs& to) {
  for (const auto& spec : to) {
    const bool is_new =
        std::ranges::none_of(from, [&](const auto& old) { return old->name == spec->name; });
    const bool has_match = std::ranges::any_of(
        removed.matches, [&](const MatchSpec& match) { return HasSource(*spec, match.source); });
    if (is_new && has_match) return spec->name;
  }
  return "";
}

/// Returns why pods must be drained before the change of one resource, or "". The kubelet may
/// otherwise allocate a device that a pod still uses under its old name.
std::string WhyDrain(const ResourceStep& step, const ResourceSpecs& from, const ResourceSpecs& to) {
  const auto named = [&](const auto& spec) { return spec->name == step.resource; };
  const auto old = std::ranges::find_if(from, named), now = std::ranges::find_if(to, named);
  if (old == from.end()) return "";
  if (now == to.end()) {
    const std::string successor = SuccessorOf(**old, from, to);
    return successor.empty() ? "" : "its devices become devices of " + successor;
  }
  if (step.impact == ChangeImpact::kApi) return "its devices are served by another API";
  if (ChangesIds(**old, **now)) return "device IDs change";
  const bool moves = std::ranges::any_of(step.keys, [](const std::string& key) {
    return key == "exclusive" || key == kOthersExclusive;
  });
  return moves ? "devices can change between resources" : "";
}

ReloadEffect EffectOf(const Model& from, const Model& to) {
  const std::string node = NodeName();
  const ResourceSpecs old = ResourcesFor(from, node);
  if (const auto why = WhyRefused(old, to)) return {*why, {}};
  const ResourceSpecs now = ResourcesFor(to, node);
  ReloadEffect effect{"", PlanReload(from.daemon, old, to.daemon, now)};
  for (const ResourceSpecs* specs : {&old, &now}) {
    for (const auto& spec : *specs) {
      if (spec->api == Api::kDra) effect.dra.insert(spec->name);
    }
  }
  for (const ResourceStep& step : effect.plan.resources) {
    if (std::string why = WhyDrain(step, old, now); !why.empty()) {
      effect.drains.emplace(step.resource, std::move(why));
    }
  }
  return effect;
}

Json EffectJson(const ReloadEffect& effect) {
  const ReloadPlan& plan = effect.plan;
  Json resources = Json::array(), daemon = Json::array();
  for (const ResourceStep& step : plan.resources) {
    const auto drain = effect.drains.find(step.resource);
    resources.push_back({{"name", step.resource},
                         {"impact", Name(step.impact)},
                         {"keys", step.keys},
                         {"drain", drain == effect.drains.end() ? "" : drain->second}});
  }
  for (const DaemonStep& step : plan.daemon) {
    daemon.push_back({{"key", step.key}, {"live", step.is_live}});
  }
  return {{"refused", effect.refused},
          {"resources", std::move(resources)},
          {"daemon", std::move(daemon)}};
}

/// Returns the effect on ResourceSlices, or "" for an impact that has the same meaning with both
/// APIs.
std::string_view MeaningForSlices(ChangeImpact impact) {
  switch (impact) {
    case ChangeImpact::kDeviceList: return "ResourceSlices are updated";
    case ChangeImpact::kNew: return "ResourceSlices are published";
    case ChangeImpact::kRemoved: return "ResourceSlices are deleted";
    default: return "";
  }
}

std::string_view MeaningOf(ChangeImpact impact, bool must_drain, bool is_dra) {
  if (is_dra && !MeaningForSlices(impact).empty()) return MeaningForSlices(impact);
  if (must_drain && impact == ChangeImpact::kDeviceList) {
    return "kubelet receives an updated device list with other IDs";
  }
  switch (impact) {
    case ChangeImpact::kNothing: return "unchanged";
    case ChangeImpact::kInternal: return "no effect on the kubelet or on containers";
    case ChangeImpact::kAllocateResponse: return "applies to containers started after the reload";
    case ChangeImpact::kDeviceList:
      return "kubelet receives an updated device list; running pods unaffected";
    case ChangeImpact::kRegistration: return "registers again, with a new socket";
    case ChangeImpact::kApi: return "unregistered, then served by the other API";
    case ChangeImpact::kNew: return "registers";
    case ChangeImpact::kRemoved: return "unregistered: capacity drops to 0";
  }
  return "";
}

/// Returns a line for each resource whose pods must be drained.
std::string DrainText(const ReloadEffect& effect, bool colored) {
  std::string text;
  for (const auto& [resource, why] : effect.drains) {
    text += Format("{} {}: {}; drain the pods that use them before the reload\n",
                   Paint("drain:", Color::kYellow, colored), resource, why);
  }
  return text;
}

std::string RenderText(const ReloadEffect& effect, bool colored) {
  if (!effect.refused.empty()) {
    return Format("a running patchbay rejects it: {}\n", effect.refused);
  }
  const ReloadPlan& plan = effect.plan;
  std::vector<std::vector<std::string>> rows = {{"RESOURCE", "IMPACT", "KEYS", "MEANING"}};
  std::size_t unchanged = 0;
  for (const ResourceStep& step : plan.resources) {
    if (step.impact == ChangeImpact::kNothing) {
      ++unchanged;
      continue;
    }
    const std::string keys = Format("{}", fmt::join(step.keys, ", "));
    const auto meaning = MeaningOf(step.impact, effect.drains.contains(step.resource),
                                   effect.dra.contains(step.resource));
    rows.push_back({step.resource, std::string(Name(step.impact)), keys.empty() ? "-" : keys,
                    std::string(meaning)});
  }
  std::string text = rows.size() > 1 ? RenderTable(rows, colored) : "";
  if (unchanged > 0) text += Format("{} unchanged\n", unchanged);
  text += DrainText(effect, colored);
  for (const DaemonStep& step : plan.daemon) {
    text += Format("[daemon] {}: {}\n", step.key,
                   step.is_live ? "takes effect on reload" : "needs a restart of Patchbay");
  }
  return text.empty() ? "no changes\n" : text;
}

/// Returns the entries of either file that are not compared, because they are for other nodes.
std::string LeftOutOf(const Model& from, const Model& to) {
  std::string text = LeftOutText(from, NodeName());
  if (const std::string left_out = LeftOutText(to, NodeName()); left_out != text) text += left_out;
  if (text.empty()) return "";
  return text + "set NODE_NAME to the name of a node to compare what is for that node\n";
}

}  // namespace

int RunDiff(const Arguments& arguments, Streams streams) {
  std::optional<Model> models[2];
  for (std::size_t i : {0, 1}) {
    Loaded loaded = LoadPaths({arguments.files[i]}, NodeName());
    streams.err << BriefDiagnostics(loaded.diagnostics, arguments.files[i], streams.colors_err);
    models[i] = std::move(loaded.model);
  }
  if (!models[0] || !models[1]) return kFailed;
  const ReloadEffect effect = EffectOf(*models[0], *models[1]);
  streams.out << (arguments.output == Output::kTable
                      ? RenderText(effect, streams.colors_out)
                      : ObjectText(EffectJson(effect), arguments.output));
  streams.err << LeftOutOf(*models[0], *models[1]);
  return kOk;
}

}  // namespace patchbay
