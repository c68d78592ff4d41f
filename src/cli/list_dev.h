#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "os/host_root.h"

namespace patchbay {

/// Returns the names of the devices and directories in /dev of a host, sorted, to the depth that
/// smarter-device-manager uses. A link counts as its target, and links to directories are not
/// followed. Other file systems, such as /dev/shm and /dev/pts, are left out. Directories that
/// cannot be read, and names beyond `most`, are findings. Fails if /dev itself cannot be read. May
/// block.
Result<std::vector<SeenName>> ListDev(const HostRoot& host, std::size_t most, Findings& findings);

}  // namespace patchbay
