#pragma once

#include <string>

#include "discovery/discover.h"

namespace patchbay {

/// Checks the host paths of `device_node` and `mount`, which a container gets in addition to the
/// nodes of its devices.
///
/// Sets `unusable` to the devices for which a required `device_node` does not exist, and sets
/// `missing_mounts`. Watches the directories of those device nodes. Paths that depend on the
/// container ({slot}, {index}) are checked by Allocate. If Patchbay itself runs in a container, it
/// sees only /dev, /sys and host_root of the host, so mounts elsewhere are not checked.
void FindMissing(const ResourceSpec& spec, const std::string& node_name, ScanContext& scan,
                 Discovery& discovery);

}  // namespace patchbay
