// The resource has the matches of all groups, but only one count and one list of mounts: those of
// the first group.

#include "convert/generic_resource.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/path.h"
#include "convert/disks.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

/// Returns whether two devices of a group have the same path in a container.
bool SharesPath(const GenericGroup& group, const GroupPlan& plan, std::set<std::string>& paths) {
  const bool has_glob = std::ranges::any_of(
      group.paths, [](const GenericPath& path) { return !path.is_mount && !path.is_literal(); });
  return std::ranges::any_of(plan.nodes, [&](const NewNode& node) {
    const bool is_fixed =
        !node.container_path.empty() && node.container_path.find('{') == std::string::npos;
    return is_fixed && (!paths.insert(node.container_path).second || has_glob);
  });
}

/// Returns the default ID of a match whose nodes are one device.
std::string JoinedNames(const NewMatch& match) {
  std::string joined;
  for (const std::string& path : match.paths) {
    joined.append(joined.empty() ? "" : "+").append(BaseName(path));
  }
  return EscapedForTemplate(joined);
}

/// Makes the device IDs unique. Otherwise nodes with the same name in different directories would
/// have the same ID, and so would groups with the same paths.
void MakeDistinct(NewResource& resource) {
  const auto is_alone = [](const NewMatch& match) {
    return !match.paths.empty() && !match.together;
  };
  std::set<std::string> directories;
  std::map<std::string, int> ids;
  for (const NewMatch& match : resource.matches) {
    if (is_alone(match)) directories.insert(DirectoryOf(match.paths.front()));
  }
  for (NewMatch& match : resource.matches) {
    if (is_alone(match)) {
      if (directories.size() > 1) match.id = "{path}";
      continue;
    }
    const std::string usual = match.together ? JoinedNames(match) : "{group}";
    const std::string identity = match.id.empty() ? match.regex + usual : match.id;
    if (match.usb.empty() && ++ids[identity] > 1) {
      match.id = (match.id.empty() ? usual : match.id) + Format("-{}", ids[identity]);
    }
  }
}

}  // namespace

bool AddGroup(GenericGroup group, GroupPlan plan, PlannedGroups& groups, Findings& findings) {
  const auto& [first, first_plan] = groups.empty() ? std::pair(group, plan) : groups.front();
  if (group.count != first.count) {
    findings.CannotConvert(
        group.place,
        Format("the count of this group, {}, differs from that of the first one, {}; in Patchbay, "
               "all devices of a resource have the same number of replicas",
               group.count, first.count),
        "use the same `count`, or move the group to a separate device");
    return false;
  }
  if (plan.mounts != first_plan.mounts) {
    findings.CannotConvert(group.place,
                           "this group has different mounts than the first one; in Patchbay, all "
                           "devices of a resource have the same mounts",
                           "move the group to a separate device");
    return false;
  }
  groups.emplace_back(std::move(group), std::move(plan));
  return true;
}

NewResource ResourceOf(std::string name, Notes notes, PlannedGroups groups, Findings& findings) {
  const GroupPlan first = groups.front().second;
  NewResource resource{.notes = std::move(notes),
                       .name = std::move(name),
                       .replicas = groups.front().first.count,
                       .mounts = first.mounts};
  const bool are_alike = std::ranges::all_of(
      groups, [&](const auto& group) { return group.second.nodes == first.nodes; });
  if (are_alike) resource.nodes = first.nodes;
  std::set<std::string> paths;
  bool is_shared = false;
  for (auto& [group, plan] : groups) {
    is_shared = SharesPath(group, plan, paths) || is_shared;
    for (NewMatch& match : plan.matches) {
      match.place = group.place;
      if (!are_alike) match.nodes = plan.nodes;
      resource.matches.push_back(std::move(match));
    }
  }
  if (is_shared) {
    resource.notes.push_back(findings.Differs(
        groups.front().first.place,
        "if a container requests several devices, they would have the same path in it; Patchbay "
        "rejects the request",
        "request one device for each container"));
  }
  MakeDistinct(resource);
  AllowMountedDisks(resource);
  return resource;
}

}  // namespace patchbay
