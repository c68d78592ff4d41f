#include "os/cached_lookup.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

#include "os/unique_fd.h"

namespace patchbay {
namespace {

UniqueFd OpenCached(int at, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = RESOLVE_CACHED | resolve;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, at, path.c_str(), &how, sizeof how)));
}

/// Returns the kernel's path of the file of an O_PATH descriptor, or "". Reading this link does not
/// access the file system of the file.
std::string PathOf(const UniqueFd& fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  char path[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  if (length <= 0 || length == sizeof path) return "";
  return std::string(path, static_cast<std::size_t>(length));
}

}  // namespace

std::optional<CachedFile> LookUpCached(const std::string& root, const std::string& path,
                                       LastLink last) {
  if (path.find('\0') != std::string::npos) return std::nullopt;
  const std::uint64_t keep = last == LastLink::kKeep ? O_NOFOLLOW : 0;
  UniqueFd fd;
  if (root.empty() || last == LastLink::kKeep) {
    fd = OpenCached(AT_FDCWD, root + path, keep, 0);
  } else {
    const UniqueFd top = OpenCached(AT_FDCWD, root, O_DIRECTORY, 0);
    if (!top) return std::nullopt;
    fd = OpenCached(top.get(), path, keep, RESOLVE_IN_ROOT);
  }
  if (!fd) return std::nullopt;
  struct statx info;
  if (statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
            STATX_TYPE | STATX_MODE | STATX_INO | STATX_UID | STATX_GID | STATX_NLINK,
            &info) != 0) {
    return std::nullopt;
  }
  CachedFile file{"",           info.stx_mode, info.stx_rdev_major, info.stx_rdev_minor,
                  info.stx_ino, info.stx_uid,  info.stx_gid,        info.stx_nlink};
  file.path = last == LastLink::kFollow ? PathOf(fd) : root + path;
  return file;
}

}  // namespace patchbay
