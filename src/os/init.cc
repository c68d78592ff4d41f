#include "os/init.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace patchbay {
namespace {

constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};

/// What the init waits for, kept from doing anything else: blocked, signals wait until they are
/// asked for, and none is lost or ends a copy that has only begun.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int number : kPassedOn) sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, &mask_before_);
    // Where SIGCHLD is ignored nobody learns how a child ended.
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &action_before_);
  }

  /// All as it was before.
  void Release() const {
    sigaction(SIGCHLD, &action_before_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  /// The next one; negative if there is none yet.
  int Await() const { return sigwaitinfo(&signals_, nullptr); }

 private:
  sigset_t signals_;
  sigset_t mask_before_;
  struct sigaction action_before_ = {};
};

/// Reaps all that has ended. Returns the exit code if the copy is among it.
std::optional<int> Reap(pid_t copy) {
  std::optional<int> code;
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == copy) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code;
}

}  // namespace

Result<std::optional<int>> RunAsInit() {
  if (getpid() != 1) return std::nullopt;
  const HeldSignals signals;
  const pid_t copy = fork();
  if (copy < 0) {
    const int error = errno;
    signals.Release();
    return FailErrno("cannot fork", error);
  }
  if (copy == 0) {
    signals.Release();
    return std::nullopt;
  }
  while (true) {
    const int number = signals.Await();
    if (number == SIGCHLD) {
      if (const auto code = Reap(copy)) return code;
    } else if (number > 0) {
      kill(copy, number);
    }
  }
}

}  // namespace patchbay
