#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "kubelet/sockets.h"
#include "os/dir_watch.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Watches the kubelet's device plugin directory: whether kubelet.sock is there and whether it is
/// still the same one, and which sockets of Patchbay are in it. Sweeps out what killed runs left
/// there, at first and for each new kubelet.
///
/// inotify says when to look, a slow timer looks anyway, and what is found counts: a socket is the
/// same as long as its device, inode and time of birth are. The kubelet's own checkpoint files, of
/// which it writes one for every list, wake nobody. A storm of changes is looked at twenty times a
/// second.
///
/// Belongs to the loop thread. A check can hang, so it runs in the pool, one at a time; while it
/// hangs, no event is reported.
class KubeletDir {
 public:
  struct Events {
    /// kubelet.sock is there; another epoch is another socket.
    std::function<void(std::uint64_t epoch)> on_kubelet;
    std::function<void()> on_kubelet_lost;
    /// After each look, which began at `asked`: whatever came or went since then may be missing.
    std::function<void(const PluginSockets& sockets, Loop::Time asked)> on_sockets;
    /// The directory was removed under a mount: this process can never see the new one and must be
    /// started again.
    std::function<void(std::string reason)> on_dead;
  };

  struct Options {
    std::string directory;
    std::string run;  ///< of this process, see NewRun
    /// Between two looks without an event; where nothing can be watched, looks are taken every five
    /// seconds.
    std::chrono::milliseconds poll;
  };

  KubeletDir(Loop& loop, ThreadPool& pool, Log& log, Options options, Events events);

  /// Takes the first look, and goes on looking.
  void Start();
  /// From the next look on.
  void SetPoll(std::chrono::milliseconds poll) { options_.poll = poll; }
  /// Checks now, or when the check under way has ended.
  void Check();
  /// Checks soon: once for all calls made at one time, and after the pause that many sockets cause.
  void CheckSoon();

  bool looking() const { return looking_; }
  std::string kubelet_socket() const { return options_.directory + "/kubelet.sock"; }

 private:
  struct Look;

  void OnChange(const std::string& directory, std::string_view name);
  void LiftThrottle();
  void OnLook(const Look& look, Loop::Time asked);
  void OnKubeletSocket(const Look& look);
  bool Watch(const DirWatch::Added& watches);
  void Schedule();

  Loop& loop_;
  ThreadPool& pool_;
  Log& log_;
  Options options_;
  Events events_;
  std::unique_ptr<DirWatch> watch_;
  bool watching_ = true;  ///< as far as was told
  bool looking_ = false;
  bool looked_ = false;           ///< there was a look
  bool check_pending_ = false;    ///< another look is to be taken
  Loop::Time paid_until_{};       ///< grows with each look; too far ahead, the next one waits
  Loop::Time throttled_until_{};  ///< checks of plugin sockets wait until then
  bool may_throttle_ = true;      ///< nothing of the kubelet changed since the look began
  Subscription delayed_;          ///< the pending look, where it has to wait
  bool dead_ = false;
  std::optional<std::string> identity_;  ///< of the kubelet.sock seen last
  std::uint64_t epoch_ = 0;
  Subscription timer_;
  Lifetime lifetime_;
};

}  // namespace patchbay
