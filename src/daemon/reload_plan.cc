// kResourceKeys has one row for each key of [[resource]] with the effect of its change; the effect
// of an entry is the greatest of its keys. A change of other entries counts if `exclusive`
// resources leave the entry other nodes.

#include "daemon/reload_plan.h"

#include <algorithm>
#include <map>

namespace patchbay {
namespace {

template <auto Member, class Spec>
bool Same(const Spec& a, const Spec& b) {
  return a.*Member == b.*Member;
}

/// The default of topology depends on replicas, whose change is listed then.
bool SameTopology(const ResourceSpec& a, const ResourceSpec& b) {
  return a.topology == b.topology || a.replicas != b.replicas;
}

/// Returns whether the matches are the same, except for their device nodes.
bool SameMatches(const ResourceSpec& a, const ResourceSpec& b) {
  return std::ranges::equal(a.matches, b.matches, [](const MatchSpec& x, MatchSpec y) {
    y.device_nodes = x.device_nodes;
    return x == y;
  });
}

/// Returns whether the matches have the same device nodes. Different matches are listed as such.
bool SameNodesOfMatches(const ResourceSpec& a, const ResourceSpec& b) {
  return !SameMatches(a, b) ||
         std::ranges::equal(a.matches, b.matches, {}, &MatchSpec::device_nodes,
                            &MatchSpec::device_nodes);
}

/// A key of [[resource]] and the effect of its change.
struct ResourceKey {
  std::string_view name;
  ChangeImpact impact;
  bool (*is_same)(const ResourceSpec&, const ResourceSpec&);
};

using R = ResourceSpec;
constexpr ResourceKey kResourceKeys[] = {
    {"description", ChangeImpact::kInternal, Same<&R::description>},
    {"api", ChangeImpact::kApi, Same<&R::api>},
    {"replicas", ChangeImpact::kDeviceList, Same<&R::replicas>},
    {"max_per_container", ChangeImpact::kAllocateResponse, Same<&R::max_per_container>},
    {"preferred_allocation", ChangeImpact::kAllocateResponse, Same<&R::preferred_allocation>},
    {"topology", ChangeImpact::kDeviceList, SameTopology},
    {"exclusive", ChangeImpact::kDeviceList, Same<&R::exclusive>},
    {"grant_group", ChangeImpact::kAllocateResponse, Same<&R::grant_group>},
    {"on_unhealthy", ChangeImpact::kDeviceList, Same<&R::on_unhealthy>},
    {"claim_env", ChangeImpact::kAllocateResponse, Same<&R::claim_env>},
    {"forget_after", ChangeImpact::kDeviceList, Same<&R::forget_after>},
    {"env_separator", ChangeImpact::kAllocateResponse, Same<&R::env_separator>},
    {"on_nodes", ChangeImpact::kInternal, Same<&R::on_nodes>},
    {"match", ChangeImpact::kDeviceList, SameMatches},
    {"match.device_node", ChangeImpact::kAllocateResponse, SameNodesOfMatches},
    {"device_node", ChangeImpact::kAllocateResponse, Same<&R::device_nodes>},
    {"mount", ChangeImpact::kAllocateResponse, Same<&R::mounts>},
    {"net_device", ChangeImpact::kDeviceList, Same<&R::net_device>},
    {"env", ChangeImpact::kAllocateResponse, Same<&R::env>},
    {"annotations", ChangeImpact::kAllocateResponse, Same<&R::annotations>},
    {"attributes", ChangeImpact::kDeviceList, Same<&R::attributes>},
    {"capacity", ChangeImpact::kDeviceList, Same<&R::capacity>},
    {"cdi_devices", ChangeImpact::kAllocateResponse, Same<&R::cdi_devices>},
    {"health", ChangeImpact::kDeviceList, Same<&R::health>},
    {"hooks.pre_start", ChangeImpact::kAllocateResponse, Same<&R::pre_start>},
    {"hooks.allocate", ChangeImpact::kAllocateResponse, Same<&R::allocate>},
    {"hooks.release", ChangeImpact::kInternal, Same<&R::release>},
};

struct DaemonKey {
  std::string_view name;
  bool is_live;
  bool (*is_same)(const DaemonSpec&, const DaemonSpec&);
};

using D = DaemonSpec;
constexpr DaemonKey kDaemonKeys[] = {
    {"listen", false, Same<&D::listen>},
    {"hosts", false, Same<&D::hosts>},
    {"kubelet_dir", false, Same<&D::kubelet_dir>},
    {"host_root", false, Same<&D::host_root>},
    {"cdi_dir", false, Same<&D::cdi_dir>},
    {"pod_resources", false, Same<&D::pod_resources>},
    {"rescan", true, Same<&D::rescan>},
    {"max_probes", true, Same<&D::max_probes>},
    {"device_metrics", true, Same<&D::device_metrics>},
    {"suggest_page", true, Same<&D::suggest_page>},
    {"log_level", true, Same<&D::log_level>},
    {"api", true, Same<&D::api>},
    {"dra.driver", false, Same<&D::dra_driver>},
    {"dra.device_metadata", false, Same<&D::device_metadata>},
    {"kubernetes", false, Same<&D::kubernetes>},
};

/// Returns true if a plugin would register with the same options.
bool SameOptions(const ResourceSpec& a, const ResourceSpec& b) {
  return (a.preferred_allocation == Preference::kNone) ==
             (b.preferred_allocation == Preference::kNone) &&
         NeedsPreStart(a) == NeedsPreStart(b);
}

bool HasExclusive(const ResourceSpecs& resources) {
  return std::any_of(resources.begin(), resources.end(),
                     [](const auto& resource) { return resource->exclusive; });
}

std::map<std::string_view, const ResourceSpec*> ByName(const ResourceSpecs& resources) {
  std::map<std::string_view, const ResourceSpec*> by_name;
  for (const auto& resource : resources) by_name.emplace(resource->name, resource.get());
  return by_name;
}

ResourceStep StepFor(const ResourceSpec& from, const ResourceSpec& to) {
  ResourceStep step{to.name};
  for (const ResourceKey& key : kResourceKeys) {
    if (key.is_same(from, to)) continue;
    step.impact = std::max(step.impact, key.impact);
    step.keys.emplace_back(key.name);
  }
  // Not every change of the keys that the options depend on changes the options.
  const bool registers = to.api == Api::kDevicePlugin && !SameOptions(from, to);
  if (registers) step.impact = std::max(step.impact, ChangeImpact::kRegistration);
  return step;
}

}  // namespace

std::string_view Name(ChangeImpact impact) {
  switch (impact) {
    case ChangeImpact::kNothing: return "nothing";
    case ChangeImpact::kInternal: return "internal";
    case ChangeImpact::kAllocateResponse: return "response";
    case ChangeImpact::kDeviceList: return "list";
    case ChangeImpact::kRegistration: return "registration";
    case ChangeImpact::kApi: return "api";
    case ChangeImpact::kNew: return "new";
    case ChangeImpact::kRemoved: return "removed";
  }
  return "";
}

std::optional<std::string_view> WhyRefused(const ResourceSpecs& from, const Model& to) {
  if (from.empty() || !to.resources.empty()) return std::nullopt;
  return "the configuration has no resources; if that is intended, restart patchbay";
}

ReloadPlan PlanReload(const DaemonSpec& from_daemon, const ResourceSpecs& from,
                      const DaemonSpec& to_daemon, const ResourceSpecs& to) {
  ReloadPlan plan;
  const auto olds = ByName(from), news = ByName(to);
  const bool has_exclusive = HasExclusive(from) || HasExclusive(to);
  for (const auto& old : from) {
    if (!news.contains(old->name)) plan.resources.push_back({old->name, ChangeImpact::kRemoved});
  }
  for (const auto& spec : to) {
    const auto old = olds.find(spec->name);
    if (old == olds.end()) {
      plan.resources.push_back({spec->name, ChangeImpact::kNew});
      continue;
    }
    ResourceStep step = StepFor(*old->second, *spec);
    if (has_exclusive && !SameExclusive(ExclusiveResourcesAbove(*old->second, from),
                                        ExclusiveResourcesAbove(*spec, to))) {
      step.impact = std::max(step.impact, ChangeImpact::kDeviceList);
      step.keys.emplace_back(kOthersExclusive);
    }
    plan.resources.push_back(std::move(step));
  }
  for (const DaemonKey& key : kDaemonKeys) {
    if (!key.is_same(from_daemon, to_daemon)) {
      plan.daemon.push_back({std::string(key.name), key.is_live});
    }
  }
  return plan;
}

}  // namespace patchbay
