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

/// A converted group: a match of the resource, and the nodes and mounts that a container gets.
struct GroupPlan {
  NewMatch match;
  std::vector<NewNode> nodes;
  std::vector<NewMount> mounts;
};

/// Converts one group, independently of the other groups of the device. If Patchbay has no
/// equivalent, adds a finding and returns nothing.
std::optional<GroupPlan> PlanOfGroup(const GenericGroup& group, Findings& findings);

/// A path of a group and its pattern in Patchbay.
struct Part {
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
std::string ContainerPath(const GenericPath& path, const std::string& base);

/// Returns an ID template for a device of these paths. It uses the variable "group".
std::string JoinedNames(const std::vector<Part>& parts);

}  // namespace patchbay
