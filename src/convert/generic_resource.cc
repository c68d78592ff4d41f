// Each group of a device is converted by PlanOfGroup independently. The plans are then combined
// into one resource, which has the matches of all groups, but only one count and one list of
// mounts: those of the first group. A group with others is not converted.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/generic_device_plugin.h"
#include "convert/group_plan.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

/// Returns whether a group can belong to the same resource as the first one; otherwise adds a
/// finding.
bool FitsWith(const GenericGroup& first, const GroupPlan& first_plan, const GenericGroup& group,
              const GroupPlan& plan, Findings& findings) {
  if (group.count != first.count) {
    findings.CannotConvert(
        group.place,
        Format("the count of this group, {}, differs from that of the first one, {}; in Patchbay, "
               "all devices of a resource have the same number of replicas",
               group.count, first.count),
        "use the same `count`, or move the group to a separate device");
  } else if (plan.mounts != first_plan.mounts) {
    findings.CannotConvert(group.place,
                           "this group has different mounts than the first one; in Patchbay, all "
                           "devices of a resource have the same mounts",
                           "move the group to a separate device");
  }
  return group.count == first.count && plan.mounts == first_plan.mounts;
}

/// Returns whether two devices of a group have the same path in a container.
bool SharesPath(const GenericGroup& group, const GroupPlan& plan, std::set<std::string>& paths) {
  const bool has_glob = std::any_of(
      group.paths.begin(), group.paths.end(),
      [](const GenericPath& path) { return !path.is_mount && !FromGo(path.path).path; });
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [&](const NewNode& node) {
    const bool is_fixed =
        !node.container_path.empty() && node.container_path.find('{') == std::string::npos;
    return is_fixed && (!paths.insert(node.container_path).second || has_glob);
  });
}

/// Makes the device IDs unique. Otherwise nodes with the same name in different directories would
/// have the same ID, and so would groups with the same paths.
void MakeDistinct(NewResource& resource) {
  std::set<std::string> directories;
  std::map<std::string, int> ids;
  for (const NewMatch& match : resource.matches) {
    if (!match.path.empty()) directories.insert(DirectoryOf(match.path));
  }
  for (NewMatch& match : resource.matches) {
    if (!match.path.empty() && directories.size() > 1) match.id = "{path}";
    const std::string& identity = match.id.empty() ? match.regex : match.id;
    if (match.regex.empty() || ids[identity]++ == 0) continue;
    if (match.id.empty()) match.id = "{group}";
    match.id += Format("-{}", ids[identity]);
  }
}

}  // namespace

NewResource ResourceOf(const GenericDevice& device, const std::string& name, Findings& findings,
                       std::vector<Refusal>& refused) {
  NewResource resource;
  resource.name = name;
  resource.notes = device.notes;
  std::vector<std::pair<const GenericGroup*, GroupPlan>> plans;
  for (const GenericGroup& group : device.groups) {
    auto plan = group.errors.empty() ? PlanOfGroup(group, findings) : std::nullopt;
    if (plan && (plans.empty() ||
                 FitsWith(*plans.front().first, plans.front().second, group, *plan, findings))) {
      plans.emplace_back(&group, std::move(*plan));
      continue;
    }
    auto reasons = findings.TakeErrors();
    reasons.insert(reasons.begin(), group.errors.begin(), group.errors.end());
    refused.push_back(
        {Format("a group of {}", Truncate(name, 200)), std::move(reasons), group.source});
  }
  if (plans.empty()) return resource;
  resource.replicas = plans.front().first->count;
  resource.mounts = plans.front().second.mounts;
  const bool are_alike = std::all_of(plans.begin(), plans.end(), [&](const auto& plan) {
    return plan.second.nodes == plans.front().second.nodes;
  });
  if (are_alike) resource.nodes = plans.front().second.nodes;
  std::set<std::string> paths;
  bool is_shared = false;
  for (auto& [group, plan] : plans) {
    is_shared = SharesPath(*group, plan, paths) || is_shared;
    for (NewMatch& match : plan.matches) {
      match.place = group->place;
      if (!are_alike) match.nodes = plan.nodes;
      resource.matches.push_back(std::move(match));
    }
  }
  if (is_shared) {
    resource.notes.push_back(
        "Difference: if a container requests several devices, they would have the same path in it; "
        "Patchbay rejects the request.");
  }
  MakeDistinct(resource);
  return resource;
}

}  // namespace patchbay
