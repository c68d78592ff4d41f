#include "kubelet/kubelet_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

constexpr std::string_view kKubeletSocket = "kubelet.sock";
constexpr std::chrono::seconds kBlindPoll{5};

/// Twenty looks a second in the long run, and two hundred at once: each restart of the kubelet is
/// to be seen at once and counted, and a storm of changes is to cost little.
constexpr std::chrono::milliseconds kTimePerLook{50};
constexpr std::chrono::milliseconds kCredit = 200 * kTimePerLook;
/// With more sockets than this, checks are throttled: each resource that starts creates a socket,
/// and each check covers all sockets. The pause is this many times the duration of the last check,
/// up to a maximum, since that check may have hung.
constexpr std::size_t kManySockets = 100;
constexpr int kThrottleFactor = 10;
constexpr std::chrono::milliseconds kMaxThrottle{500};

/// The nearest directory at or above `path` that exists.
std::string NearestDirectory(std::string path) {
  struct stat info;
  while (path != "/" && (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
    path = DirectoryOf(path);
  }
  return path;
}

bool IsDead(const std::string& directory) {
  struct statx info;
  if (statx(AT_FDCWD, directory.c_str(), 0, STATX_NLINK, &info) != 0) return false;
  // Only through its own mount is a removed directory still found; a look that runs into the
  // removal of one that is not mounted sees no links either, and the next look finds none.
  // Kernels before 5.8 do not tell them apart: there a restart that was not needed does no harm.
  const bool can_tell = (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
  const bool mounted = !can_tell || (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return info.stx_nlink == 0 && mounted;
}

/// Why there is no kubelet, as far as the directory tells, and what to do about it.
std::string_view WhyAbsent(const std::string& directory) {
  struct stat info;
  if (stat((directory + "/.").c_str(), &info) == 0) {
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

}  // namespace

/// The state of the directory at one moment.
struct KubeletDir::Look {
  bool dead = false;  ///< nothing else was looked at
  DirWatch::Added watches = {};
  std::optional<std::string> kubelet = {};  ///< the identity of its socket
  std::string_view why_absent = {};         ///< where there is none
  std::vector<std::string> swept = {};
  PluginSockets sockets = {};

  /// Can hang. The directory is swept where the kubelet is not `known`.
  static Look Take(const Options& options, const std::optional<DirWatch::Adder>& adder,
                   const std::optional<std::string>& known, bool is_first) {
    const std::string& directory = options.directory;
    Look look;
    look.dead = IsDead(directory);
    if (look.dead) return look;
    // First, so that no change goes unseen. The parent tells when the directory itself is replaced.
    if (adder) {
      look.watches =
          adder->Add({NearestDirectory(directory), NearestDirectory(DirectoryOf(directory))});
    }
    look.kubelet = SocketIdentity(format("{}/{}", directory, kKubeletSocket));
    if (!look.kubelet) look.why_absent = WhyAbsent(directory);
    if (is_first || (look.kubelet && look.kubelet != known)) {
      look.swept = SweepLeftovers(options.run, directory);
    }
    look.sockets = SocketsIn(options.run, directory);
    return look;
  }
};

KubeletDir::KubeletDir(Loop& loop, ThreadPool& pool, Log& log, Options options, Events events)
    : loop_(loop),
      pool_(pool),
      log_(log),
      options_(std::move(options)),
      events_(std::move(events)) {}

void KubeletDir::Start() {
  auto watch = DirWatch::Create(loop_, [this](const std::string& directory, std::string_view name) {
    OnChange(directory, name);
  });
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    log_.Warning("cannot watch the kubelet's directory; looking at it from time to time",
                 {{"path", options_.directory}, {"reason", watch.error().message}});
  }
  Check();
}

void KubeletDir::OnChange(const std::string& directory, std::string_view name) {
  const bool may_be_kubelet =
      directory != options_.directory || name.empty() || name == kKubeletSocket;
  if (!may_be_kubelet && !IsSocketName(name)) return;
  if (may_be_kubelet) LiftThrottle();
  CheckSoon();
}

/// A new kubelet socket is checked without delay.
void KubeletDir::LiftThrottle() {
  throttled_until_ = {};
  may_throttle_ = false;
  if (!delayed_) return;
  delayed_ = Subscription();
  check_pending_ = false;
}

void KubeletDir::CheckSoon() {
  if (std::exchange(check_pending_, true) || looking_) return;
  const auto when = std::max(paid_until_ - kCredit, throttled_until_);
  if (when <= loop_.Now()) {
    return loop_.Post(lifetime_.Guard([this] {
      if (check_pending_) Check();
    }));
  }
  delayed_ = loop_.After(when - loop_.Now(), [this] { Check(); });
}

void KubeletDir::Check() {
  if (dead_) return;
  if (looking_) {
    check_pending_ = true;
    return;
  }
  check_pending_ = false;
  looking_ = true;
  may_throttle_ = true;
  delayed_ = Subscription();
  timer_ = Subscription();
  const auto now = loop_.Now();
  paid_until_ = std::max(paid_until_, now) + kTimePerLook;
  const auto adder = watch_ ? std::optional(watch_->adder()) : std::nullopt;
  pool_.Run(
      loop_,
      [options = options_, adder, known = identity_, is_first = !looked_] {
        return Look::Take(options, adder, known, is_first);
      },
      lifetime_.Guard([this, now](const Look& look) { OnLook(look, now); }));
}

void KubeletDir::OnLook(const Look& look, Loop::Time asked) {
  looking_ = false;
  if (look.dead) {
    dead_ = true;
    events_.on_dead(
        options_.directory +
        " was removed on the host while it was mounted here; the mount cannot be mended "
        "from inside, so this process ends to be started again with a fresh one");
    return;
  }
  const bool is_newly_watched = Watch(look.watches);
  for (const std::string& name : look.swept) {
    log_.Info("removed the socket of a run that was killed",
              {{"socket", format("{}/{}", options_.directory, name)}});
  }
  OnKubeletSocket(look);
  events_.on_sockets(look.sockets, asked);
  if (may_throttle_ && look.sockets.own.size() > kManySockets) {
    const auto now = loop_.Now();
    throttled_until_ =
        now + std::min<Loop::Duration>(kThrottleFactor * (now - asked), kMaxThrottle);
  }
  looked_ = true;
  Schedule();
  // What was made before the watch was there may be the next directory on the way.
  if (std::exchange(check_pending_, false) || is_newly_watched) CheckSoon();
}

void KubeletDir::OnKubeletSocket(const Look& look) {
  const auto before = std::exchange(identity_, look.kubelet);
  if (identity_ && identity_ != before) {
    events_.on_kubelet(++epoch_);
  } else if (!identity_ && before) {
    events_.on_kubelet_lost();
  } else if (!identity_ && !looked_) {
    log_.Warning(look.why_absent, {{"socket", kubelet_socket()}});
  }
}

/// Returns whether a directory is watched now that was not before.
bool KubeletDir::Watch(const DirWatch::Added& watches) {
  if (!watch_) return false;
  const DirWatch::Outcome outcome = watch_->Merge(watches);
  std::set<std::string> wanted;
  for (const auto& [directory, added] : watches) wanted.insert(directory);
  watch_->Retain(wanted);
  for (const Error& error : outcome.failed) {
    if (watching_) {
      log_.Warning("cannot watch the kubelet's directory; looking at it from time to time",
                   {{"path", options_.directory}, {"reason", error.message}});
    }
  }
  watching_ = outcome.failed.empty();
  return std::any_of(outcome.changed.begin(), outcome.changed.end(),
                     [this](const std::string& directory) { return watch_->Watches(directory); });
}

void KubeletDir::Schedule() {
  const bool blind = !watch_ || !watching_;
  const auto pause =
      blind ? std::min<std::chrono::milliseconds>(options_.poll, kBlindPoll) : options_.poll;
  timer_ = loop_.After(pause, [this] { Check(); });
}

}  // namespace patchbay
