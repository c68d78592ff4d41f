// PID 1 is an init process and a watchdog. It forks the worker and then only waits for signals,
// which are blocked and received with sigtimedwait(2). The timeout of that call is the timer of the
// watchdog, so PID 1 needs neither signal handlers nor threads, and can fork again at any time.
//
// The watchdog is active from the first beat of a worker, so a slow start is not mistaken for a
// hang. Only a worker that the watchdog killed is replaced. If a worker ends by itself, PID 1
// returns its exit code.

#include "os/pid1.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <vector>

namespace patchbay {

struct Heartbeat::Page {
  std::atomic<std::uint64_t> beats = 0;
  std::atomic<std::uint64_t> kills = 0;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // works between processes
};

Result<std::shared_ptr<Heartbeat>> Heartbeat::Create() {
  void* memory =
      mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return FailErrno("cannot share memory with a child", errno);
  return std::shared_ptr<Heartbeat>(new Heartbeat(new (memory) Page));
}

Heartbeat::~Heartbeat() { munmap(page_, sizeof(Page)); }

void Heartbeat::Beat() { ++page_->beats; }
std::uint64_t Heartbeat::beats() const { return page_->beats; }
std::uint64_t Heartbeat::kills() const { return page_->kills; }
void Heartbeat::CountKill() { ++page_->kills; }
void Heartbeat::Restart() { page_->beats = 0; }

bool HangDetector::Check(std::uint64_t beats) {
  const bool missed = beats != 0 && beats == last_;
  last_ = beats;
  missed_ = missed ? missed_ + 1 : 0;
  return missed_ > max_missed_;
}

namespace {

using InitClock = std::chrono::steady_clock;

constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGTERM};

/// Blocks the signals that PID 1 waits for. A blocked signal stays pending until Await receives it,
/// so that none is lost and none terminates a worker process that was just forked.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int number : kPassedOn) sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, &mask_before_);
    // While SIGCHLD is ignored, the exit status of a child is not available.
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &action_before_);
  }

  /// Restores the previous signal mask and SIGCHLD action.
  void Release() const {
    sigaction(SIGCHLD, &action_before_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  /// Returns the next signal, or a negative number if none arrives before `deadline`.
  int Await(InitClock::time_point deadline) const {
    const auto left = std::max(deadline - InitClock::now(), InitClock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    return sigtimedwait(&signals_, nullptr, &time);
  }

 private:
  sigset_t signals_;
  sigset_t mask_before_;
  struct sigaction action_before_ = {};
};

/// Reaps all children that have ended. Returns the exit code of the worker process `copy` if it is
/// one of them.
std::optional<int> Reap(pid_t copy) {
  std::optional<int> code;
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == copy) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code;
}

/// PID 1 and its worker processes, one at a time.
class InitProcess {
 public:
  InitProcess(std::shared_ptr<Heartbeat> heartbeat, const OnWatchdogKill& on_kill,
              const WatchdogPace& pace)
      : heartbeat_(std::move(heartbeat)), on_kill_(on_kill), pace_(pace) {}

  Result<Pid1Role> Run() {
    while (true) {
      heartbeat_->Restart();
      killed_ = false;
      copy_ = fork();
      if (copy_ < 0) {
        const int error = errno;
        signals_.Release();
        return FailErrno("cannot fork", error);
      }
      if (copy_ == 0) {
        signals_.Release();
        return Pid1Role{std::nullopt, heartbeat_};
      }
      const int code = Watch();
      // The worker may have ended by itself just before the kill.
      if (!killed_ || code != 128 + SIGKILL) return Pid1Role{code, nullptr};
      const bool restarts = MayRestart();
      heartbeat_->CountKill();
      on_kill_({heartbeat_->kills(), restarts});
      if (!restarts) return Pid1Role{code, nullptr};
    }
  }

 private:
  /// Waits for the worker process to end, and kills it if it hangs. Returns its exit code.
  int Watch() {
    HangDetector hang(pace_.max_missed);
    auto next_check = InitClock::now() + pace_.check;
    while (true) {
      const int number = signals_.Await(end_by_ ? std::min(*end_by_, next_check) : next_check);
      const auto now = InitClock::now();
      if (number == SIGCHLD) {
        if (const auto code = Reap(copy_)) return *code;
      } else if (number > 0) {
        kill(copy_, number);
        if ((number == SIGTERM || number == SIGINT) && !end_by_) end_by_ = now + pace_.end;
      }
      if (now >= next_check) {
        next_check = now + pace_.check;
        if (hang.Check(heartbeat_->beats())) Kill();
      }
      if (end_by_ && now >= *end_by_) {
        end_by_ = now + pace_.end;
        if (heartbeat_->beats() > 0) Kill();
      }
    }
  }

  void Kill() {
    killed_ = true;
    kill(copy_, SIGKILL);
  }

  bool MayRestart() {
    const auto now = InitClock::now();
    std::erase_if(kills_, [&](InitClock::time_point at) { return now - at > pace_.within; });
    kills_.push_back(now);
    return !end_by_ && kills_.size() < pace_.max_kills;
  }

  const HeldSignals signals_;
  const std::shared_ptr<Heartbeat> heartbeat_;
  const OnWatchdogKill& on_kill_;
  const WatchdogPace pace_;
  pid_t copy_ = 0;
  bool killed_ = false;                          ///< by the watchdog
  std::optional<InitClock::time_point> end_by_;  ///< set once shutdown is requested
  std::vector<InitClock::time_point> kills_;
};

}  // namespace

Result<Pid1Role> RunAsPid1(const OnWatchdogKill& on_kill, WatchdogPace pace) {
  if (getpid() != 1) return Pid1Role{};
  return InitProcess(TRY(Heartbeat::Create()), on_kill, pace).Run();
}

}  // namespace patchbay
