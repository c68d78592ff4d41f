#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "base/result.h"

namespace patchbay {

/// A directory entry on the host.
struct HostEntry {
  std::string name;
  FileType type = FileType::kOther;
  unsigned major = 0;  ///< of a character or block device
  unsigned minor = 0;
  std::uint64_t inode = 0;
};

/// The file that a host path resolves to when all links are followed.
struct HostNode {
  std::string path;  ///< without links, "." and ".."
  FileType type = FileType::kOther;
  unsigned major = 0;
  unsigned minor = 0;
  std::uint64_t inode = 0;  ///< 0: unknown
  std::uint32_t gid = 0;    ///< the owning group now; not part of the identity
  std::uint32_t uid = 0;    ///< the owner now; not part of the identity
  std::uint32_t mode = 0;   ///< the permission bits now; not part of the identity

  bool operator==(const HostNode&) const = default;
};

/// Returns whether both are the same file. Does not compare paths; an unknown inode matches every
/// inode. A device node that is re-created, for example for another device, has a different inode
/// but often the same device number.
bool IsSameFile(const HostNode& a, const HostNode& b);

/// Access to the host's file tree, which is below "/" or below the directory where the host's root
/// file system is mounted. All paths passed in and returned are host paths. Links, including
/// absolute ones, are resolved below the root and cannot lead out of it.
///
/// A value type; thread-safe. Only TryOpen and TryOpenExclusively open device nodes; all other
/// methods open only directories and regular files. Methods access file systems, which can be slow
/// or hang, so call them on the loop only if their comment permits it.
class HostRoot {
 public:
  /// The root of this process.
  HostRoot() : HostRoot("/") {}
  /// `root` is where the host's root is mounted. Accesses no files.
  explicit HostRoot(std::string root);

  /// Returns the path in the namespace of this process for a host path.
  std::string Local(std::string_view host_path) const;

  /// Returns whether a path that does not exist below the root is missing on the host, too. A
  /// Patchbay that runs in a container without the host's root sees only the host's /dev and /sys.
  bool CanSee(std::string_view host_path) const;

  /// Resolves a path, following every link. Fails with kNotFound if the path does not exist,
  /// kInvalid for more than 40 links or a NUL byte, and kUnavailable for any other system error.
  /// The message names the file or link on the way that is the reason. `on_component`, if not null,
  /// is called with each directory of the walk and the name in it that is looked up next, including
  /// the names in link targets.
  using OnComponent = std::function<void(const std::string& directory, const std::string& name)>;
  Result<HostNode> Resolve(std::string_view host_path,
                           const OnComponent& on_component = nullptr) const;

  /// Returns whether a node that was resolved before still exists and is the same file. Needs one
  /// system call, where Resolve needs one for each component.
  bool Holds(const HostNode& node) const;

  /// Like Resolve and Holds, but only with the kernel's caches, so that they never wait for a file
  /// system and can be called on the loop. Return nothing, or false, if the caches have no answer
  /// or the path does not exist; see LookUpCached.
  std::optional<HostNode> ResolveCached(std::string_view host_path) const;
  bool HoldsCached(const HostNode& node) const;

  /// Returns the entries of a directory whose name satisfies `wanted`, in no particular order.
  /// Omits a name that is removed during the call. Fails like Resolve.
  Result<std::vector<HostEntry>> List(
      std::string_view host_directory,
      const std::function<bool(const std::string& name)>& wanted) const;

  /// Returns the number of the file system that a resolved file is on. Fails like Resolve.
  Result<std::uint64_t> FileSystemOf(const HostNode& file) const;

  /// Opens the node at a path without links for reading, without blocking, and closes it. Succeeds
  /// also if another process has the node open exclusively (EBUSY). Opening can have side effects
  /// in a driver, so call this only if the configuration requests it. Fails with kPrecondition if
  /// this process lacks the permission, and with kNotFound or kUnavailable for other errors.
  Status TryOpen(std::string_view real_path) const;

  /// Opens a resolved block device for reading and exclusively, without blocking, and closes it.
  /// Returns false if it is busy, which includes a partition or a volume on it. Fails like TryOpen,
  /// and with kNotFound also for a node without a device, kUnavailable if the node was replaced.
  Result<bool> TryOpenExclusively(const HostNode& disk) const;

  /// Returns the content of a regular file. Fails with kInvalid for any other file type and for a
  /// file of more than `max_bytes`, and with kNotFound also for a sysfs file whose device was
  /// removed.
  Result<std::string> ReadFile(std::string_view host_path, std::size_t max_bytes) const;

  /// Returns the text of a link without following it; links in its parent directories are followed.
  /// Fails with kInvalid if the path is not a link.
  Result<std::string> ReadLink(std::string_view host_path) const;

  /// Like the above, for a name in a directory that was resolved before. The parent directories are
  /// not looked up again.
  Result<std::string> ReadFile(const HostNode& directory, std::string_view name,
                               std::size_t max_bytes) const;
  Result<std::string> ReadLink(const HostNode& directory, std::string_view name) const;

 private:
  Result<std::string> Contents(const std::string& resolved, std::size_t max_bytes) const;

  std::string root_;  ///< without a trailing slash; "" for "/"
};

}  // namespace patchbay
