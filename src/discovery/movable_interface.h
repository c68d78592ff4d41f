#pragma once

#include <optional>
#include <string>

#include "discovery/scan_context.h"

namespace patchbay {

/// Returns the identity of an interface that moves into containers, and adds its record to the
/// scan. Returns nothing for one that no container can have, which is rejected, and for one that
/// has just moved away, see DiscoverInterfaces. Sets `unhealthy` to the reason why a container
/// cannot get it now; routes and addresses of the host are read only when it is moved. May block.
std::optional<NetInterface> MovableInterface(const SysfsDevice& device, ScanContext& scan,
                                             std::string& unhealthy);

}  // namespace patchbay
