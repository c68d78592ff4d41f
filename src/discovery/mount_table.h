#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// A mounted file system that may be on block devices.
struct MountEntry {
  unsigned major = 0;  ///< 0: of no single block device, so `source` names it
  unsigned minor = 0;
  std::string root;    ///< the path in the file system that is mounted: "/"
  std::string target;  ///< where it is mounted
  std::string type;
  std::string source;  ///< "/dev/sda2", "rpool/ROOT"
};

/// Parses /proc/PID/mountinfo. Leaves out file systems that are on no block device, such as tmpfs
/// and overlay, and lines of any other form. Pure.
std::vector<MountEntry> ParseMountInfo(std::string_view text);

/// Parses /proc/swaps. Returns the paths of swap partitions and files. Pure.
std::vector<std::string> ParseSwaps(std::string_view text);

}  // namespace patchbay
