#pragma once

#include <string>
#include <vector>

#include "discovery/device_ancestry.h"

namespace patchbay {

/// The devices that a word names.
struct WordTarget {
  std::string node;                        ///< the host path of the device node that it names
  std::vector<std::string> syspaths = {};  ///< of that node, or of devices with parts below them
  std::string note = {};      ///< that several devices request the link that the word is, or ""
  std::string why_none = {};  ///< "it does not exist"; "" if it names a device
};

/// Returns what a word names: a device node or a link to one, as a host path, relative to
/// `directory`, or below /dev; the name of a link that udev makes; a path in /sys; a USB or PCI ID,
/// "1a86:7523"; bus and address of a USB device, "001/007"; or the name of a device in sysfs, such
/// as "1-1.2", "0000:3b:00.0" (or "3b:00.0"), "can0", "ttyUSB0". The node of an IOMMU group names
/// its functions on VFIO, and the function of an NVIDIA card its node. May block.
WordTarget FindNamed(const std::string& word, const std::string& directory,
                     DeviceAncestries& ancestries, const Sysfs& sysfs);

/// Returns the node of an NVIDIA card, whose driver has none in sysfs, by its PCI function or a
/// part of it; "" for other devices. May block.
std::string NvidiaNodeOf(const DeviceAncestry& part, const Sysfs& sysfs);

/// Returns at most five names of devices that are similar to the word, the most similar first. May
/// block.
std::vector<std::string> SimilarNames(const std::string& word, DeviceAncestries& ancestries,
                                      const Sysfs& sysfs);

/// Returns the parts of a device: itself and the devices below it, other than USB devices and PCI
/// functions with their parts, that have a node or are network interfaces. May block.
std::vector<DeviceAncestry> PartsOf(const DeviceAncestry& device, DeviceAncestries& ancestries,
                                    const Sysfs& sysfs);

}  // namespace patchbay
