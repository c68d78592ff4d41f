// Each group of a device is converted by PlanOfGroup independently. The plans are then combined
// into one resource, which has a match for each group, but only one count and one list of nodes and
// mounts.
//
// If the nodes of the plans differ, Agree tries two ways to make them equal: templates with
// variables of numbered sets (AddressNodes), then permissions without mknod (DropMknod). If neither
// succeeds, the device cannot be converted. A resource without matches always comes with an error.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/generic_device_plugin.h"
#include "convert/group_plan.h"
#include "convert/numbered_sets.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

using Plans = std::vector<GroupPlan>;

/// Combines the groups of one device into one resource.
class ResourcePlanner {
 public:
  ResourcePlanner(const GenericDevice& device, const std::string& name, Findings& findings)
      : device_(device), findings_(findings) {
    resource_.name = name;
    resource_.notes = device.notes;
  }

  NewResource Run() &&;

 private:
  bool TakeCount();
  bool AddressNodes(Plans& plans) const;
  bool Agree(Plans& plans);
  bool Join(Plans plans);
  void MakeDistinct();

  const GenericDevice& device_;
  Findings& findings_;
  NewResource resource_;
};

/// Sets `replicas`, which a resource has only once. Returns false if the counts differ.
bool ResourcePlanner::TakeCount() {
  resource_.replicas = device_.groups.front().count;
  for (const GenericGroup& group : device_.groups) {
    if (group.count == resource_.replicas) continue;
    findings_.CannotConvert(
        group.place,
        format("the groups of \"{}\" have different counts, {} and {}; in Patchbay, all devices "
               "of a resource have the same number of replicas",
               Truncate(device_.name, 60), resource_.replicas, group.count),
        "use the same `count`, or move the groups to separate devices");
    return false;
  }
  return true;
}

