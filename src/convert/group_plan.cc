// A group is converted by one of six strategies, depending on its paths: USB IDs (PlanOfUsb), only
// mounts (PlanOfMounts), one device path (PlanOfOne), several paths without wildcards (PlanOfSet),
// or paths with one glob (PlanOfShared) or several globs (PlanOfPairs). A set or a pair becomes one
// regular expression whose named group, which has the same value for all nodes of a device, is the
// `group_by`.
//
// Text from the input is escaped for its destination: GlobOf, RegexOf or EscapedForTemplate. A
// strategy adds at least one finding whenever it returns nothing.

#include "convert/group_plan.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "convert/directories.h"
#include "convert/patterns.h"

namespace patchbay {
namespace {

/// A path of a group and its pattern in Patchbay.
struct PathPattern {
  const GenericPath* path;
  GoPattern pattern;

  bool is_literal() const { return pattern.path.has_value(); }
  bool is_directory() const { return path->is_directory; }
  /// Returns whether the path in the container is the same as on the host.
  bool is_in_place() const {
    return path->mount_path.empty() || (is_literal() && path->mount_path == *pattern.path);
  }
  /// The last component of the path, which must be literal.
  std::string name() const { return std::string(BaseName(*pattern.path)); }
};

/// Returns the path in the container as a template, or "" if it is the same as on the host. `base`
/// is a template of the last component of the host path. It is appended to a `mountPath` that ends
/// with a slash.
std::string ContainerPath(const GenericPath& path, const std::string& base) {
  if (path.mount_path.empty()) return "";
  const std::string target = EscapedForTemplate(path.mount_path);
  return target.ends_with('/') ? target + base : target;
}

/// Returns an ID template for a device of these paths. It uses the variable "group".
std::string JoinedNames(const std::vector<PathPattern>& parts) {
  std::string joined;
  for (const PathPattern& part : parts) joined += (joined.empty() ? "" : "+") + part.name();
  return "{group}:" + EscapedForTemplate(joined);
}

class GroupPlanner {
 public:
  explicit GroupPlanner(Findings& findings) : findings_(findings) {}

  std::optional<GroupPlan> PlanOf(const GenericGroup& group);

 private:
  using PathPatterns = std::vector<PathPattern>;

  std::optional<GroupPlan> PlanOfMounts(const PathPatterns& mounts);
  std::optional<GroupPlan> PlanOfOne(const PathPattern& part);
  std::optional<GroupPlan> PlanOfSet(const PathPatterns& parts);
  std::optional<GroupPlan> PlanOfShared(const PathPatterns& parts);
  std::optional<GroupPlan> PlanOfPairs(const PathPatterns& parts);
  bool CanShare(const PathPattern& part);
  std::optional<NewNode> SharedNode(const PathPattern& part);
  bool AddMounts(const PathPatterns& mounts, bool has_glob, GroupPlan& plan);
  std::nullopt_t CannotConvert(const GenericPath& path, std::string message, std::string hint);

