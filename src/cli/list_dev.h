#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "os/host_root.h"

namespace patchbay {

/// Returns the sorted names of devices and directories in /dev of a host, down to the depth that
/// smarter-device-manager uses. A link counts as its target; links to directories are listed and
/// not descended into. Other file systems, such as /dev/shm and /dev/pts, are omitted. Directories
/// that cannot be read, and names beyond `max_names`, are added to `findings`. Fails if /dev itself
/// cannot be read. May block.
Result<std::vector<SeenName>> ListDev(const HostRoot& host, std::size_t max_names,
                                      Findings& findings);

}  // namespace patchbay
