#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "discovery/sysfs.h"
#include "model/device.h"

namespace patchbay {

/// The use of block devices by the host, as far as this process can see: mounted file systems
/// including those of btrfs and ZFS, swap space, and volumes and arrays, each through partitions
/// down to the disks.
///
/// Reads the mounts of PID 1 of the host where its /proc is visible, and those of this process if
/// it runs on the host whose /sys it sees: in a container, its volumes are on file systems of the
/// host. Reads the tables at the first question and each device once. Create one per scan; `sysfs`
/// must outlive it. For one thread at a time, not the loop.
class DiskUse {
 public:
  explicit DiskUse(const Sysfs& sysfs) : sysfs_(sysfs) {}
  DiskUse(const DiskUse&) = delete;
  DiskUse& operator=(const DiskUse&) = delete;

  /// Returns what the host uses a block device for, as in "it is mounted at /boot"; "" if nothing
  /// is known. Fails if a table or a device cannot be read.
  Result<std::string> Of(const DeviceNode& node);

  /// Returns why the host needs a device, or may need it: it uses it, which includes a part of an
  /// array that does not run, or that is not known. "" if it does not, and for other devices.
  std::string RiskOf(const SysfsDevice& device);

 private:
  using Number = std::pair<unsigned, unsigned>;

  Status Load();
  Status LoadMounts();
  Status LoadSwaps();
  void LoadBtrfs();
  void LoadPools();
  Status FollowSlaves();
  void Mark(const std::optional<DeviceNumber>& number, const std::string& use);
  std::string LabelOf(const SysfsDevice& device) const;
  std::string OwnUse(const SysfsDevice& device) const;
  Result<std::string> HolderUse(const SysfsDevice& device);
  Result<std::string> UseOf(const SysfsDevice& device);

  const Sysfs& sysfs_;
  std::optional<Status> loaded_;
  /// The use of a device itself, such as "is mounted at /boot".
  std::map<Number, std::string> uses_;
  std::map<std::string, std::string, std::less<>> pools_;  ///< of ZFS, with such a text
  std::map<std::string, std::string> known_;  ///< the results of UseOf, by syspath or node
};

}  // namespace patchbay
