#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "discovery/conditions.h"
#include "discovery/scan_context.h"

namespace patchbay {

/// Adds a sysfs device with all its nodes: its own, and those of its descendants, except
/// descendants for which `is_other` is true and those below them. `also` are syspaths of further
/// parts. The conditions of the match select among these parts; without conditions, all parts with
/// a node are selected. Adds nothing if no part meets the conditions, if one of them excludes the
/// device, or if all nodes are excluded. Rejects the device if one of its nodes is missing. The
/// first network interface sets the variables of the device.
void AddSysfsDevice(const DeviceAncestry& device, std::string identity,
                    const std::function<bool(const SysfsDevice&)>& is_other,
                    const std::vector<std::string>& also, ScanContext& scan);

/// Reports a device that does not match the pattern, a UsbPattern or PciPattern, and whether it is
/// of another kind.
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

/// Call it at the end of a source: reports why the object that the request names does not match the
/// pattern, see ScanContext::ReportUnmatched. It can be of a kind that the scan does not list.
template <class Pattern>
void ReportUnmatchedDevice(const Pattern& pattern, ScanContext& scan) {
  std::optional<std::string> why = "sysfs has no such device";
  for (const std::string& name : scan.request().wanted) {
    if (!name.starts_with(kSysDevices)) continue;
    const auto device = scan.ancestries().Of(name);
    if (!device) continue;
    auto mismatch = FirstMismatch(pattern, *device, scan.sysfs());
    why = mismatch ? std::optional(std::move(mismatch->why)) : std::nullopt;
  }
  scan.ReportUnmatched(std::move(why));
}

}  // namespace patchbay
