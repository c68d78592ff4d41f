#include "rpc/socket_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

/// Creates a socket and calls `attach`, which is bind or connect, with the address of `path`. Sets
/// `result` and returns 0, or returns an errno value.
int AttachSocket(int (*attach)(int, const sockaddr*, socklen_t), const std::string& path, int type,
                 UniqueFd& result) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // A socket file that is bound gets the permissions of the socket, with any umask.
  if (!fd || fchmod(fd.get(), 0600) != 0) return errno;
  if (attach(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno;
  }
  result = std::move(fd);
  return 0;
}

int TryConnect(const std::string& path, int type, UniqueFd& connection) {
  return AttachSocket(connect, path, type, connection);
}

}  // namespace

// Connecting a stream socket cannot distinguish a socket that does not listen yet from a file
// without a socket. Connecting a datagram socket can: the error is EPROTOTYPE if there is a socket,
// and ECONNREFUSED if there is only a file. Any other result counts as a process.
bool MayBeBound(const std::string& path) {
  UniqueFd connection;
  return TryConnect(path, SOCK_DGRAM, connection) != ECONNREFUSED;
}

bool IsBound(const std::string& path) {
  UniqueFd connection;
  return TryConnect(path, SOCK_DGRAM, connection) == EPROTOTYPE;
}

Result<UniqueFd> Connect(const std::string& path) {
  UniqueFd connection;
  const int error = TryConnect(path, SOCK_STREAM, connection);
  if (error != 0) return FailErrno(Format("cannot connect to {}", path), error);
  return connection;
}

Result<UniqueFd> Listen(const std::string& path) {
  UniqueFd listener;
  const int error = AttachSocket(bind, path, SOCK_STREAM, listener);
  if (error != 0) return FailErrno("bind", error);
  if (listen(listener.get(), SOMAXCONN) != 0) return FailErrno("listen", errno);
  return listener;
}

std::optional<std::string> SocketIdentity(const std::string& path) {
  struct statx info;
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &info) != 0 ||
      !S_ISSOCK(info.stx_mode)) {
    return std::nullopt;
  }
  const auto& time = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
  return Format("{}:{}:{}:{}.{}", info.stx_dev_major, info.stx_dev_minor, info.stx_ino, time.tv_sec,
                time.tv_nsec);
}

std::error_code ForEachSocket(
    const std::string& directory,
    const std::function<void(const std::string& name, const std::string& path)>& f) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    // Uses the type in the directory entry: a stat of each entry would take most of the time.
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_socket(ignored)) {
      f(entry->path().filename(), entry->path());
    }
  }
  return error;
}

bool IsRemovedMount(const std::string& directory) {
  struct statx info;
  if (statx(AT_FDCWD, directory.c_str(), 0, STATX_NLINK, &info) != 0) return false;
  // A removed directory can still be found through its own mount only. A check during the removal
  // of a directory that is not mounted also sees no links, and the next check finds nothing.
  // Kernels before 5.8 do not distinguish the two; there an unnecessary restart does no harm.
  const bool can_tell = (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
  const bool mounted = !can_tell || (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return info.stx_nlink == 0 && mounted;
}

std::string RemovedMountReason(const std::string& directory) {
  return directory +
         " was removed on the host while it was mounted here; the process cannot fix the mount and "
         "exits, so that it restarts with a new mount";
}

}  // namespace patchbay
