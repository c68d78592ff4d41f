#include "kubelet/kubelet_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>

#include "base/format.h"
#include "base/path.h"
#include "kubelet/sockets.h"

namespace patchbay {
namespace {

constexpr std::string_view kKubeletSocket = "kubelet.sock";
constexpr std::string_view kSocketPrefix = "patchbay-";
constexpr std::string_view kSocketSuffix = ".sock";
constexpr std::chrono::seconds kBlindPoll{5};

/// Twenty looks a second in the long run, and two hundred at once: each restart of the kubelet is
/// to be seen at once and counted, and a storm of changes is to cost little.
constexpr std::chrono::milliseconds kTimePerLook{50};
constexpr std::chrono::milliseconds kCredit = 200 * kTimePerLook;

bool IsOurName(std::string_view name) {
  return name.starts_with(kSocketPrefix) && name.ends_with(kSocketSuffix);
}

/// The nearest directory at or above `path` that exists.
std::string NearestDirectory(std::string path) {
  struct stat info;
  while (path != "/" && (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
    path = DirectoryOf(path);
  }
  return path;
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
                 {{"path", directory_}, {"reason", watch.error().message}});
  }
  Check();
}

void KubeletDir::OnChange(const std::string& directory, std::string_view name) {
  const bool concerns_us =
      directory != directory_ || name.empty() || name == kKubeletSocket || IsOurName(name);
  // One look for all that came at once: a kubelet that starts removes every socket.
  if (!concerns_us || check_pending_) return;
  check_pending_ = true;
  const auto left = paid_until_ - kCredit - loop_.Now();
  if (left <= Loop::Duration::zero()) return loop_.Post(lifetime_.Guard([this] { Check(); }));
  delayed_ = loop_.After(left, [this] { Check(); });
}

void KubeletDir::Watch() {
  if (!watch_) return;
  DirWatch::Outcome outcome;
  do {
    // The parent tells when the directory itself is replaced.
    outcome =
        watch_->Watch({NearestDirectory(directory_), NearestDirectory(DirectoryOf(directory_))});
    // What was made before the watch was there may be the next directory on the way.
  } while (!outcome.changed.empty() && outcome.failed.empty());
  for (const Error& error : outcome.failed) {
    if (watching_) {
      log_.Warning("cannot watch the kubelet's directory; looking at it from time to time",
                   {{"path", directory_}, {"reason", error.message}});
    }
  }
  watching_ = outcome.failed.empty();
}

bool KubeletDir::DirectoryIsDead() const {
  struct statx info;
  if (statx(AT_FDCWD, directory_.c_str(), 0, STATX_NLINK, &info) != 0) return false;
  // Only through its own mount is a removed directory still found; a look that runs into the
  // removal of one that is not mounted sees no links either, and the next look finds none.
  // Kernels before 5.8 do not tell them apart: there a restart that was not needed does no harm.
  const bool can_tell = (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
  const bool mounted = !can_tell || (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return info.stx_nlink == 0 && mounted;
}

void KubeletDir::Check() {
  check_pending_ = false;
  delayed_ = Subscription();
  if (dead_) return;
  paid_until_ = std::max(paid_until_, loop_.Now()) + kTimePerLook;
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

std::string_view KubeletDir::WhyAbsent() const {
  struct stat info;
  if (stat((directory_ + "/.").c_str(), &info) == 0) {
    return "no kubelet yet; waiting for its socket";
  }
  if (errno == EACCES) {
    return "no kubelet that this user may see; run as root, or let this user enter the directory";
  }
  if (errno == ENOTDIR) {
    return "no kubelet yet; its directory, or what that is to be in, is a file: mend kubelet_dir";
  }
  return "no kubelet yet; waiting for its directory, which does not exist: is this a node? see "
         "kubelet_dir";
}

void KubeletDir::Schedule() {
  const bool blind = !watch_ || !watching_;
  const auto pause = blind ? std::min<std::chrono::milliseconds>(poll_, kBlindPoll) : poll_;
  timer_ = loop_.After(pause, [this] { Check(); });
}

}  // namespace patchbay
