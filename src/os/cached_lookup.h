#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace patchbay {

/// What the kernel remembers of a file.
struct CachedFile {
  std::string path;  ///< where it is in this process's namespace, without links
  mode_t mode = 0;
  unsigned major = 0;  ///< of a character or block device
  unsigned minor = 0;
  std::uint64_t inode = 0;
  unsigned links = 0;  ///< names of the file; none once it was removed
};

enum class LastLink { kFollow, kKeep };

/// Looks up an absolute path by what the kernel has in memory, so that it never waits for a file
/// system. Links on the way are followed below `root`, which absolute ones do not leave; "" is "/".
///
/// Nothing where the kernel has to ask the file system, as it may for every network file system,
/// where the path does not exist, and where the kernel cannot do this (before Linux 5.12, or under
/// a seccomp profile without openat2).
std::optional<CachedFile> LookUpCached(const std::string& root, const std::string& path,
                                       LastLink last);

}  // namespace patchbay
