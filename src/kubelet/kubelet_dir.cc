#include "kubelet/kubelet_dir.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/format.h"
#include "base/hash.h"
#include "base/path.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr std::string_view kKubeletSocket = "kubelet.sock";
constexpr std::string_view kSocketPrefix = "patchbay-";
constexpr std::string_view kSocketSuffix = ".sock";
constexpr std::chrono::seconds kBlindPoll{5};

bool IsOurName(std::string_view name) {
  return name.starts_with(kSocketPrefix) && name.ends_with(kSocketSuffix);
}

/// What makes a socket file this one and no other; nothing when there is none. Inode numbers are
/// used again at once by some file systems, so the time of birth (or of the last change of the
/// inode, where births are not kept) belongs to it.
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

/// The nearest directory at or above `path` that exists.
std::string NearestDirectory(std::string path) {
  struct stat info;
  while (path != "/" && (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
    path = DirectoryOf(path);
  }
  return path;
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

}  // namespace

KubeletDir::KubeletDir(Loop& loop, Log& log, std::string directory, std::chrono::milliseconds poll,
                       Events events)
    : loop_(loop),
      log_(log),
      directory_(std::move(directory)),
      poll_(poll),
      events_(std::move(events)) {}

void KubeletDir::Start() {
  auto watch = DirWatch::Create(loop_, [this](const std::string& directory, std::string_view name) {
    OnChange(directory, name);
  });
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    log_.Warning("cannot watch the kubelet's directory; looking at it from time to time",
                 {{"directory", directory_}, {"reason", watch.error().message}});
  }
  Check();
}

void KubeletDir::OnChange(const std::string& directory, std::string_view name) {
  const bool concerns_us =
      directory != directory_ || name.empty() || name == kKubeletSocket || IsOurName(name);
  if (concerns_us) Check();
}

void KubeletDir::Watch() {
  if (!watch_) return;
  DirWatch::Outcome outcome;
  do {
    const std::string nearest = NearestDirectory(directory_);
    // A directory that somebody else still holds, as a mount does, goes without a word; its watch
    // would stay with it, and its inode number is not used again.
    struct stat info {};
    stat(nearest.c_str(), &info);
    const auto inode = std::pair(info.st_dev, info.st_ino);
    if (inode != watched_) watch_->Watch({});
    watched_ = inode;
    // The parent tells when the directory itself is replaced.
    outcome = watch_->Watch({nearest, NearestDirectory(DirectoryOf(directory_))});
    // What was made before the watch was there may be the next directory on the way.
  } while (!outcome.added.empty() && outcome.failed.empty());
  for (const Error& error : outcome.failed) {
    if (watching_) {
      log_.Warning("cannot watch the kubelet's directory; looking at it from time to time",
                   {{"directory", directory_}, {"reason", error.message}});
    }
  }
  watching_ = outcome.failed.empty();
}

bool KubeletDir::DirectoryIsDead() const {
  struct stat info;
  return stat(directory_.c_str(), &info) == 0 && info.st_nlink == 0;
}

void KubeletDir::Check() {
  if (dead_) return;
  if (DirectoryIsDead()) {
    dead_ = true;
    timer_ = Subscription();
    events_.on_dead(
        directory_ +
        " was removed on the host while it was mounted here; the mount cannot be mended "
        "from inside, so this process ends to be started again with a fresh one");
    return;
  }
  Watch();
  auto identity = SocketIdentity(kubelet_socket());
  if (identity && identity != identity_) {
    events_.on_kubelet(++epoch_);
  } else if (!identity && identity_) {
    events_.on_kubelet_lost();
  }
  identity_ = std::move(identity);
  events_.on_sockets_changed();
  Schedule();
}

void KubeletDir::Schedule() {
  const bool blind = !watch_ || !watching_;
  const auto pause = blind ? std::min<std::chrono::milliseconds>(poll_, kBlindPoll) : poll_;
  timer_ = loop_.After(pause, [this] { Check(); });
}

std::string SocketName(std::string_view resource, std::string_view run, std::uint64_t serial) {
  return format("{}{:016x}-{}-{}{}", kSocketPrefix, StableHash(resource), run, serial,
                kSocketSuffix);
}

std::string NewRun() { return format("{:08x}", std::random_device()()); }

std::vector<std::string> SweepLeftovers(const std::string& directory) {
  std::vector<std::string> removed;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    std::error_code ignored;
    const bool is_socket = std::filesystem::is_socket(entry.symlink_status(ignored));
    if (!IsOurName(name) || !is_socket || Answers(entry.path())) continue;
    if (unlink(entry.path().c_str()) == 0) removed.push_back(name);
  }
  return removed;
}

}  // namespace patchbay
