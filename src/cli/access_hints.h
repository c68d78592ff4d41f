#pragma once

#include <string>

#include "cli/access_check.h"
#include "os/host_root.h"

namespace patchbay {

/// Returns a hint that names the mount or permission with which this process can read the path.
/// Empty if there is no obstacle. Pure; uses only the path of `host`.
std::string AccessHint(const Obstacle& obstacle, const HostRoot& host);

}  // namespace patchbay
