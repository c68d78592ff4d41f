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
  kForbidden,     ///< the system denies access, whatever the mode
  kWriteOnly,     ///< it cannot be read by anyone
  kTooManyLinks,  ///< a loop of links
  kFailure,       ///< it can be opened, but not read
};

/// The first obstacle on the way to a path.
struct Obstacle {
  Barrier barrier = Barrier::kNone;
  std::string path = {};  ///< the host path where it stands, at or above the place
  std::vector<std::string> neighbours = {};  ///< of what is missing: names that it may be meant for

  bool operator==(const Obstacle&) const = default;
};

/// Follows a path that a scan could not read, and tries to read it as a scan does, to find what an
/// Error does not contain: the reason, and the directory on the way that causes it. A path with a
/// trailing slash should be a directory. An empty /dev counts as missing. Returns kNone if the path
/// can be read now. Opens no device. May block.
Obstacle CheckAccess(const HostRoot& host, const std::string& path);

/// Returns the first names that are similar to a pattern of one component that matches none of
/// them: they have the same prefix before the first wildcard, ignoring case and its last two
/// characters.
std::vector<std::string> NamesLike(std::string_view pattern, const std::vector<HostEntry>& entries);

}  // namespace patchbay
