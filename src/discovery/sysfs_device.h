#pragma once

#include <functional>
#include <string>
#include <vector>

#include "discovery/conditions.h"
#include "discovery/scan_context.h"

namespace patchbay {

/// Adds a device of sysfs with all nodes that belong to it: its own, and those of what lies below
/// it, up to what `is_other` says is a device by itself. `also` are syspaths of more that belongs
/// to it. The conditions of the match choose among all these; without any, whatever has a node
/// counts. Adds nothing when there are conditions and nothing meets them, or when everything that
/// has a node is excluded; rejects a device one of whose nodes is not there. Of several network
/// interfaces the first gives it variables.
void AddSysfsDevice(const DeviceAncestry& device, std::string identity,
                    const std::function<bool(const SysfsDevice&)>& is_other,
                    const std::vector<std::string>& also, ScanContext& scan);

/// Keeps account of a device that does not meet the pattern, which is a UsbPattern or PciPattern,
/// and whether that is hardly a wonder.
template <class Pattern>
void DropSysfsDevice(const Pattern& pattern, const DeviceAncestry& device, std::string identity,
                     std::string unmet, ScanContext& scan) {
  if (!scan.report().is_kept()) return;  // reading sysfs is slow
  const bool is_other = IsOfOtherKind(pattern, device, scan.sysfs());
  scan.report().Drop({{std::move(identity), {device.self().path}, device.self().path},
                      is_other ? DropReason::kOtherKind : DropReason::kCondition,
                      std::move(unmet),
                      is_other ? scan.ancestries().NumbersOf(device.self()) : ""});
}

}  // namespace patchbay
