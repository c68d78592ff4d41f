#pragma once

#include <optional>
#include <string>

#include "model/spec.h"

namespace patchbay {

/// Describes the devices that two matches can both find if both have the source `usb` or both have
/// the source `pci`: "the USB device 0403:6001". Returns none if their IDs or serial numbers
/// differ, or if it is not certain that they can share a node: if both select among the nodes of a
/// device with `udev`, `exclude` or `require`, and the texts of these keys differ. Two serial
/// number patterns with wildcards count as overlapping only if they are equal.
std::optional<std::string> CommonHardware(const MatchSpec& a, const MatchSpec& b);

}  // namespace patchbay
