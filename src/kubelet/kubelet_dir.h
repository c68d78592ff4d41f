#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "os/dir_watch.h"
#include "os/loop.h"

namespace patchbay {

/// Watches the kubelet's device plugin directory: whether kubelet.sock is there and whether it is
/// still the same one, and when other sockets in it vanish.
///
/// inotify says when to look, a slow timer looks anyway, and what is found counts: a socket is the
/// same as long as its device, inode and time of birth are. The kubelet's own checkpoint files, of
/// which it writes one for every list, wake nobody. A storm of changes is looked at twenty times a
/// second.
///
/// Belongs to the loop thread, and looks up paths there: the kubelet's own directory is on the
/// node's root file system, and where that hangs there is no kubelet to serve.
class KubeletDir {
 public:
  struct Events {
    /// kubelet.sock is there; another epoch is another socket.
    std::function<void(std::uint64_t epoch)> on_kubelet;
    std::function<void()> on_kubelet_lost;
    /// Something changed that concerns plugins' sockets: see whether yours is still there.
    std::function<void()> on_sockets_changed;
    /// The directory was removed under a mount: this process can never see the new one and must be
    /// started again.
    std::function<void(std::string reason)> on_dead;
  };

  /// `poll` is the time between two looks without an event; where nothing can be watched, looks are
  /// taken every five seconds.
  KubeletDir(Loop& loop, Log& log, std::string directory, std::chrono::milliseconds poll,
             Events events);

  /// Takes the first look, and goes on looking.
  void Start();
  /// From the next look on.
  void SetPoll(std::chrono::milliseconds poll) { poll_ = poll; }
  /// Looks now.
  void Check();

  bool kubelet_present() const { return identity_.has_value(); }
  /// Why there is no kubelet, as far as the directory tells, and what to do about it.
  std::string_view WhyAbsent() const;
  std::string kubelet_socket() const { return directory_ + "/kubelet.sock"; }

 private:
  void OnChange(const std::string& directory, std::string_view name);
  void Watch();
  void Schedule();
  bool DirectoryIsDead() const;

  Loop& loop_;
  Log& log_;
  const std::string directory_;
  std::chrono::milliseconds poll_;
  Events events_;
  std::unique_ptr<DirWatch> watch_;
  bool watching_ = true;  ///< as far as was told
  bool check_pending_ = false;
  Loop::Time paid_until_{};  ///< grows with each look; too far ahead, the next one waits
  Subscription delayed_;     ///< the pending look, where it has to wait
  bool dead_ = false;
  std::optional<std::string> identity_;  ///< of the kubelet.sock seen last
  std::uint64_t epoch_ = 0;
  Subscription timer_;
  Lifetime lifetime_;
};

}  // namespace patchbay
