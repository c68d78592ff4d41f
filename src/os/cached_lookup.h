#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace patchbay {

/// File attributes from the kernel's caches.
struct CachedFile {
  std::string path;  ///< in the mount namespace of this process; with kFollow without links
  mode_t mode = 0;
  unsigned major = 0;  ///< of a character or block device
  unsigned minor = 0;
  std::uint64_t inode = 0;
  std::uint32_t uid = 0;  ///< the owner and the owning group
  std::uint32_t gid = 0;
  unsigned links = 0;  ///< number of hard links; 0 once the file is removed
};

/// The handling of a symbolic link in the last component of a path.
enum class LastLink { kFollow, kKeep };

/// Looks up an absolute path only in the kernel's caches, so that it never waits for a file system.
/// With kFollow, links are resolved below `root`, and absolute links do not leave it. With kKeep,
/// links before the last component are not confined to `root`, so `path` should contain none. A
/// `root` of "" stands for "/".
///
/// Returns nothing if the kernel has to query the file system, as it may for every network file
/// system, if the path does not exist, and if the kernel does not support such a lookup (before
/// Linux 5.12, or under a seccomp profile without openat2).
std::optional<CachedFile> LookUpCached(const std::string& root, const std::string& path,
                                       LastLink last);

}  // namespace patchbay
