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

/// A name in a directory of the host.
struct HostEntry {
  std::string name;
  FileType type = FileType::kOther;
  unsigned major = 0;  ///< of a character or block device
  unsigned minor = 0;
  std::uint64_t inode = 0;
};

/// Tells two states of a directory apart: it is another directory, or its names changed. Not every
/// file system keeps the times of its directories, and those that do keep them coarsely, so that
/// equal stamps prove nothing where no event vouches for them.
struct DirectoryStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const DirectoryStamp&) const = default;
};

/// What a host path leads to when every link on the way is followed.
struct HostNode {
  std::string path;  ///< without links, "." and ".."
  FileType type = FileType::kOther;
  unsigned major = 0;
  unsigned minor = 0;
  std::uint64_t inode = 0;  ///< 0: not known

  bool operator==(const HostNode&) const = default;
};

/// Returns whether both are the same file; paths are not compared. A device node that is
/// re-created, for example for another device, has another inode, and often the same number.
bool IsSameFile(const HostNode& a, const HostNode& b);

/// The host's file tree as this process sees it: below "/", or below the directory where the host's
/// root is mounted. All paths that go in and come out are the host's own; links, also absolute
/// ones, are followed below the root and cannot lead out of it.
///
/// A value; thread-safe. Nothing is opened but directories and regular files, so no device is ever
/// touched but by TryOpen. Calls go to the file system, which can be slow or hang, and do not
/// belong on the loop, but for those that say otherwise.
class HostRoot {
 public:
  HostRoot() : HostRoot("/") {}
  explicit HostRoot(std::string root);

  /// Where a host path is in the namespace of this process.
  std::string Local(std::string_view host_path) const;

  /// Follows every link. Fails with kNotFound for a path that is not there, kInvalid for more than
  /// 40 links, kUnavailable where the system refuses.
  Result<HostNode> Resolve(std::string_view host_path) const;

  /// Whether what was resolved before is still there and the same file. One look at the file
  /// system, where Resolve takes one for every directory on the way.
  bool Holds(const HostNode& node) const;

  /// The same as Resolve, and as Holds, without ever waiting for a file system: by what the kernel
  /// has in memory. Nothing, or false, where that does not answer the question, and for what is
  /// missing; see LookUpCached.
  std::optional<HostNode> ResolveCached(std::string_view host_path) const;
  bool HoldsCached(const HostNode& node) const;

  /// The entries of a directory whose name passes `wanted`, in no order. A name that vanishes
  /// meanwhile is left out.
  Result<std::vector<HostEntry>> List(
      std::string_view host_directory,
      const std::function<bool(const std::string& name)>& wanted) const;

  /// Fails as Resolve does.
  Result<DirectoryStamp> StampOf(const HostNode& directory) const;

  /// Whether the node at a path without links can be opened for reading: opens it without waiting,
  /// and closes it. One that somebody has for himself alone can. Drivers may act on that, so nobody
  /// calls this but who was told to. Fails with kPrecondition where this process lacks the right.
  Status TryOpen(std::string_view real_path) const;

  /// What a regular file holds. Fails with kInvalid for anything else and for a file of more than
  /// `max_bytes`, with kNotFound also for a file of sysfs whose device went.
  Result<std::string> ReadFile(std::string_view host_path, std::size_t max_bytes) const;

  /// The text of a link, which is not followed; those on the way to it are. Fails with kInvalid for
  /// what is no link.
  Result<std::string> ReadLink(std::string_view host_path) const;

  /// The same for a name in a directory that was resolved before, without another look at the
  /// directories on the way.
  Result<std::string> ReadFile(const HostNode& directory, std::string_view name,
                               std::size_t max_bytes) const;
  Result<std::string> ReadLink(const HostNode& directory, std::string_view name) const;

 private:
  Result<std::string> Contents(const std::string& resolved, std::size_t max_bytes) const;

  std::string root_;  ///< without a slash at its end; "" for "/"
};

}  // namespace patchbay