/// Returns the device paths of a group, or none if a path cannot be part of a numbered set: globs,
/// directories, optional paths and paths outside /dev.
std::vector<Part> SetOf(const GenericGroup& group) {
  std::vector<Part> parts;
  for (const GenericPath& path : group.paths) {
    if (path.is_mount) continue;
    Part part{&path, FromGo(path.path)};
    if (!part.is_literal() || part.is_directory() || path.optional ||
        !part.pattern.path->starts_with("/dev/")) {
      return {};
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Rewrites the nodes of all plans with the common templates of numbered sets, so that the nth path
/// of each group has the same host path template and the same container path. Returns false if the
/// groups are not numbered sets.
bool ResourcePlanner::AddressNodes(Plans& plans) const {
  std::vector<std::vector<Part>> sets;
  std::vector<std::vector<std::string>> paths;
  for (const GenericGroup& group : device_.groups) {
    sets.push_back(SetOf(group));
    if (sets.back().empty()) return false;
    paths.emplace_back();
    for (const Part& part : sets.back()) paths.back().push_back(part.pattern.path->substr(5));
  }
  const bool are_alone =
      std::all_of(sets.begin(), sets.end(), [](const auto& set) { return set.size() == 1; });
  const auto series = FindNumberedSets(paths);
  if (!series && !are_alone) return false;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    GroupPlan& plan = plans[i];
    plan.nodes.clear();
    std::string others;
    for (std::size_t n = 0; n < sets[i].size(); ++n) {
      const Part& part = sets[i][n];
      const std::string host = are_alone ? "" : "/dev/" + series->templates[n];
      const std::string container =
          part.path->mount_path.empty()
              ? EscapedForTemplate(*part.pattern.path)
              : ContainerPath(*part.path, EscapedForTemplate(part.name()));
      plan.nodes.push_back({{}, host, container, part.path->permissions});
      if (!are_alone && n != series->first) others += "|" + RegexOf(paths[i][n]);
    }
    if (are_alone) continue;
    plan.match.regex = format("/(?P<group>dev)/(?:{}{})", series->expressions[i], others);
    plan.match.group_by = "group";
    plan.match.id = JoinedNames(sets[i]);
  }
  return true;
}

bool HaveSameNodes(const Plans& plans) {
  return std::all_of(plans.begin(), plans.end(),
                     [&](const GroupPlan& plan) { return plan.nodes == plans.front().nodes; });
}

/// Removes the permission m (mknod) from all nodes if that makes the plans equal.
bool DropMknod(Plans& plans) {
  Plans without = plans;
  for (GroupPlan& plan : without) {
    for (NewNode& node : plan.nodes) {
      std::erase(node.permissions, 'm');
      if (node.permissions.empty()) return false;
    }
  }
  if (!HaveSameNodes(without)) return false;
  plans = std::move(without);
  return true;
}

/// Makes the nodes of all plans equal, because a resource has one list of device nodes.
bool ResourcePlanner::Agree(Plans& plans) {
  if (HaveSameNodes(plans)) return true;
  Plans addressed = plans;
  if (AddressNodes(addressed) && HaveSameNodes(addressed)) {
    plans = std::move(addressed);
    return true;
  }
  if (DropMknod(plans)) {
    resource_.notes.push_back(
        "Difference: some of the groups allow a container to create device nodes (m), others do "
        "not; in Patchbay, none of them does.");
    return true;
  }
  const auto other = std::find_if(plans.begin(), plans.end(), [&](const GroupPlan& plan) {
    return plan.nodes != plans.front().nodes;
  });
  findings_.CannotConvert(
      device_.groups[static_cast<std::size_t>(other - plans.begin())].place,
      "this group has different container paths or permissions than the first one; in Patchbay, "
      "they are the same for all devices of a resource",
      "move the group to a separate device, or use the same `mountPath` and `permissions`");
  return false;
}

bool ResourcePlanner::Join(Plans plans) {
  if (!Agree(plans)) return false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].mounts == plans.front().mounts) continue;
    findings_.CannotConvert(device_.groups[i].place,
                            "this group has different mounts than the first one; in Patchbay, all "
                            "devices of a resource have the same mounts",
                            "move the group to a separate device");
    return false;
  }
  const auto has_fixed_place = [](const NewNode& node) {
    return !node.container_path.empty() && node.container_path.find('{') == std::string::npos;
  };
  resource_.nodes = plans.front().nodes;
  if (std::any_of(resource_.nodes.begin(), resource_.nodes.end(), has_fixed_place) &&
      (plans.size() > 1 || !FromGo(device_.groups[0].paths[0].path).path)) {
    resource_.notes.push_back(
        "Difference: if a container requests several devices, they would have the same path in it; "
        "Patchbay rejects the request.");
  }
  resource_.mounts = plans.front().mounts;
  for (GroupPlan& plan : plans) resource_.matches.push_back(std::move(plan.match));
  return true;
}

/// Makes the device IDs unique. Otherwise nodes with the same name in different directories would
/// have the same ID, and so would groups with the same paths.
void ResourcePlanner::MakeDistinct() {
  std::set<std::string> directories;
  std::map<std::string, int> ids;
  for (const NewMatch& match : resource_.matches) {
    if (!match.path.empty()) directories.insert(DirectoryOf(match.path));
  }
  for (NewMatch& match : resource_.matches) {
    if (!match.path.empty() && directories.size() > 1) match.id = "{path}";
    const std::string& identity = match.id.empty() ? match.regex : match.id;
    if (match.regex.empty() || ids[identity]++ == 0) continue;
    if (match.id.empty()) match.id = "{group}";
    match.id += format("-{}", ids[identity]);
  }
}

NewResource ResourcePlanner::Run() && {
  if (device_.groups.empty() || !TakeCount()) return std::move(resource_);
  Plans plans;
  for (const GenericGroup& group : device_.groups) {
    if (group.paths.empty() && group.usb.empty()) continue;  // already reported
    if (auto plan = PlanOfGroup(group, findings_)) plans.push_back(std::move(*plan));
  }
  if (plans.size() == device_.groups.size() && Join(std::move(plans))) MakeDistinct();
  return std::move(resource_);
}

}  // namespace

NewResource ResourceOf(const GenericDevice& device, const std::string& name, Findings& findings) {
  return ResourcePlanner(device, name, findings).Run();
}

}  // namespace patchbay
