#pragma once

#include <string>
#include <string_view>

#include "discovery/device_ancestry.h"
#include "discovery/disk_use.h"
#include "discovery/network_use.h"

namespace patchbay {

inline constexpr std::string_view kErases = "a container can erase it";

/// The reasons why an administrator should decide whether containers get a device of a host. Create
/// one per scan; `ancestries` and `sysfs` must outlive it. For one thread at a time, not the loop.
class DeviceRisks {
 public:
  DeviceRisks(DeviceAncestries& ancestries, const Sysfs& sysfs)
      : ancestries_(ancestries), sysfs_(sysfs) {}

  /// Returns why a node or interface is dangerous, by itself or because a container reaches another
  /// one with it, as with the raw node of a USB device; "" if it is harmless. May block.
  std::string Of(const DeviceAncestry& part);

  DiskUse& disks() { return disks_; }

 private:
  std::string OwnRisk(const DeviceAncestry& part);

  DeviceAncestries& ancestries_;
  const Sysfs& sysfs_;
  DiskUse disks_{sysfs_};
  const NetworkUse networks_{sysfs_.host()};
};

}  // namespace patchbay
