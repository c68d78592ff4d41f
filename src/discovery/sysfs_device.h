#pragma once

#include <functional>
#include <string>
#include <vector>

#include "discovery/scan.h"

namespace patchbay {

/// Adds a device of sysfs with all nodes that belong to it: its own, and those of what lies below
/// it, up to what `is_other` says is a device by itself. `also` are syspaths of more that belongs
/// to it. The conditions of the match choose among all these; without any, whatever has a node
/// counts. Adds nothing when there are conditions and nothing meets them, or when everything that
/// has a node is excluded; rejects a device one of whose nodes is not there. Of several network
/// interfaces the first gives it variables.
void AddSysfsDevice(const Lineage& device, std::string identity,
                    const std::function<bool(const SysfsDevice&)>& is_other,
                    const std::vector<std::string>& also, Scan& scan);

}  // namespace patchbay
