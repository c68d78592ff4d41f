#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"

namespace patchbay {

/// How far the change of one resource reaches, from nowhere to the whole of it.
enum class Reach {
  kNothing,       ///< its entry is as it was
  kInside,        ///< nothing that the kubelet or a container could see
  kResponse,      ///< what containers get that start from now on
  kList,          ///< which devices the kubelet sees, and how they are
  kRegistration,  ///< options that the kubelet hears only when a plugin registers
  kNew,
  kGone,
};
/// "nothing", "inside", "response", …
std::string_view Name(Reach reach);

/// Stands among the keys of a resource whose own entry is as it was, where `exclusive` resources
/// leave it other nodes than before.
inline constexpr std::string_view kOthersExclusive = "exclusive of others";

/// What becomes of one resource.
struct ResourceStep {
  std::string resource;
  Reach reach = Reach::kNothing;
  std::vector<std::string> keys = {};  ///< that differ, as the file has them; none of a new one
  bool operator==(const ResourceStep&) const = default;
};

/// A key of [daemon] that differs.
struct DaemonStep {
  std::string key;
  bool is_live = false;  ///< else it counts from the next start of the process
  bool operator==(const DaemonStep&) const = default;
};

/// Keys for people: "env, mount".
std::string JoinKeys(const std::vector<std::string>& keys);

/// What it takes to go from one configuration to another.
struct Plan {
  std::vector<ResourceStep> resources;  ///< those that go, then all there are in their new order
  std::vector<DaemonStep> daemon;
};

/// Why a running process would not go from `from`, the resources of its node, to `to`: it has none
/// at all, for any node, which is most often an accident. Nothing where it would. Pure.
std::optional<std::string_view> WhyRefused(const ResourceSpecs& from, const Model& to);

/// Compares two models, each of one node's resources, key by key. Pure. A resource with another
/// name is another resource.
Plan PlanReload(const DaemonSpec& from_daemon, const ResourceSpecs& from,
                const DaemonSpec& to_daemon, const ResourceSpecs& to);

}  // namespace patchbay
