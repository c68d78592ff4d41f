#pragma once

#include <string>

#include "discovery/discover.h"

namespace patchbay {

/// Paths of the host that a container gets beside the nodes of its devices.
///
/// Fills in `missing_nodes` with the devices that no container could be given, because the host
/// lacks what a `device_node` names that is not optional, and `missing_mounts`. Watches the
/// directories of those device nodes. Paths that depend on the container ({slot}, {index}) are left
/// to the allocation. In a container only /dev, /sys and what host_root shows are the host's, so
/// elsewhere no mount is missed.
void FindMissing(const ResourceSpec& spec, const std::string& node_name, ScanContext& scan,
                 Discovery& discovery);

}  // namespace patchbay
