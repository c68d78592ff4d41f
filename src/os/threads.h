#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"

namespace patchbay {

/// The end of a message that the system cannot create a thread: what the administrator can do.
inline constexpr std::string_view kRaiseThreadLimit =
    "raise the limit of processes, which is pids.max of the cgroup, or ulimit -u";

/// The error of a thread that cannot be created, with its cure.
tl::unexpected<Error> CannotStartThread(const std::system_error& problem);

/// Starts a thread that runs `f`. Fails if the system cannot create it.
template <class F>
Result<std::thread> StartThread(F f) {
  try {
    return std::thread(std::move(f));
  } catch (const std::system_error& problem) {
    return CannotStartThread(problem);
  }
}

/// Runs each job on a thread of its own, because it can hang in the kernel and never return.
/// Thread-safe. Threads are not joined; the destructor waits for none of them.
class JobThreads {
  struct State;

 public:
  /// Through which a job calls its owner, which may have been destroyed in the meantime.
  class Owner {
   public:
    explicit Owner(State& state) : state_(state) {}
    /// Calls `f` unless the JobThreads is being destroyed, which waits for it: it must not block.
    void Call(const std::function<void()>& f) const;

   private:
    State& state_;
  };
  /// Can outlive all other objects, so it must access only what it owns.
  using Job = std::function<void(const Owner&)>;

  JobThreads();
  /// Must not be called by a job.
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  /// Starts the job. Fails if the system cannot create a thread.
  Status Run(Job job);
  /// Waits until at most `left` jobs run, for at most `limit`. No function of an owner is called
  /// any more.
  void End(std::chrono::milliseconds limit, std::size_t left);

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace patchbay
