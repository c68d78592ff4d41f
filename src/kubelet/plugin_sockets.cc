// Connecting to a socket file with another type of socket shows whether a process still uses it,
// which its owner does not notice. A socket is identified by device, inode and birth time, because
// file systems reuse inodes.

#include "kubelet/plugin_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "model/spec.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrefix = "patchbay-";
constexpr std::string_view kSuffix = ".sock";

static_assert(kMaxKubeletDir + 1 + kMaxSocketName == kMaxSocketPath);

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

struct NameParts {
  std::string_view hash;  ///< of the resource
  std::string_view run;
};

/// Parses a name of SocketName. Returns nothing for any other name.
std::optional<NameParts> PartsOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  constexpr std::size_t kHash = 16, kRun = 8;
  if (name.size() < kHash + kRun + 3 || name[kHash] != '-' || name[kHash + 1 + kRun] != '-') {
    return std::nullopt;
  }
  const auto hash = name.substr(0, kHash), run = name.substr(kHash + 1, kRun);
  if (!IsHex(hash) || !IsHex(run) || !IsHex(name.substr(kHash + kRun + 2))) return std::nullopt;
  return NameParts{hash, run};
}

/// Sets `connection` and returns 0, or returns an errno value.
int TryConnect(const std::string& path, int type, UniqueFd& connection) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno;
  }
  connection = std::move(fd);
  return 0;
}

/// Returns whether a process has a socket bound to the file. Connecting a stream socket cannot
/// distinguish a socket that does not listen yet from a file without a socket. Connecting a
/// datagram socket can: the error is EPROTOTYPE if there is a socket, and ECONNREFUSED if there is
/// only a file. Any other result counts as a process.
bool MayBeBound(const std::string& path) {
  UniqueFd connection;
  return TryConnect(path, SOCK_DGRAM, connection) != ECONNREFUSED;
}

/// Calls `f(parts, path)` for every socket with a name of SocketName. Returns an error if the
/// directory could not be read completely.
template <class F>
std::error_code ForEachSocket(const std::string& directory, F f) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    const auto parts = PartsOf(name);
    // Uses the type in the directory entry: a stat of each entry would take most of the time.
    std::error_code ignored;
    if (parts && !entry->is_symlink(ignored) && entry->is_socket(ignored)) {
      f(*parts, entry->path());
    }
  }
  return error;
}

}  // namespace

std::string NewRun() { return format("{:08x}", std::random_device()()); }

std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial) {
  return format("{}{:016x}-{}-{}{}", kPrefix, StableHash(resource), run, serial, kSuffix);
}

bool IsSocketName(std::string_view name) { return PartsOf(name).has_value(); }

std::vector<std::string> SweepLeftovers(std::string_view run, const std::string& directory) {
  std::vector<std::string> removed;
  ForEachSocket(directory, [&](const NameParts& parts, const std::filesystem::path& path) {
    if (parts.run == run || MayBeBound(path) || unlink(path.c_str()) != 0) return;
    removed.push_back(path.filename());
  });
  return removed;
}

PluginSockets SocketsIn(std::string_view run, const std::string& directory) {
  PluginSockets sockets;
  const std::error_code error =
      ForEachSocket(directory, [&](const NameParts& parts, const std::filesystem::path& path) {
        if (parts.run == run) {
          sockets.own.insert(path.filename());
          return;
        }
        std::uint64_t hash = 0;
        std::from_chars(parts.hash.data(), parts.hash.data() + parts.hash.size(), hash, 16);
        sockets.others.insert(hash);
      });
  sockets.complete = !error || error == std::errc::no_such_file_or_directory ||
                     error == std::errc::not_a_directory;
  return sockets;
}

bool IsBound(const std::string& path) {
  UniqueFd connection;
  return TryConnect(path, SOCK_DGRAM, connection) == EPROTOTYPE;
}

Result<UniqueFd> Connect(const std::string& path) {
  UniqueFd connection;
  const int error = TryConnect(path, SOCK_STREAM, connection);
  if (error != 0) return FailErrno(format("cannot connect to {}", path), error);
  return connection;
}

std::string OwnSocketDeleted(std::string_view directory) {
  return format("the plugin socket was deleted; check what deletes sockets in {}", directory);
}

void RemoveSocketsOf(std::string_view run, const std::string& directory) {
  ForEachSocket(directory, [&](const NameParts& parts, const std::filesystem::path& path) {
    if (parts.run == run) unlink(path.c_str());
  });
}

std::optional<std::string> SocketIdentity(const std::string& path) {
  struct statx info;
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &info) != 0 ||
      !S_ISSOCK(info.stx_mode)) {
    return std::nullopt;
  }
  const auto& time = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
  return format("{}:{}:{}:{}.{}", info.stx_dev_major, info.stx_dev_minor, info.stx_ino, time.tv_sec,
                time.tv_nsec);
}

void BreakConnections(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    // Uses a duplicate: the number of the original can be reused by another thread.
    const UniqueFd fd(fcntl(std::atoi(name.c_str()), F_DUPFD_CLOEXEC, 0));
    sockaddr_un address{};
    socklen_t length = sizeof address - 1;
    if (fd && getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        address.sun_family == AF_UNIX && path == address.sun_path) {
      shutdown(fd.get(), SHUT_RDWR);
    }
  }
}

}  // namespace patchbay
