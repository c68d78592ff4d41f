#pragma once

#include <string>

#include "cli/obstacle.h"
#include "os/host_root.h"

namespace patchbay {

/// What an administrator does about an obstacle: which mount or right lets this process read what
/// it could not. Empty where nothing is in the way. Pure; of the host only its place counts.
std::string MendFor(const Obstacle& obstacle, const HostRoot& host);

}  // namespace patchbay
