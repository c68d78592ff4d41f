#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/host_root.h"

namespace patchbay {

/// The argument of `explain --path`: a device node, a link to one, a sysfs device given by path or
/// name, a device ID, or the name of a device in a ResourceSlice.
struct ExplainTarget {
  std::string argument;                     ///< a path is normalized
  std::vector<std::string> paths = {};      ///< all paths of the object, the argument first
  std::vector<std::string> syspaths = {};   ///< its sysfs devices; several if they share a name
  std::vector<std::string> functions = {};  ///< the syspaths behind a node of VFIO
  std::string description = {};             ///< what it is, or why it cannot be resolved

  bool is_path() const { return argument.starts_with('/'); }
  bool HasPath(const std::string& path) const;
  /// Returns all names, as ScanRequest::wanted has them.
  std::vector<std::string> Names() const;
};

/// Finds the names of the object on the host, and describes it. An argument that names nothing on
/// the host can still be the ID of a device. May block.
ExplainTarget FindTarget(const std::string& argument, const HostRoot& host);

}  // namespace patchbay
