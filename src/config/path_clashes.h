#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "config/reporter.h"
#include "model/container_paths.h"
#include "model/spec.h"

namespace patchbay {

/// A device node or mount of a resource, and the location of its path.
struct ConfiguredPath {
  PathKind kind = PathKind::kNode;
  Template container;
  std::optional<Template> host;  ///< absent: a node of the device
  SourceLocation place;
  const void* group = nullptr;  ///< paths for the same devices; null: for all devices
};

/// Reports device nodes and mounts that a device of `match` gets and that cannot be in one
/// container for any values of the variables. `group` is that of the match. Returns
/// whether there are any.
bool ReportPathClash(std::span<const ConfiguredPath> paths, const MatchSpec& match,
                     const void* group, Reporter& reporter);

}  // namespace patchbay
