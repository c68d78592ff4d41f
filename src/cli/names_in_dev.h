#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "convert/convert.h"
#include "convert/findings.h"
#include "os/host_root.h"

namespace patchbay {

/// The names of the devices in the /dev of a host, and of the directories there, as deep as
/// smarter-device-manager looks; in order. A link is what it leads to, and no link to a directory
/// is walked. Other file systems, such as /dev/shm and /dev/pts, are left out. What vanishes
/// meanwhile was never there; a directory that cannot be read, and names beyond `most`, are
/// findings. Fails where /dev itself cannot be read. Slow.
Result<std::vector<SeenName>> NamesInDev(const HostRoot& host, std::size_t most,
                                         Findings& findings);

}  // namespace patchbay
