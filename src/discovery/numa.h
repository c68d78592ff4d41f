#pragma once

#include <map>
#include <optional>
#include <string>

#include "discovery/sysfs.h"

namespace patchbay {

/// Returns the NUMA node, 0 to 63, of the device at a syspath: the value of its `numa_node`, or of
/// the nearest parent directory that has one. Returns nothing if that is -1 or not valid, and for
/// virtual devices.
std::optional<int> NumaNode(const HostRoot& host, const std::string& syspath);

/// Finds the NUMA nodes of device nodes. Caches the result for each directory of /sys/devices, so
/// that each device node needs one lookup. Create one per scan; `sysfs` must outlive it. For one
/// thread at a time, not the loop.
class NumaNodes {
 public:
  explicit NumaNodes(const Sysfs& sysfs) : sysfs_(sysfs) {}

  std::optional<int> Of(FileType type, unsigned major, unsigned minor);

 private:
  const Sysfs& sysfs_;
  std::map<std::string, std::optional<int>> by_directory_;
};

}  // namespace patchbay
