#pragma once

#include <optional>
#include <string>

#include "discovery/scan_context.h"

namespace patchbay {

/// Returns what identifies an interface that moves into containers, and adds its record to the
/// scan. Rejects one that no container can have; returns nothing, too, if it has just moved away,
/// see DiscoverInterfaces. `unhealthy` is set to the reason why a container
/// cannot get it now; routes and addresses of the host are seen only when it is moved. May block.
std::optional<NetInterface> MovableInterface(const SysfsDevice& device, ScanContext& scan,
                                             std::string& unhealthy);

}  // namespace patchbay
