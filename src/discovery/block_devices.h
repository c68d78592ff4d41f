#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "discovery/sysfs.h"
#include "os/host_root.h"

namespace patchbay {

/// Relations between block devices: disks, partitions, and volumes made of them. All read sysfs and
/// fail only if something exists and cannot be read.

/// Returns the block device of a node; without an entry in sysfs, only with `number` and `node`.
Result<SysfsDevice> BlockDeviceOf(const Sysfs& sysfs, const DeviceNumber& number,
                                  const std::string& node);

/// Returns the partitions of a disk. Without sysfs, the nodes next to its own that the kernel names
/// after it: sda1, nvme0n1p1.
Result<std::vector<SysfsDevice>> PartitionsOf(const Sysfs& sysfs, const SysfsDevice& disk);

/// Returns the disk of a partition; nothing for any other device.
Result<std::optional<SysfsDevice>> DiskOf(const Sysfs& sysfs, const SysfsDevice& partition);

/// Returns the devices that the kernel links in "holders", which are volumes and arrays made of the
/// device, or in "slaves", of which it is made.
Result<std::vector<SysfsDevice>> RelatedDevices(const Sysfs& sysfs, const SysfsDevice& device,
                                                std::string_view relation);

}  // namespace patchbay
