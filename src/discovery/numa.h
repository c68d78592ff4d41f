#pragma once

#include <map>
#include <optional>
#include <string>

#include "discovery/sysfs.h"

namespace patchbay {

/// The NUMA node, 0 to 63, that the device at a syspath belongs to: what its own `numa_node` says
/// or that of the nearest directory above it which has one. None where that is -1 or nonsense, and
/// for virtual devices.
std::optional<int> NumaNode(const HostRoot& host, const std::string& syspath);

/// The NUMA nodes of device nodes, one look at the file system for each: what lies in one directory
/// of /sys/devices shares what was found for the directory. Make one for each scan, no longer than
/// `sysfs` lives. Any one thread at a time; not for the loop.
class NumaNodes {
 public:
  explicit NumaNodes(const Sysfs& sysfs) : sysfs_(sysfs) {}

  std::optional<int> Of(FileType type, unsigned major, unsigned minor);

 private:
  const Sysfs& sysfs_;
  std::map<std::string, std::optional<int>> by_directory_;
};

}  // namespace patchbay
