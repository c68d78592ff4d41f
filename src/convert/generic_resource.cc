// A group is converted by one of five strategies, depending on its paths: USB IDs (ResourceOfUsb),
// only mounts (ResourceOfMounts), one device path (ResourceOfOne), several paths without wildcards
// (ResourceOfSet), or paths with one glob or several (ResourceOfGlobs). Pairs of globs, and a set
// that is not `together`, become one regular expression whose named group, which has the same value
// for all nodes of a device, is the `group_by`.
//
// Text from the input is escaped for its destination: EscapedForGlob, RegexOf or
// EscapedForTemplate. A strategy adds at least one finding whenever it returns nothing.
//
// The resource of a device has the matches of all groups, but only one count and one list of
// mounts: those of the first group.

#include "convert/generic_resource.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "config/reporter.h"
#include "convert/directories.h"
#include "convert/disks.h"
#include "convert/patterns.h"
#include "model/glob.h"

namespace patchbay {
namespace {

using GenericPaths = std::vector<GenericPath>;

/// Returns the path in the container as a template, or "" if it is the same as on the host. `base`
/// is a template of the last component of the host path. It is appended to a `mountPath` that ends
/// with a slash.
std::string ContainerPath(const GenericPath& path, std::string_view base) {
  if (path.mount_path.empty()) return "";
  const std::string target = EscapedForTemplate(path.mount_path);
  return target.ends_with('/') ? target + std::string(base) : target;
}

/// Returns a node, or a mount, whose path on the host is this template.
NewNode NodeAt(const std::string& host, const GenericPath& path) {
  return {.host_path = host,
          .container_path = ContainerPath(path, BaseName(host)),
          .permissions = path.permissions,
          .optional = path.optional};
}
NewMount MountAt(const std::string& host, const GenericPath& path) {
  return {.host_path = host,
          .container_path = ContainerPath(path, BaseName(host)),
          .read_only = path.read_only,
          .optional = path.optional};
}

/// Several paths without wildcards: a device with all of them.
NewMatch MatchOfAll(const GenericPaths& parts) {
  NewMatch match{.together = true};
  for (const GenericPath& part : parts) {
    const std::string& glob = part.pattern.glob;
    const bool is_new = std::ranges::find(match.paths, glob) == match.paths.end();
    if (is_new) match.paths.push_back(glob);
  }
  return match;
}

/// Several paths, some of which are optional or directories: one device of all nodes that a regular
/// expression matches.
NewMatch MatchOfSome(const GenericPaths& parts) {
  NewMatch match{.group_by = "group"};
  std::string regex, names;
  for (const GenericPath& part : parts) {
    const bool is_directory = part.is_directory;
    if (is_directory) match.notes = {NoteOnBelow()};
    const std::string_view below_dev = std::string_view(*part.pattern.path).substr(kDev.size());
    regex += (regex.empty() ? "" : "|") + RegexOf(below_dev) +
             (is_directory ? Format("/{}", kBelow) : "");
    names += (names.empty() ? "" : "+") + part.name();
    if (part.optional) continue;
    match.require.push_back(part.pattern.glob + (is_directory ? "/**" : ""));
  }
  match.regex = Format("/(?P<group>dev)/(?:{})", regex);
  match.id = "{group}:" + EscapedForTemplate(names);
  return match;
}

std::nullopt_t CannotConvert(const GenericPath& path, std::string message, std::string hint,
                             Findings& findings) {
  findings.CannotConvert(path.place, std::move(message), std::move(hint));
  return std::nullopt;
}

/// The USB IDs with the same serial number become a match. Several in a group are usually one
/// device that has another ID after its firmware is loaded.
NewResource ResourceOfUsb(const GenericGroup& group, Findings& findings) {
  NewResource resource;
  for (const GenericUsb& usb : group.usb) {
    const std::string serial = EscapedForGlob(usb.serial);
    auto match = std::ranges::find(resource.matches, serial, &NewMatch::serial);
    if (match == resource.matches.end()) {
      // The node below /dev/bus/usb and no other.
      resource.matches.push_back({.serial = serial, .udev = {.subsystem = "usb"}});
      match = resource.matches.end() - 1;
    }
    const std::string id = usb.vendor + ":" + usb.product;
    if (std::ranges::find(match->usb, id) == match->usb.end()) {
      match->usb.push_back(id);
    }
  }
  for (NewMatch& match : resource.matches) {
    if (match.usb.size() == 1) continue;
    match.id = "{usb_port}";
    match.notes.push_back(
        "The IDs of a group are usually those of one device before and after its firmware is "
        "loaded. It stays the same device, because its ID is the port.");
  }
  // A serial number belongs to one device.
  if (group.usb.size() > 1 || group.usb.front().serial.empty()) {
    auto& notes = resource.matches.front().notes;
    notes.insert(notes.begin(),
                 findings.Differs(group.place,
                                  "if several such devices are plugged in, generic-device-plugin "
                                  "combines them into one device; in Patchbay, each is a separate "
                                  "device",
                                  "check with `lsusb` that a node has one of them"));
  }
  resource.nodes.emplace_back();
  return resource;
}

/// A directory becomes one device of all nodes in it, and any other path or glob a device for each
/// match.
NewResource ResourceOfOne(const GenericPath& part) {
  NewResource resource;
  NewMatch& match = resource.matches.emplace_back();
  NewNode node;
  node.permissions = part.permissions;
  if (part.is_directory) {
    const std::string& path = *part.pattern.path;
    const bool is_elsewhere = !part.mount_path.empty();
    match = MatchOfDirectory(path, "generic-device-plugin", is_elsewhere ? "below" : "");
    if (is_elsewhere) {
      node.container_path = ContainerPath(part, EscapedForTemplate(part.name())) + "/{below}";
    }
  } else {
    match.paths = {part.pattern.glob};
    if (!part.is_in_place()) node.container_path = ContainerPath(part, "{name}");
  }
  resource.nodes.push_back(std::move(node));
  return resource;
}

/// Several paths without wildcards, which form one device.
std::optional<NewResource> ResourceOfSet(const GenericPaths& parts, Findings& findings) {
  const auto is_elsewhere = [](const GenericPath& part) {
    return !part.pattern.path->starts_with(kDev) || part.pattern.path->size() == kDev.size();
  };
  if (std::ranges::any_of(parts, is_elsewhere)) {
    return CannotConvert(parts.front(),
                         "all paths of a device with several paths must be below /dev",
                         "use `type: Mount` for the other paths", findings);
  }
  const bool share_a_node = std::ranges::all_of(parts, [&](const GenericPath& part) {
    return part.is_in_place() && part.permissions == parts.front().permissions;
  });
  const auto directory = std::ranges::find_if(parts, &GenericPath::is_directory);
  if (directory != parts.end() && !share_a_node) {
    return CannotConvert(*directory,
                         "a directory in a group with `mountPath` or different permissions cannot "
                         "be converted",
                         "list the nodes in it, or move it to a separate group", findings);
  }
  const bool needs_all = std::ranges::none_of(
      parts, [](const GenericPath& part) { return part.optional || part.is_directory; });
  NewResource resource;
  resource.matches.push_back(needs_all ? MatchOfAll(parts) : MatchOfSome(parts));
  if (share_a_node) {
    resource.nodes.push_back({.permissions = parts.front().permissions});
    return resource;
  }
  for (const GenericPath& part : parts) {
    resource.nodes.push_back(NodeAt(EscapedForTemplate(*part.pattern.path), part));
  }
  return resource;
}

/// Returns whether each match of a glob can form a device with this path. In generic-device-plugin,
/// a path without a limit is part of the first device only.
bool CanShare(const GenericPath& part, Findings& findings) {
  if (part.limit > 1) return true;
  findings.CannotConvert(
      part.place,
      Format("{} has no `limit`, so it forms a device with the first match of the glob only; "
             "Patchbay has no equivalent",
             Truncate(*part.pattern.path, 100)),
      "replace the glob with the path of one node, or set a `limit` for this path");
  return false;
}

/// Returns the comment that the limit of a path next to a glob is not enforced.
std::string NoteOnLimit(const GenericPath& part, Findings& findings) {
  return findings.Differs(part.place,
                          Format("the limit of {} is not enforced; every device includes {}",
                                 part.limit, Truncate(*part.pattern.path, 100)),
                          "check that the glob finds no more nodes than the limit");
}

/// Returns a node that is part of every device of a glob.
std::optional<NewNode> SharedNode(const GenericPath& part, Findings& findings) {
  if (!CanShare(part, findings)) return std::nullopt;
  if (part.is_directory) {
    return CannotConvert(part, "a directory in a group with a glob cannot be converted",
                         "list the nodes in it", findings);
  }
  NewNode node = NodeAt(EscapedForTemplate(*part.pattern.path), part);
  node.notes.push_back(NoteOnLimit(part, findings));
  if (!part.optional) {
    node.notes.push_back(
        "Difference: if the path is missing, generic-device-plugin advertises no devices; in "
        "Patchbay, they are Unhealthy until it exists.");
  }
  return node;
}

/// Several globs with one star each: nodes for which the stars match the same text form a device.
std::optional<NewMatch> MatchOfPairs(const GenericPaths& globs, Findings& findings) {
  std::string common = globs.front().pattern.before;
  for (const GenericPath& glob : globs) {
    if (!glob.pattern.has_one_star || glob.limit != 1) {
      return CannotConvert(
          glob,
          "generic-device-plugin pairs the matches of several globs by sort order; "
          "this can be converted only if each glob has a single * and no `limit`",
          "use regex and group_by to specify which nodes form a device; see docs/migration.md",
          findings);
    }
    while (!glob.pattern.before.starts_with(common)) common.pop_back();
  }
  NewMatch match{.group_by = "pair"};
  // A pattern that ends with its star also matches the names of other nodes in the directory. If
  // only some of the patterns do, the star is therefore restricted to digits.
  bool is_loose = false;
  std::string befores, afters;
  for (const GenericPath& glob : globs) {
    const char* separator = &glob == &globs.front() ? "" : "|";
    befores += separator + RegexOf(glob.pattern.before.substr(common.size()));
    afters += separator + RegexOf(glob.pattern.after);
    is_loose = is_loose || glob.pattern.after.empty() != globs.front().pattern.after.empty();
    if (!glob.optional) match.require.push_back(glob.pattern.glob);
  }
  match.regex = Format("{}(?:{})(?P<pair>{})(?:{})", RegexOf(common), befores,
                       is_loose ? "\\d+" : "[^/]*?", afters);
  match.id = EscapedForTemplate(std::string(BaseName(globs.front().pattern.before))) + "{pair}";
  match.notes.push_back(findings.Differs(
      globs.front().place,
      Format("generic-device-plugin pairs the matches of these patterns by sort order; Patchbay "
             "groups the nodes for which the * matches the same {}",
             is_loose ? "number" : "text"),
      "compare `patchbay devices` on a node"));
  return match;
}

/// One glob or several, and paths that are part of the device of each match.
std::optional<NewResource> ResourceOfGlobs(const GenericPaths& parts, const GenericPaths& globs,
                                           Findings& findings) {
  const bool are_pairs = globs.size() > 1;
  auto match =
      are_pairs ? MatchOfPairs(globs, findings) : NewMatch{.paths = {globs.front().pattern.glob}};
  if (!match) return std::nullopt;
  NewResource resource{.matches = {std::move(*match)}};
  for (const GenericPath& part : parts) {
    const GoPattern& pattern = part.pattern;
    if (part.is_literal()) {
      auto node = SharedNode(part, findings);
      if (!node) return std::nullopt;
      resource.nodes.push_back(std::move(*node));
    } else if (are_pairs) {
      resource.nodes.push_back(NodeAt(
          EscapedForTemplate(pattern.before) + "{pair}" + EscapedForTemplate(pattern.after), part));
    } else {
      resource.nodes.push_back(
          {.container_path = ContainerPath(part, "{name}"), .permissions = part.permissions});
    }
  }
  return resource;
}

/// Adds mounts to a resource. Returns false, with a finding, if one of them cannot be converted.
bool AddMounts(std::span<const GenericPath> mounts, bool has_glob, NewResource& resource,
               Findings& findings) {
  for (const GenericPath& part : mounts) {
    if (!part.is_literal()) {
      CannotConvert(part,
                    "a glob with `type: Mount` in a group with other paths cannot be converted",
                    "list the paths, or move the glob to a separate group", findings);
      return false;
    }
    if (has_glob && !CanShare(part, findings)) return false;
    NewMount mount = MountAt(EscapedForTemplate(*part.pattern.path), part);
    if (!part.optional) {
      mount.notes.push_back(findings.Differs(
          part.place,
          "if the path is missing, generic-device-plugin advertises no devices; in Patchbay, the "
          "container does not start",
          "check that all nodes with the device have the path"));
    }
    if (has_glob) {
      mount.notes.push_back(NoteOnLimit(part, findings));
    }
    resource.mounts.push_back(std::move(mount));
  }
  return true;
}

/// A group with mounts only. The first one becomes the match of the resource.
std::optional<NewResource> ResourceOfMounts(const GenericPaths& mounts, Findings& findings) {
  const GenericPath& first = mounts.front();
  NewResource resource;
  resource.matches.push_back({.paths = {first.pattern.glob}, .type = "any"});
  resource.nodes.emplace_back();
  NewMount mount = first.is_literal() ? MountAt(EscapedForTemplate(*first.pattern.path), first)
                                      : MountAt("{path}", first);
  if (!first.is_literal()) mount.container_path = ContainerPath(first, "{name}");
  if (first.pattern.glob.starts_with(kDev)) {
    mount.notes.push_back(findings.Differs(
        first.place, "if this is a device, the container is also allowed to open it",
        "if it is a directory, write `type = \"directory\"`"));
  }
  resource.mounts.push_back(std::move(mount));
  const std::span others = std::span(mounts).subspan(1);
  if (!AddMounts(others, !first.is_literal(), resource, findings)) return std::nullopt;
  return resource;
}

/// Returns whether a node has the same path in each container.
bool HasFixedPath(const NewNode& node) {
  return !node.container_path.empty() && node.container_path.find('{') == std::string::npos;
}

/// Notes that two devices have the same path in a container.
void NoteSharedPath(const SourceLocation& place, NewResource& resource, Findings& findings) {
  AddOnce(findings.Differs(place,
                           "if a container requests several devices, they would have the same "
                           "path in it; Patchbay rejects the request",
                           "request one device for each container"),
          resource.notes);
}

/// Returns the resource of the paths of a group.
std::optional<NewResource> ResourceOfPaths(const GenericGroup& group, Findings& findings) {
  GenericPaths devices, globs, mounts;
  for (const GenericPath& path : group.paths) {
    (path.is_mount ? mounts : devices).push_back(path);
    if (!path.is_mount && !path.is_literal()) globs.push_back(path);
  }
  auto resource = devices.empty()       ? ResourceOfMounts(mounts, findings)
                  : devices.size() == 1 ? ResourceOfOne(devices.front())
                  : globs.empty()       ? ResourceOfSet(devices, findings)
                                        : ResourceOfGlobs(devices, globs, findings);
  if (!resource) return std::nullopt;
  if (!devices.empty() && !AddMounts(mounts, !globs.empty(), *resource, findings)) {
    return std::nullopt;
  }
  // The path that each device must have.
  const GenericPath& main = (devices.empty() ? mounts : globs.empty() ? devices : globs).front();
  if (main.optional && group.paths.size() > 1 && (devices.size() < 2 || globs.size() == 1)) {
    resource->matches.front().notes.push_back(findings.Differs(
        main.place,
        Format("if {} is missing, generic-device-plugin advertises the other paths of the group; "
               "Patchbay advertises no device",
               Truncate(main.path, 100)),
        "for containers that need only the others, write another resource"));
  }
  // Next to a glob, the paths have notes of their own, or are errors.
  for (const GenericPath& part : devices) {
    if (part.limit == 1 || (devices.size() > 1 && !globs.empty())) continue;
    resource->matches.front().notes.push_back(
        Format("The limit of {} of {} is not converted: it has no effect, because no other "
               "path of the group finds more nodes.",
               part.limit, part.path));
  }
  if (!globs.empty() && std::ranges::any_of(resource->nodes, HasFixedPath)) {
    NoteSharedPath(group.place, *resource, findings);
  }
  return resource;
}

/// Returns whether two matches have the same path in a container.
bool SharePath(const std::vector<NewMatch>& matches) {
  std::set<std::string> paths;
  return std::ranges::any_of(matches, [&](const NewMatch& match) {
    return std::ranges::any_of(match.nodes, [&](const NewNode& node) {
      return HasFixedPath(node) && !paths.insert(node.container_path).second;
    });
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

/// In generic-device-plugin, the last group with a path applies; in Patchbay, the first match.
void KeepLast(std::vector<NewMatch>& matches, Findings& findings) {
  std::map<decltype(NewMatch::paths), SourceLocation> last;
  std::ranges::reverse(matches);
  std::erase_if(matches, [&](const NewMatch& match) {
    auto paths = match.paths;
    paths.push_back(match.regex);
    paths.insert(paths.end(), match.require.begin(), match.require.end());
    if (!match.usb.empty()) return false;
    const auto [known, is_new] = last.emplace(std::move(paths), match.place);
    if (is_new) return false;
    findings.Ignored(match.place,
                     Format("the plugin uses the group at {} instead, which has the same paths",
                            Where(known->second)));
    return true;
  });
  const bool can_overlap =
      std::ranges::any_of(
          matches, [&](const NewMatch& match) { return match.nodes != matches.front().nodes; }) &&
      std::ranges::any_of(matches, [](const NewMatch& match) {
        return match.paths.size() == 1 && match.paths[0].find_first_of("*?[") != std::string::npos;
      });
  if (!can_overlap) std::ranges::reverse(matches);
}

}  // namespace

std::optional<NewResource> ResourceOfGroup(const GenericGroup& group, Findings& findings) {
  auto resource =
      group.usb.empty() ? ResourceOfPaths(group, findings) : ResourceOfUsb(group, findings);
  if (!resource) return std::nullopt;
  resource->replicas = group.count;
  for (NewMatch& match : resource->matches) {
    match.place = group.place;
    match.nodes = resource->nodes;
  }
  resource->nodes.clear();
  return resource;
}

bool AddGroup(NewResource group, NewResource& resource, Findings& findings) {
  if (resource.matches.empty()) {
    resource.replicas = group.replicas;
    resource.mounts = group.mounts;
  }
  const SourceLocation& place = group.matches.front().place;
  if (group.replicas != resource.replicas) {
    findings.CannotConvert(
        place,
        Format("the count of this group, {}, differs from that of the first one, {}; in Patchbay, "
               "all devices of a resource have the same number of replicas",
               group.replicas, resource.replicas),
        "use the same `count`, or move the group to a separate device");
    return false;
  }
  if (group.mounts != resource.mounts) {
    findings.CannotConvert(place,
                           "this group has different mounts than the first one; in Patchbay, all "
                           "devices of a resource have the same mounts",
                           "move the group to a separate device");
    return false;
  }
  for (const std::string& note : group.notes) AddOnce(note, resource.notes);
  for (NewMatch& match : group.matches) resource.matches.push_back(std::move(match));
  return true;
}

void CompleteResource(NewResource& resource, Findings& findings) {
  auto& matches = resource.matches;
  KeepLast(matches, findings);
  if (SharePath(matches)) NoteSharedPath(matches.front().place, resource, findings);
  const auto nodes = matches.front().nodes;
  if (std::ranges::all_of(matches, [&](const NewMatch& match) { return match.nodes == nodes; })) {
    resource.nodes = nodes;
    for (NewMatch& match : matches) match.nodes.clear();
  }
  MakeDistinct(resource);
  AllowMountedDisks(resource);
}

}  // namespace patchbay
