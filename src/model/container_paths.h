#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace patchbay {

/// The rule for device nodes and mounts that one container gets. A runtime makes the mounts first
/// and then the nodes, and does not replace what exists. So a node at the path of a mount is
/// silently missing, a node below a mount is created in the source of the mount, on the host, and
/// nothing can be below a node. `check`, Allocate and the preparation of claims use the same rule.

enum class PathKind { kNode, kMount };

/// A path that a container gets. Views, valid as long as their strings.
///
/// `check` has templates instead of texts. It writes a variable as TemplateShape::kField and its
/// name, which is equal text if and only if the values are known to be equal.
struct ContainerPath {
  std::string_view path;  ///< in the container; absolute, in any spelling
  PathKind kind = PathKind::kNode;
  /// The content at that path: the host path without links. Equal text is equal content. With
  /// a slash at the end: an unknown path below that directory.
  std::string_view source;
  std::string_view owner = {};  ///< who gives it to the container, for messages; may be empty
};

enum class ClashKind {
  kSamePath,     ///< two sources at one path
  kNodeInMount,  ///< a node below a mount whose source does not contain the same node there
  kBelowNode,    ///< a path below a device node
};

/// Two of the paths that cannot be in one container, as indices. For kNodeInMount and kBelowNode,
/// `one` is the ancestor.
struct PathClash {
  ClashKind kind = ClashKind::kSamePath;
  std::size_t one = 0;
  std::size_t other = 0;
  bool operator==(const PathClash&) const = default;
};

/// Returns a clash among the paths of one container, or none. The same source twice at one path is
/// none, and neither is a mount below a mount. Pure; O(n log n).
std::optional<PathClash> FindPathClash(std::span<const ContainerPath> paths);

/// Returns a message for a clash that names both paths and a fix.
std::string TextOf(const PathClash& clash, std::span<const ContainerPath> paths);

}  // namespace patchbay
