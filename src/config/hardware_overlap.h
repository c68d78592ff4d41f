#pragma once

#include <optional>
#include <string>

#include "model/spec.h"

namespace patchbay {

/// The devices that two matches with the source `usb`, or two with `pci`, can both find, in words:
/// "the USB device 0403:6001". Nothing where their numbers or serial numbers differ, and where it
/// is not certain that they can share a node: when both choose among the nodes of a device, by
/// `udev`, `exclude` or `require`, and not in the same words. Of two serial numbers with wildcards
/// only equal ones are known to meet.
std::optional<std::string> CommonHardware(const MatchSpec& a, const MatchSpec& b);

}  // namespace patchbay
