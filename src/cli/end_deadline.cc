#include "cli/end_deadline.h"

#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace patchbay {
namespace {

std::atomic<int> forced_code = 0;  // for a signal handler

}  // namespace

EndDeadline::EndDeadline(std::vector<int> signals, Loop& loop, std::function<void(int)> f)
    : signals_(std::move(signals)),
      ends_(own_loop_.OnSignals(signals_,
                                [this, &loop, f = std::move(f)](int number) {
                                  Start(0);
                                  loop.Post([f, number] { f(number); });
                                })),
      thread_([this] { own_loop_.Run(); }) {}

EndDeadline::~EndDeadline() {
  own_loop_.Stop();
  thread_.join();
  ends_ = Subscription();
  for (const int number : signals_) std::signal(number, SIG_IGN);
}

void EndDeadline::SetLastAct(std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  last_act_ = std::move(f);
}

void EndDeadline::Begin(int code) {
  own_loop_.Post([this, code] { Start(code); });
}

void EndDeadline::Start(int code) {
  if (has_begun_) return;
  has_begun_ = true;
  limit_ = own_loop_.After(kLimit, [this, code] { Exit(code); });
}

void EndDeadline::Exit(int code) {
  forced_code = code;
  std::signal(SIGALRM, [](int) { std::_Exit(forced_code); });
  const itimerval limit{.it_interval = {},
                        .it_value = {.tv_sec = 0, .tv_usec = kLastActLimit.count() * 1000}};
  setitimer(ITIMER_REAL, &limit, nullptr);
  {
    const std::lock_guard lock(mutex_);
    if (last_act_) last_act_();
  }
  std::_Exit(code);
}

}  // namespace patchbay
