// Events and the timer only request a check; the thread pool makes one at a time, and the loop
// compares its result with the previous one. The watches are added before the directory is read, so
// that no change is missed. The first event causes a check at once; later ones share one.

#include "kubelet/kubelet_dir.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/path.h"
#include "os/threads.h"
#include "rpc/socket_file.h"

namespace patchbay {
namespace {

constexpr std::string_view kKubeletSocket = "kubelet.sock";
constexpr std::chrono::seconds kBlindPoll{5};

/// The minimum time between checks that events cause, so that frequent changes cost little.
constexpr std::chrono::milliseconds kCheckInterval{50};

/// Returns `path`, or its nearest parent directory that exists.
std::string NearestDirectory(std::string path) {
  struct stat info;
  while (path != "/" && (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
    path = DirectoryOf(path);
  }
  return path;
}

/// Returns why kubelet.sock does not exist, and what to do about it.
std::string_view WhyAbsent(const std::string& directory) {
  struct stat info;
  if (stat((directory + "/.").c_str(), &info) == 0) {
    return "waiting for the kubelet's socket to appear";
  }
  if (errno == EACCES) {
    return "no permission to access the kubelet's directory; run as root, or allow this user to "
           "enter it";
  }
  if (errno == ENOTDIR) {
    return "the kubelet's directory, or one of its parents, is a file; correct kubelet_dir";
  }
  return "waiting for the device-plugins directory to appear; check that this is a Kubernetes node "
         "and that kubelet_dir is correct";
}

}  // namespace

/// The state of the directory at a point in time.
struct KubeletDir::Contents {
  bool dead = false;  ///< if true, nothing else was checked
  DirWatch::Added watches = {};
  std::optional<std::string> kubelet = {};  ///< the identity of kubelet.sock
  std::string_view why_absent = {};         ///< set if there is none
  std::vector<std::string> swept = {};
  PluginSockets sockets = {};

  /// Can hang. Removes the sockets of killed runs unless the kubelet is the `known` one.
  static Contents Read(const Options& options, const std::optional<DirWatch::Adder>& adder,
                       const std::optional<std::string>& known, bool is_first) {
    const std::string& directory = options.directory;
    Contents contents;
    contents.dead = IsRemovedMount(directory);
    if (contents.dead) return contents;
    // The watches come first, so that no change is missed. The parent is watched for a replacement
    // of the directory.
    if (adder) {
      contents.watches =
          adder->Add({NearestDirectory(directory), NearestDirectory(DirectoryOf(directory))});
    }
    contents.kubelet = SocketIdentity(Format("{}/{}", directory, kKubeletSocket));
    if (!contents.kubelet) contents.why_absent = WhyAbsent(directory);
    if (is_first || (contents.kubelet && contents.kubelet != known)) {
      contents.swept = SweepLeftovers(options.run, directory);
    }
    contents.sockets = SocketsIn(options.run, directory);
    return contents;
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
    log_.Warning("cannot watch the kubelet's directory; polling it",
                 {{"path", options_.directory}, {"reason", watch.error().message}});
  }
  Check();
}

void KubeletDir::OnChange(const std::string& directory, std::string_view name) {
  const bool may_be_kubelet =
      directory != options_.directory || name.empty() || name == kKubeletSocket;
  if (may_be_kubelet || IsSocketName(name)) CheckSoon();
}

void KubeletDir::CheckSoon() {
  if (std::exchange(check_pending_, true) || is_checking_) return;
  const auto delay = next_check_ - loop_.Now();
  if (delay > Loop::Duration::zero()) {
    delayed_ = loop_.After(delay, [this] { Check(); });
    return;
  }
  loop_.Post(lifetime_.Guard([this] {
    if (check_pending_) Check();
  }));
}

void KubeletDir::Check() {
  if (dead_) return;
  if (is_checking_) {
    check_pending_ = true;
    return;
  }
  check_pending_ = false;
  is_checking_ = true;
  delayed_ = Subscription();
  timer_ = Subscription();
  const auto now = loop_.Now();
  next_check_ = now + kCheckInterval;
  const auto adder = watch_ ? std::optional(watch_->adder()) : std::nullopt;
  const Status runs = pool_.TryRun(
      [options = options_, adder, known = identity_, is_first = !has_checked_] {
        return Contents::Read(options, adder, known, is_first);
      },
      lifetime_.Guard([this, now](const Contents& contents) { OnChecked(contents, now); }));
  const bool was_starved = std::exchange(is_starved_, !runs);
  if (runs) return;
  if (!was_starved) {
    log_.Warning("cannot check the kubelet's directory; trying again",
                 {{"path", options_.directory}, {"reason", runs.error().message}});
  }
  is_checking_ = false;
  timer_ = loop_.After(ThreadPool::kThreadPause, [this] { Check(); });
}

void KubeletDir::OnChecked(const Contents& contents, Loop::Time check_start) {
  is_checking_ = false;
  if (contents.dead) {
    dead_ = true;
    events_.on_dead(RemovedMountReason(options_.directory));
    return;
  }
  const bool is_newly_watched = Watch(contents.watches);
  for (const std::string& name : contents.swept) {
    log_.Info("removed stale socket of an earlier run",
              {{"socket", Format("{}/{}", options_.directory, name)}});
  }
  OnKubeletSocket(contents);
  events_.on_sockets(contents.sockets, check_start);
  has_checked_ = true;
  Schedule(contents.sockets.complete);
  // The next directory of the path may have been created before the watch.
  if (std::exchange(check_pending_, false) || is_newly_watched) CheckSoon();
}

void KubeletDir::OnKubeletSocket(const Contents& contents) {
  const auto before = std::exchange(identity_, contents.kubelet);
  if (identity_ && identity_ != before) {
    events_.on_kubelet(++epoch_, *identity_);
  } else if (!identity_ && before) {
    events_.on_kubelet_lost();
  } else if (!identity_ && !has_checked_) {
    log_.Warning(contents.why_absent, {{"socket", kubelet_socket()}});
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
      log_.Warning("cannot watch the kubelet's directory; polling it",
                   {{"path", options_.directory}, {"reason", error.message}});
    }
  }
  watching_ = outcome.failed.empty();
  return std::any_of(outcome.changed.begin(), outcome.changed.end(),
                     [this](const std::string& directory) { return watch_->Watches(directory); });
}

void KubeletDir::Schedule(bool is_complete) {
  const bool blind = !watch_ || !watching_ || !is_complete;
  const auto pause =
      blind ? std::min<std::chrono::milliseconds>(options_.poll, kBlindPoll) : options_.poll;
  timer_ = loop_.After(pause, [this] { Check(); });
}

}  // namespace patchbay
