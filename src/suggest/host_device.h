#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "discovery/device_ancestry.h"
#include "suggest/kinds.h"

namespace patchbay {

/// A device of the host: parts in sysfs that belong together, in the order of their names.
struct HostDevice {
  const DeviceKind* kind = nullptr;
  std::vector<DeviceAncestry> parts = {};    ///< never empty
  std::vector<DeviceAncestry> console = {};  ///< card nodes of a GPU, which a match leaves out
};

inline bool IsBlock(const HostDevice& device) { return device.kind->subsystem == "block"; }

/// Returns the path of a device as its property DEVPATH has it. Pure.
std::string DevpathOf(const DeviceAncestry& device);

/// Returns whether a match can compare a text of a device, which can be anything. Pure.
bool IsComparable(std::string_view text);

/// Returns the property if it can be compared and all parts have it with one value, otherwise "".
/// Pure.
std::string PropertyOf(const HostDevice& device, std::string_view name);

/// Returns what a device is and calls itself, and its nodes. May block.
std::string DescriptionOf(const HostDevice& device, const Sysfs& sysfs);

}  // namespace patchbay
