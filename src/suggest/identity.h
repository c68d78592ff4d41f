#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "config/toml_writer.h"
#include "discovery/device_ancestry.h"
#include "suggest/kinds.h"

namespace patchbay {

/// A device of the host: parts in sysfs that belong together, in the order of their names.
struct HostDevice {
  const DeviceKind* kind = nullptr;
  std::vector<DeviceAncestry> parts = {};  ///< never empty
};

/// Returns for each device a match that finds this device and no other one, with notes that
/// describe it and why it is matched this way. A match compares what stays over restarts and when
/// devices are found in another order: the serial number of a USB device that no other one has, its
/// port, the PCI address, the serial number of a disk, ID_PATH of udev, or the place in sysfs
/// without the numbers that the kernel gives. The same holds for its device ID.
///
/// Of devices that are equal in all of this, the first has a match for all, which is a
/// comment, and the others have none. `ancestries` and `sysfs` are those of the parts. May block.
std::vector<std::optional<NewMatch>> Identify(const std::vector<HostDevice>& devices,
                                              DeviceAncestries& ancestries, const Sysfs& sysfs);

}  // namespace patchbay
