#include "cli/shutdown_watchdog.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "os/threads.h"

namespace patchbay {
namespace {

sigset_t SetOf(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : signals) sigaddset(&set, number);
  return set;
}

}  // namespace

ShutdownWatchdog::ShutdownWatchdog(std::vector<int> signals, Loop& loop, std::function<void(int)> f)
    : signals_(std::move(signals)),
      ends_(own_loop_.OnSignals(signals_, [this, &loop, f = std::move(f)](int number) {
        Start(0);
        loop.Post([f, number] { f(number); });
      })) {
  // The kernel delivers a signal to any thread that does not block it. A thread that hangs in a
  // path lookup would never handle it, so only the thread of the watchdog receives signals.
  const sigset_t set = SetOf(signals_);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set] {
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    own_loop_.Run();
  });
}

ShutdownWatchdog::~ShutdownWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_in_time_ = !is_late_;
    if (ended_in_time_) own_loop_.Stop();
  }
  thread_.join();  // if it is late, until the process exits
  ends_ = Subscription();
  for (const int number : signals_) std::signal(number, SIG_IGN);
  const sigset_t set = SetOf(signals_);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void ShutdownWatchdog::SetLastAct(std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  last_act_ = std::move(f);
}

void ShutdownWatchdog::Begin(int code) {
  own_loop_.Post([this, code] { Start(code); });
}

void ShutdownWatchdog::Start(int code) {
  if (!limit_) limit_ = own_loop_.After(kLimit, [this, code] { OnLate(code); });
}

void ShutdownWatchdog::OnLate(int code) {
  const std::lock_guard lock(mutex_);
  if (ended_in_time_) return;
  is_late_ = true;
  limit_ = own_loop_.After(kLastActLimit, [code] { std::_Exit(code); });
  auto thread = StartThread([last_act = last_act_, code] {
    if (last_act) last_act();
    std::_Exit(code);
  });
  if (!thread) std::_Exit(code);
  thread->detach();
}

}  // namespace patchbay
