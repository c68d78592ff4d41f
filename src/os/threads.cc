#include "os/threads.h"

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/format.h"

namespace patchbay {

tl::unexpected<Error> CannotStartThread(const std::system_error& problem) {
  return Fail(ErrorKind::kUnavailable,
              Format("cannot start a thread: {}; {}", problem.code().message(), kRaiseThreadLimit));
}

struct JobThreads::State {
  std::shared_mutex owner_mutex;  ///< held by calls to the owner, and to end them
  bool has_owner = true;
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;
};

void JobThreads::Owner::Call(const std::function<void()>& f) const {
  const std::shared_lock lock(state_.owner_mutex);
  if (state_.has_owner) f();
}

JobThreads::JobThreads() : state_(std::make_shared<State>()) {}

JobThreads::~JobThreads() { End({}, 0); }

Status JobThreads::Run(Job job) {
  const auto end = [state = state_] {
    const std::lock_guard lock(state->mutex);
    --state->running;
    state->ended.notify_all();
  };
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->running;
  }
  auto started = StartThread([state = state_, job = std::move(job), end]() mutable {
    job(Owner(*state));
    job = nullptr;  // what it owns may take time to destroy
    end();
  });
  if (started) {
    started->detach();
    return {};
  }
  end();
  return tl::unexpected(started.error());
}

void JobThreads::End(std::chrono::milliseconds limit, std::size_t left) {
  {
    const std::unique_lock lock(state_->owner_mutex);
    state_->has_owner = false;
  }
  std::unique_lock lock(state_->mutex);
  state_->ended.wait_for(lock, limit, [&] { return state_->running <= left; });
}

}  // namespace patchbay
