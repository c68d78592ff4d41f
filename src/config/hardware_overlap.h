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

/// Describes the devices that meet the conditions of both matches of paths: "the USB device
/// 0403:6001", or "" if neither has a `usb` or `pci`. Returns none if no device can meet both, or
/// if that is not certain: if each has a kind of condition that the other lacks, or if their `udev`
/// or `not` differ.
std::optional<std::string> CommonConditions(const MatchSpec& a, const MatchSpec& b);

}  // namespace patchbay
