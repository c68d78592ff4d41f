#include "model/plan.h"

#include <algorithm>
#include <map>

namespace patchbay {
namespace {

template <auto Member, class Spec>
bool Same(const Spec& a, const Spec& b) {
  return a.*Member == b.*Member;
}

/// What topology is without the key depends on replicas, which are told then.
bool SameTopology(const ResourceSpec& a, const ResourceSpec& b) {
  return a.topology == b.topology || a.replicas != b.replicas;
}

/// A key of [[resource]], and how far a change of it reaches.
struct ResourceKey {
  std::string_view name;
  Reach reach;
  bool (*is_same)(const ResourceSpec&, const ResourceSpec&);
};

using R = ResourceSpec;
constexpr ResourceKey kResourceKeys[] = {
    {"description", Reach::kInside, Same<&R::description>},
    {"replicas", Reach::kList, Same<&R::replicas>},
    {"max_per_container", Reach::kResponse, Same<&R::max_per_container>},
    {"preferred_allocation", Reach::kResponse, Same<&R::preferred_allocation>},
    {"topology", Reach::kList, SameTopology},
    {"exclusive", Reach::kList, Same<&R::exclusive>},
    {"forget_after", Reach::kList, Same<&R::forget_after>},
    {"env_separator", Reach::kResponse, Same<&R::env_separator>},
    {"on_nodes", Reach::kInside, Same<&R::on_nodes>},
    {"match", Reach::kList, Same<&R::matches>},
    {"device_node", Reach::kResponse, Same<&R::device_nodes>},
    {"mount", Reach::kResponse, Same<&R::mounts>},
    {"env", Reach::kResponse, Same<&R::env>},
    {"annotations", Reach::kResponse, Same<&R::annotations>},
    {"cdi_devices", Reach::kResponse, Same<&R::cdi_devices>},
    {"health", Reach::kList, Same<&R::health>},
    {"hooks.pre_start", Reach::kResponse, Same<&R::pre_start>},
    {"hooks.allocate", Reach::kResponse, Same<&R::allocate>},
    {"hooks.release", Reach::kInside, Same<&R::release>},
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
    {"pod_resources", false, Same<&D::pod_resources>},
    {"rescan", true, Same<&D::rescan>},
    {"max_probes", true, Same<&D::max_probes>},
    {"device_metrics", true, Same<&D::device_metrics>},
    {"log_level", true, Same<&D::log_level>},
};

/// Whether a plugin would register with the same options.
bool SameOptions(const ResourceSpec& a, const ResourceSpec& b) {
  return (a.preferred_allocation == Preference::kNone) ==
             (b.preferred_allocation == Preference::kNone) &&
         HoldsUpStart(a) == HoldsUpStart(b);
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
    step.reach = std::max(step.reach, key.reach);
    step.keys.emplace_back(key.name);
  }
  // Of the keys that these depend on not every change matters.
  if (!SameOptions(from, to)) step.reach = Reach::kRegistration;
  return step;
}

}  // namespace

std::string_view Name(Reach reach) {
  switch (reach) {
    case Reach::kNothing: return "nothing";
    case Reach::kInside: return "inside";
    case Reach::kResponse: return "response";
    case Reach::kList: return "list";
    case Reach::kRegistration: return "registration";
    case Reach::kNew: return "new";
    case Reach::kGone: return "gone";
  }
  return "";
}

std::string JoinKeys(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key;
  return text;
}

std::optional<std::string_view> WhyRefused(const ResourceSpecs& from, const Model& to) {
  if (from.empty() || !to.resources.empty()) return std::nullopt;
  return "it has no resource at all; if that is meant, restart patchbay with it";
}

Plan PlanReload(const DaemonSpec& from_daemon, const ResourceSpecs& from,
                const DaemonSpec& to_daemon, const ResourceSpecs& to) {
  Plan plan;
  const auto olds = ByName(from), news = ByName(to);
  const bool has_exclusive = HasExclusive(from) || HasExclusive(to);
  for (const auto& old : from) {
    if (!news.contains(old->name)) plan.resources.push_back({old->name, Reach::kGone});
  }
  for (const auto& spec : to) {
    const auto old = olds.find(spec->name);
    if (old == olds.end()) {
      plan.resources.push_back({spec->name, Reach::kNew});
      continue;
    }
    ResourceStep step = StepFor(*old->second, *spec);
    if (has_exclusive && !SameOwners(OwnersBefore(*old->second, from), OwnersBefore(*spec, to))) {
      step.reach = std::max(step.reach, Reach::kList);
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
