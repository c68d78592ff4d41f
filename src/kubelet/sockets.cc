#include "kubelet/sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "base/format.h"
#include "base/hash.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrefix = "patchbay-";
constexpr std::string_view kSuffix = ".sock";

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The run in a name that SocketName could have made; nothing for any other.
std::optional<std::string_view> RunOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  constexpr std::size_t kHash = 16, kRun = 8;
  if (name.size() < kHash + kRun + 3 || name[kHash] != '-' || name[kHash + 1 + kRun] != '-') {
    return std::nullopt;
  }
  const auto run = name.substr(kHash + 1, kRun);
  if (!IsHex(name.substr(0, kHash)) || !IsHex(run) || !IsHex(name.substr(kHash + kRun + 2))) {
    return std::nullopt;
  }
  return run;
}

/// Whether somebody accepts connections on the socket. Only a clear refusal counts as nobody.
bool Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return true;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return true;
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != ECONNREFUSED;
}

/// Removes the sockets of our kind of name for which `doomed(run, path)` says so.
template <class Doomed>
std::vector<std::string> Remove(const std::string& directory, Doomed doomed) {
  std::vector<std::string> removed;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    const auto run = RunOf(name);
    std::error_code ignored;
    if (!run || !std::filesystem::is_socket(entry->symlink_status(ignored))) continue;
    if (doomed(*run, entry->path()) && unlink(entry->path().c_str()) == 0) removed.push_back(name);
  }
  return removed;
}

}  // namespace

std::string NewRun() { return format("{:08x}", std::random_device()()); }

std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial) {
  return format("{}{:016x}-{}-{}{}", kPrefix, StableHash(resource), run, serial, kSuffix);
}

std::vector<std::string> SweepLeftovers(const std::string& directory) {
  return Remove(directory,
                [](std::string_view, const std::string& path) { return !Answers(path); });
}

void RemoveSocketsOf(std::string_view run, const std::string& directory) {
  Remove(directory, [&](std::string_view its_run, const std::string&) { return its_run == run; });
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

}  // namespace patchbay
