#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_writer.h"
#include "discovery/device_ancestry.h"
#include "suggest/host_device.h"

namespace patchbay {

/// The note of an alternative for all devices with an ID.
inline constexpr std::string_view kAllOfType = "Or all of its type.";

/// A match for a device.
struct Identity {
  NewMatch match;   ///< with a note that describes the device
  std::string why;  ///< "by its serial number"; "" if it finds other devices, too
};

/// Returns for each of the devices with these indexes a match that finds this device and no other
/// one. A match compares what stays over restarts and when devices are found in another order: the
/// serial number of a USB device that no other one has, its controller and port, the PCI address,
/// the serial number of a disk, ID_PATH of udev, or the place in sysfs without the numbers that the
/// kernel gives. The same holds for its device ID.
///
/// Of devices that are equal in all of this, the first has a match for all, which is a comment, and
/// the others have none. With `is_shortest`, a match compares only the type if no other device has
/// it, and the name of a device that equals others; and it has those that can replace it as
/// alternatives. `ancestries` and `sysfs` are those of the parts. May block.
std::vector<std::optional<Identity>> Identify(const std::vector<HostDevice>& devices,
                                              const std::vector<std::size_t>& indexes,
                                              bool is_shortest, DeviceAncestries& ancestries,
                                              const Sysfs& sysfs);

}  // namespace patchbay
