#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"

namespace patchbay {

/// Effect of a configuration change on one resource, in increasing order.
enum class ChangeImpact {
  kNothing,           ///< its entry did not change
  kInternal,          ///< no effect on the kubelet or on containers
  kAllocateResponse,  ///< what containers get that start from now on
  kDeviceList,        ///< the devices that the kubelet sees, or their health
  kRegistration,      ///< options that the kubelet reads only at registration
  kApi,               ///< the resource is drained, then served by the other API
  kNew,
  kRemoved,
};
/// "nothing", "internal", "response", …
std::string_view Name(ChangeImpact impact);

/// Listed among the changed keys of a resource if `exclusive` resources leave it other nodes than
/// before.
inline constexpr std::string_view kOthersExclusive = "exclusive of others";

/// The change of one resource.
struct ResourceStep {
  std::string resource;
  ChangeImpact impact = ChangeImpact::kNothing;
  std::vector<std::string> keys = {};  ///< the keys that differ; empty for a new one
  bool operator==(const ResourceStep&) const = default;
};

/// A changed key of [daemon].
struct DaemonStep {
  std::string key;
  bool is_live = false;  ///< otherwise it takes effect at the next start
  bool operator==(const DaemonStep&) const = default;
};

/// The steps from one configuration to another.
struct ReloadPlan {
  std::vector<ResourceStep> resources;  ///< removed ones, then all others in their new order
  std::vector<DaemonStep> daemon;
};

/// Returns why a running process rejects `to` after `from`, the resources of its node: `to` has no
/// resources at all, for any node, which is most likely an accident. Pure.
std::optional<std::string_view> WhyRefused(const ResourceSpecs& from, const Model& to);

/// Compares two models, each with the resources of one node, key by key. A renamed resource is a
/// new resource. Pure.
ReloadPlan PlanReload(const DaemonSpec& from_daemon, const ResourceSpecs& from,
                      const DaemonSpec& to_daemon, const ResourceSpecs& to);

}  // namespace patchbay
