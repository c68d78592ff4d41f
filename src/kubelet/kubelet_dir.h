#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "kubelet/plugin_sockets.h"
#include "os/dir_watch.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Watches the kubelet's device plugin directory: detects restarts of the kubelet by kubelet.sock,
/// and which plugin sockets of Patchbay exist. Removes the sockets of killed runs at start and when
/// a new kubelet is detected.
///
/// An inotify event or a slow timer causes a check, and only the result of the check counts: a
/// socket is the same as long as its device, inode and birth time are. The kubelet's checkpoint
/// files, one per device list, cause no check. The first event causes a check at once; those of the
/// next 50 ms share the next one.
///
/// Belongs to the loop thread. A check can hang, so it runs in the pool, one at a time; while it
/// hangs, no event is reported. Without a thread for it, it is tried again each second.
class KubeletDir {
 public:
  struct Events {
    /// kubelet.sock exists; each new socket has a new epoch. For `identity` see SocketIdentity.
    std::function<void(std::uint64_t epoch, const std::string& identity)> on_kubelet;
    std::function<void()> on_kubelet_lost;
    /// After each check. Changes since `check_start` may be missing.
    std::function<void(const PluginSockets& sockets, Loop::Time check_start)> on_sockets;
    /// The directory was removed under a mount: this process cannot see its successor and must be
    /// restarted.
    std::function<void(std::string reason)> on_dead;
  };

  struct Options {
    std::string directory;
    std::string run;  ///< of this process, see NewRun
    /// The interval between checks without an event; at most five seconds if something cannot be
    /// watched or read.
    std::chrono::milliseconds poll;
  };

  KubeletDir(Loop& loop, ThreadPool& pool, Log& log, Options options, Events events);

  /// Starts the first check and watches the directory.
  void Start();
  /// Takes effect after the next check.
  void SetPoll(std::chrono::milliseconds poll) { options_.poll = poll; }
  /// Checks now, or soon after the running check has ended.
  void Check();
  /// Checks soon, once for all calls made at one time: at the earliest 50 ms after the last check
  /// began.
  void CheckSoon();

  bool is_checking() const { return is_checking_; }
  std::string kubelet_socket() const { return options_.directory + "/kubelet.sock"; }

 private:
  struct Contents;

  void OnChange(const std::string& directory, std::string_view name);
  void OnChecked(const Contents& contents, Loop::Time check_start);
  void OnKubeletSocket(const Contents& contents);
  bool Watch(const DirWatch::Added& watches);
  void Schedule(bool is_complete);

  Loop& loop_;
  ThreadPool& pool_;
  Log& log_;
  Options options_;
  Events events_;
  std::unique_ptr<DirWatch> watch_;
  bool watching_ = true;  ///< as last reported
  bool is_checking_ = false;
  bool is_starved_ = false;     ///< there was no thread for the last check
  bool has_checked_ = false;    ///< at least one check has ended
  bool check_pending_ = false;  ///< another check is needed
  Loop::Time next_check_{};     ///< the earliest time of a check that an event causes
  Subscription delayed_;        ///< the pending check, if it has to wait
  bool dead_ = false;
  std::optional<std::string> identity_;  ///< of the kubelet.sock seen last
  std::uint64_t epoch_ = 0;
  Subscription timer_;
  Lifetime lifetime_;
};

}  // namespace patchbay
