#pragma once

#include <string>
#include <vector>

#include "os/host_root.h"

namespace patchbay {

/// Why a process cannot read a path on the host.
enum class Barrier {
  kNone,
  kMissing,       ///< it does not exist
  kNoDirectory,   ///< not a directory
  kNoRight,       ///< its mode denies access to this process
  kForbidden,     ///< the system denies access regardless of the mode
  kWriteOnly,     ///< no user can read it
  kTooManyLinks,  ///< a loop of links
  kFailure,       ///< it can be opened, but not read
};

/// The first obstacle on the way to a path.
struct Obstacle {
  Barrier barrier = Barrier::kNone;
  std::string path = {};  ///< the host path of the obstacle: the requested path or one above it
  std::vector<std::string> neighbors = {};  ///< if the path is missing: similar names next to it

  bool operator==(const Obstacle&) const = default;
};

/// Finds out why a scan could not read a path. Follows the path and tries to read it as a scan
/// does, because an Error does not name the directory that causes the failure. A path with a
/// trailing slash should be a directory. An empty /dev counts as missing. Returns kNone if the path
/// can be read now. Opens no device. May block.
Obstacle CheckAccess(const HostRoot& host, const std::string& path);

/// Returns at most three entries with names similar to `pattern`, a glob of one path component that
/// matches none of them. A name is similar if it starts with the text before the first wildcard.
/// The comparison ignores case and, if nothing matches, up to two characters at the end of the
/// text.
std::vector<std::string> NamesLike(std::string_view pattern, const std::vector<HostEntry>& entries);

}  // namespace patchbay
