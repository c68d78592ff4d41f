#pragma once

#include <string>
#include <vector>

#include "os/host_root.h"

namespace patchbay {

/// What keeps a process from a place on the host.
enum class Barrier {
  kNone,
  kMissing,       ///< there is nothing
  kNoDirectory,   ///< something else is where a directory should be
  kNoRight,       ///< its mode does not let this process in
  kForbidden,     ///< the system refuses, whatever the mode
  kWriteOnly,     ///< nobody may read it
  kTooManyLinks,  ///< links lead in a circle
  kFailure,       ///< it can be opened, but not read
};

/// The first thing in the way to a place.
struct Obstacle {
  Barrier barrier = Barrier::kNone;
  std::string path = {};  ///< the host path where it stands, at or above the place
  std::vector<std::string> neighbours = {};  ///< of what is missing: names that it may be meant for

  bool operator==(const Obstacle&) const = default;
};

/// Walks to a place of which a pass said that it cannot be read, and tries to read it as a pass
/// does, to learn what an Error does not tell: why, and which directory on the way it is. With a
/// slash at its end the place should be a directory. An empty /dev is as good as none. Finds
/// nothing where the way is free by now. Opens no device. May be slow.
Obstacle FindObstacle(const HostRoot& host, const std::string& path);

/// The first names that a pattern of one component, which fits none of them, may be meant for: they
/// begin as it does, in any case, but for two characters before its first wildcard at most.
std::vector<std::string> NamesLike(std::string_view pattern, const std::vector<HostEntry>& entries);

}  // namespace patchbay
