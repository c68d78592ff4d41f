#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_scan.h"
#include "discovery/device_ancestry.h"

namespace patchbay {

/// The argument of `explain --path`, resolved on this host: a device node, a link to one, a sysfs
/// device given by path or name, a device ID, or the name of a device in a ResourceSlice.
struct ExplainTarget {
  std::string argument;  ///< the argument; a path is normalized, a name in a slice is the ID
  std::vector<std::string> paths = {};     ///< all paths of the object, the argument first
  std::vector<std::string> syspaths = {};  ///< its sysfs devices; several if they share a name
  std::optional<FileType> type = {};  ///< of the file that the path resolves to, if not in /sys
  std::optional<Error> error = {};    ///< why the path cannot be resolved
  std::string hint = {};              ///< how to fix the error; may be empty
  std::string description = {};       ///< a description of the object; may be empty
};

/// Normalizes a path by its text alone: removes duplicate slashes, "." and "..". Returns anything
/// else unchanged.
std::string NormalizedPath(const std::string& argument);

/// Resolves the argument on the host. Fails if it is neither a path, nor a name in sysfs, nor an ID
/// or a name in a ResourceSlice in `inspections`; the error lists the valid forms. May block.
Result<ExplainTarget> ResolveTarget(const std::string& argument,
                                    const std::vector<Inspection>& inspections, const Sysfs& sysfs,
                                    DeviceAncestries& ancestries);

}  // namespace patchbay