  Findings& findings_;
};

std::nullopt_t GroupPlanner::CannotConvert(const GenericPath& path, std::string message,
                                           std::string hint) {
  findings_.CannotConvert(path.place, std::move(message), std::move(hint));
  return std::nullopt;
}

/// The USB IDs with the same serial number become a match. Several in a group are usually one
/// device that has another ID after its firmware is loaded.
GroupPlan PlanOfUsb(const GenericGroup& group) {
  GroupPlan plan;
  for (const GenericUsb& usb : group.usb) {
    const std::string serial = GlobOf(usb.serial);
    auto match = std::find_if(plan.matches.begin(), plan.matches.end(),
                              [&](const NewMatch& known) { return known.serial == serial; });
    if (match == plan.matches.end()) {
      // The node below /dev/bus/usb and no other.
      plan.matches.push_back({.serial = serial, .udev_subsystem = "usb"});
      match = plan.matches.end() - 1;
    }
    const std::string id = usb.vendor + ":" + usb.product;
    if (std::find(match->usb.begin(), match->usb.end(), id) == match->usb.end()) {
      match->usb.push_back(id);
    }
  }
  for (NewMatch& match : plan.matches) {
    if (match.usb.size() == 1) continue;
    match.id = "{usb_port}";
    match.notes.push_back(
        "The IDs of a group are usually those of one device before and after its firmware is "
        "loaded. It stays the same device, because its ID is the port.");
  }
  auto& notes = plan.matches.front().notes;
  notes.insert(
      notes.begin(),
      "Difference: if several such devices are plugged in, generic-device-plugin combines them "
      "into one device; in Patchbay, each is a separate device.");
  plan.nodes.emplace_back();
  return plan;
}

/// A directory becomes one device of all nodes in it, and any other path or glob a device for each
/// match.
std::optional<GroupPlan> GroupPlanner::PlanOfOne(const PathPattern& part) {
  GroupPlan plan;
  NewMatch& match = plan.matches.emplace_back();
  NewNode node;
  node.permissions = part.path->permissions;
  if (part.is_directory()) {
    const std::string& path = *part.pattern.path;
    const bool is_elsewhere = !part.path->mount_path.empty();
    match = MatchOfDirectory(path, "generic-device-plugin", is_elsewhere ? "below" : "");
    if (is_elsewhere) {
      std::string target = EscapedForTemplate(part.path->mount_path);
      if (target.ends_with('/')) target += BaseName(path);
      node.container_path = target + "/{below}";
    }
  } else {
    match.path = part.pattern.glob;
    if (!part.is_in_place()) node.container_path = ContainerPath(*part.path, "{name}");
  }
  plan.nodes.push_back(std::move(node));
  return plan;
}

/// Several paths without wildcards: one device of all nodes that a regular expression matches.
std::optional<GroupPlan> GroupPlanner::PlanOfSet(const PathPatterns& parts) {
  GroupPlan plan;
  NewMatch& match = plan.matches.emplace_back();
  std::string regex;
  bool in_place = true, alike = true, below_dev = true;
  for (const PathPattern& part : parts) {
    const std::string& path = *part.pattern.path;
    below_dev = below_dev && path.starts_with("/dev/") && path.size() > 5;
    if (!below_dev) break;
    regex += (regex.empty() ? "" : "|") + RegexOf(std::string_view(path).substr(5)) +
             (part.is_directory() ? Format("/{}", kBelow) : "");
    if (part.is_directory() && !part.is_in_place()) {
      return CannotConvert(*part.path,
                           "a directory in a group with other paths cannot have a `mountPath`",
                           "list the nodes in it, or move it to a separate group");
    }
    in_place = in_place && part.is_in_place();
    alike = alike && part.path->permissions == parts.front().path->permissions;
    if (!part.path->optional) {
      match.require.push_back(GlobOf(path) + (part.is_directory() ? "/**" : ""));
    }
  }
  if (!below_dev) {
    return CannotConvert(*parts.front().path,
                         "all paths of a device with several paths must be below /dev",
                         "use `type: Mount` for the other paths");
  }
  if (std::any_of(parts.begin(), parts.end(),
                  [](const PathPattern& p) { return p.is_directory(); })) {
    match.notes.push_back(NoteOnBelow());
  }
  match.regex = Format("/(?P<group>dev)/(?:{})", regex);
  match.group_by = "group";
  match.id = JoinedNames(parts);
  if (in_place && alike) {
    plan.nodes.push_back({{}, "", "", parts.front().path->permissions, false});
    return plan;
  }
  for (const PathPattern& part : parts) {
    if (part.is_directory()) {
      return CannotConvert(
          *part.path,
          "a directory in a group with `mountPath` or different permissions cannot be "
          "converted",
          "list the nodes in it, or move it to a separate group");
    }
    plan.nodes.push_back({{},
                          EscapedForTemplate(*part.pattern.path),
                          ContainerPath(*part.path, EscapedForTemplate(part.name())),
                          part.path->permissions,
                          part.path->optional});
  }
  return plan;
}

/// Returns whether each match of a glob can form a device with this path. In generic-device-plugin,
/// a path without a limit is part of the first device only.
bool GroupPlanner::CanShare(const PathPattern& part) {
  if (part.path->limit > 1) return true;
  findings_.CannotConvert(
      part.path->place,
      Format("{} has no `limit`, so it forms a device with the first match of the glob only; "
             "Patchbay has no equivalent",
             Truncate(*part.pattern.path, 100)),
      "replace the glob with the path of one node, or set a `limit` for this path");
  return false;
}

/// Returns a node that is part of every device of a glob.
std::optional<NewNode> GroupPlanner::SharedNode(const PathPattern& part) {
  if (!CanShare(part)) return std::nullopt;
  if (part.is_directory()) {
    return CannotConvert(*part.path, "a directory in a group with a glob cannot be converted",
                         "list the nodes in it");
  }
  NewNode node;
  node.host_path = EscapedForTemplate(*part.pattern.path);
  node.container_path = ContainerPath(*part.path, EscapedForTemplate(part.name()));
  node.permissions = part.path->permissions;
  node.optional = part.path->optional;
  node.notes.push_back(
      Format("Difference: the limit of {} is not enforced; every device includes {}.",
             part.path->limit, *part.pattern.path));
  if (!part.path->optional) {
    node.notes.push_back(
        "Difference: if the path is missing, generic-device-plugin advertises no devices; in "
        "Patchbay, they are Unhealthy until it exists.");
  }
  return node;
}

/// One glob, and paths that are part of the device of each match.
std::optional<GroupPlan> GroupPlanner::PlanOfShared(const PathPatterns& parts) {
  GroupPlan plan;
  NewMatch& match = plan.matches.emplace_back();
  for (const PathPattern& part : parts) {
    if (!part.is_literal()) {
      match.path = part.pattern.glob;
      plan.nodes.push_back({{}, "", ContainerPath(*part.path, "{name}"), part.path->permissions});
    } else if (auto node = SharedNode(part)) {
      plan.nodes.push_back(std::move(*node));
    } else {
      return std::nullopt;
    }
  }
  return plan;
}

/// Several globs with one star each. Nodes for which the stars match the same text form a device.
std::optional<GroupPlan> GroupPlanner::PlanOfPairs(const PathPatterns& parts) {
  GroupPlan plan;
  NewMatch& match = plan.matches.emplace_back();
  std::vector<const PathPattern*> globs;
  for (const PathPattern& part : parts) {
    if (part.is_literal()) continue;
    if (!part.pattern.has_one_star || part.path->limit != 1) {
      return CannotConvert(
          *part.path,
          "generic-device-plugin pairs the matches of several globs by sort order; "
          "this can be converted only if each glob has a single * and no `limit`",
          "use regex and group_by to specify which nodes form a device; see "
          "docs/migration.md");
    }
    globs.push_back(&part);
  }
  std::string common = globs.front()->pattern.before;
  for (const PathPattern* glob : globs) {
    const std::string& before = glob->pattern.before;
    common.resize(static_cast<std::size_t>(
        std::mismatch(common.begin(), common.end(), before.begin(), before.end()).first -
        common.begin()));
  }
  std::string befores, afters;
  for (const PathPattern* glob : globs) {
    befores +=
        (glob == globs.front() ? "" : "|") + RegexOf(glob->pattern.before.substr(common.size()));
    afters += (glob == globs.front() ? "" : "|") + RegexOf(glob->pattern.after);
    if (!glob->path->optional) match.require.push_back(glob->pattern.glob);
  }
  // A pattern that ends with its star also matches the names of other nodes in the directory. If
  // only some of the patterns do, the star is therefore restricted to digits.
  const bool is_loose = std::any_of(globs.begin(), globs.end(), [&](const PathPattern* glob) {
    return glob->pattern.after.empty() != globs.front()->pattern.after.empty();
  });
  match.regex = Format("{}(?:{})(?P<pair>{})(?:{})", RegexOf(common), befores,
                       is_loose ? "\\d+" : "[^/]*?", afters);
  match.group_by = "pair";
  match.id = EscapedForTemplate(std::string(BaseName(globs.front()->pattern.before))) + "{pair}";
  match.notes.push_back(
      Format("Difference: generic-device-plugin pairs the matches of these patterns by sort order; "
             "Patchbay groups the nodes for which the * matches the same {}.",
             is_loose ? "number" : "text"));
  for (const PathPattern& part : parts) {
    if (part.is_literal()) {
      auto node = SharedNode(part);
      if (!node) return std::nullopt;
      plan.nodes.push_back(std::move(*node));
      continue;
    }
    const std::string host =
        EscapedForTemplate(part.pattern.before) + "{pair}" + EscapedForTemplate(part.pattern.after);
    plan.nodes.push_back({{},
                          host,
                          ContainerPath(*part.path, std::string(BaseName(host))),
                          part.path->permissions,
                          part.path->optional});
  }
  return plan;
}

/// A group with mounts only. The first one becomes the match of the resource.
std::optional<GroupPlan> GroupPlanner::PlanOfMounts(const PathPatterns& mounts) {
  GroupPlan plan;
  NewMatch& match = plan.matches.emplace_back();
  const PathPattern& first = mounts.front();
  match.path = first.pattern.glob;
  match.type = "any";
  plan.nodes.emplace_back();
  const auto mount = [](const PathPattern& part, const std::string& host, const std::string& base) {
    return NewMount{
        {}, host, ContainerPath(*part.path, base), part.path->read_only, part.path->optional};
  };
  plan.mounts.push_back(first.is_literal() ? mount(first, EscapedForTemplate(*first.pattern.path),
                                                   EscapedForTemplate(first.name()))
                                           : mount(first, "{path}", "{name}"));
  if (first.pattern.glob.starts_with("/dev/")) {
    plan.mounts.back().notes.push_back(
        "Difference: if this is a device, the container is also allowed to open it.");
  }
  if (!AddMounts({mounts.begin() + 1, mounts.end()}, !first.is_literal(), plan)) {
    return std::nullopt;
  }
  return plan;
}

bool GroupPlanner::AddMounts(const PathPatterns& mounts, bool has_glob, GroupPlan& plan) {
  for (const PathPattern& part : mounts) {
    if (!part.is_literal()) {
      CannotConvert(*part.path,
                    "a glob with `type: Mount` in a group with other paths cannot be converted",
                    "list the paths, or move the glob to a separate group");
      return false;
    }
    if (has_glob && !CanShare(part)) return false;
    NewMount mount{{},
                   EscapedForTemplate(*part.pattern.path),
                   ContainerPath(*part.path, EscapedForTemplate(part.name())),
                   part.path->read_only,
                   part.path->optional};
    if (!part.path->optional) {
      mount.notes.push_back(
          "Difference: if the path is missing, generic-device-plugin advertises no devices; in "
          "Patchbay, the container does not start.");
    }
    if (has_glob) {
      mount.notes.push_back(
          Format("Difference: the limit of {} is not enforced.", part.path->limit));
    }
    plan.mounts.push_back(std::move(mount));
  }
  return true;
}

std::optional<GroupPlan> GroupPlanner::PlanOf(const GenericGroup& group) {
  if (!group.usb.empty()) return PlanOfUsb(group);
  PathPatterns devices, mounts;
  for (const GenericPath& path : group.paths) {
    (path.is_mount ? mounts : devices).push_back({&path, FromGo(path.path)});
  }
  if (devices.empty()) return PlanOfMounts(mounts);
  const auto globs = std::count_if(devices.begin(), devices.end(),
                                   [](const PathPattern& part) { return !part.is_literal(); });
  auto plan = devices.size() == 1 ? PlanOfOne(devices.front())
              : globs == 0        ? PlanOfSet(devices)
              : globs == 1        ? PlanOfShared(devices)
                                  : PlanOfPairs(devices);
  if (!plan || !AddMounts(mounts, globs > 0, *plan)) return std::nullopt;
  // Next to a glob, the paths have notes of their own, or are errors.
  for (const PathPattern& part : devices) {
    if (part.path->limit == 1 || (devices.size() > 1 && globs > 0)) continue;
    plan->matches.front().notes.push_back(
        Format("The limit of {} of {} is not converted: it has no effect, because no other "
               "path of the group finds more nodes.",
               part.path->limit, part.path->path));
  }
  return plan;
}

}  // namespace

std::optional<GroupPlan> PlanOfGroup(const GenericGroup& group, Findings& findings) {
  return GroupPlanner(findings).PlanOf(group);
}

}  // namespace patchbay
