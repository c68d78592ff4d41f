#pragma once

#include <string>

#include "cli/access_check.h"
#include "os/host_root.h"

namespace patchbay {

/// Returns a hint for an obstacle: the mount or permission with which this process can read the
/// path. Empty if there is no obstacle. Pure; of `host` only its path is used.
std::string AccessHint(const Obstacle& obstacle, const HostRoot& host);

}  // namespace patchbay
