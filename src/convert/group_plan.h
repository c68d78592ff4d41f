#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/path.h"
#include "convert/diagnostics.h"
#include "convert/generic_device_plugin.h"
#include "convert/patterns.h"
#include "convert/toml_writer.h"

namespace patchbay {

/// What becomes of a group: a match of the resource, and what a container gets of its devices.
struct GroupPlan {
  NewMatch match;
  std::vector<NewNode> nodes;
  std::vector<NewMount> mounts;
};

/// What Patchbay has to say for one group by itself; nothing, and a finding, where it cannot.
std::optional<GroupPlan> PlanOfGroup(const GenericGroup& group, Findings& findings);

/// A path of a group, as Patchbay will look for it.
struct Part {
  const GenericPath* path;
  GoPattern pattern;

  bool is_literal() const { return pattern.path.has_value(); }
  bool is_directory() const { return path->is_directory; }
  /// Whether the container gets it where the host has it.
  bool is_in_place() const {
    return path->mount_path.empty() || (is_literal() && path->mount_path == *pattern.path);
  }
  std::string name() const { return std::string(BaseName(*pattern.path)); }
};

/// Where a path comes to be in the container, "" for where the host has it. `base` is the last part
/// of what was found, which a directory gets for a name.
std::string ContainerPath(const GenericPath& path, const std::string& base);

/// An ID for the nodes of these paths, which have a variable "group" in common.
std::string JoinedNames(const std::vector<Part>& parts);

}  // namespace patchbay
