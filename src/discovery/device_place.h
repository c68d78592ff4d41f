#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "discovery/device_ancestry.h"

namespace patchbay {

/// A place in sysfs, without the numbers that the kernel gives in the order in which it finds
/// devices, such as those of USB buses: the port 2 of a USB 2 bus and that of a USB 3 bus have one
/// place if one controller has both buses.
struct SysfsPlace {
  std::string pattern;  ///< for DEVPATH, with * for each number: see WithDigits
  /// The most specific names that stay: "fe204000.spi-spi.1", "0000:00:14.0-usb-2.3".
  std::string name;
};

/// Returns the place of the device or, with `is_whole`, of all below its parent. Pure.
SysfsPlace PlaceOf(const DeviceAncestry& device, bool is_whole);

/// Returns a pattern for the name of a device without these numbers, which have up to three digits:
/// "ttyS*" for ttyS0. What follows the number of a bus stays: "spi*.1" for spi0.1, "*-0050" for
/// 1-0050. Pure.
std::string NameWithoutNumbers(std::string_view name);

/// Returns a text for the pattern of a place, which no other pattern has on a real host. Pure.
std::string TextOfPlace(std::string_view pattern);

/// Returns the pattern of a place with numbers of up to three digits for each *, which would match
/// a / as well, and so the devices of another bus behind this one. A * for a whole name, behind a
/// letter of a disk, or for a USB bus with hubs stays. Pure.
std::string WithDigits(std::string_view pattern);

/// The devices at places, by a group in which they are compared.
class DevicesAtPlaces {
 public:
  void Add(const std::string& group, const std::string& devpath, std::string place);

  /// Returns whether a pattern for a place matches the DEVPATH of a device of the group at another
  /// one. Compares a limited number of devices.
  bool FindsOther(const std::string& group, const std::string& place,
                  const std::string& pattern) const;

 private:
  std::map<std::pair<std::string, std::string>, std::string> places_;  ///< by group and DEVPATH
};

}  // namespace patchbay
