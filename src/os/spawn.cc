// posix_spawn is used instead of fork, because this process has many threads and gRPC installs fork
// handlers. The implementation in glibc runs no fork handlers and only system calls between fork
// and exec, takes the same time for any size of the process, and reports why a program could not be
// executed. It returns when the program is executed, and hangs as long as exec hangs. It therefore
// runs on a separate thread, which is abandoned when the deadline has passed. Such a thread ends
// when the process that it started is dead.

#include "os/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

// In glibc 2.36 this header lacks its own extern "C".
extern "C" {
#include <sys/pidfd.h>
}

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// Time in milliseconds for a killed process to end.
constexpr int kEndMs = 500;

/// The actions of posix_spawn between fork and exec.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// Returns 0 or an errno value.
  int Prepare(int output, int errors) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    const int results[] = {
        posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO),
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1),
        posix_spawn_file_actions_addchdir_np(&actions_, "/"),
        posix_spawnattr_setpgroup(&attributes_, 0),
        posix_spawnattr_setsigdefault(&attributes_, &all),
        posix_spawnattr_setsigmask(&attributes_, &none),
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK),
    };
    return *std::max_element(std::begin(results), std::end(results));
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view HintFor(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "; the program, and the interpreter in the first line of a script, must exist where "
             "patchbay runs: the default image has no shell and no programs, the image with tools "
             "has (see \"In the "
             "DaemonSet\" in docs/health.md)";
    case EACCES:
      return "; the program must be an executable file: for a script from a ConfigMap set "
             "defaultMode: 0755 "
             "on the volume";
    case ENOEXEC:
      return "; the program must be built for this machine, or start with a line like #!/bin/sh";
    case E2BIG: return "; an argument is limited to 128 KiB";
    default: return "";
  }
}

bool HoldsNul(const std::string& text) { return text.find('\0') != std::string::npos; }

/// State shared by the caller and the thread.
struct Start {
  SpawnSpec spec;
  UniqueFd ended;  ///< an eventfd; readable when the thread has stored the result
  std::atomic<pid_t> thread = 0;
  std::mutex mutex;
  bool is_abandoned = false;
  bool has_ended = false;
  int error = 0;
  pid_t pid = 0;
};

void SpawnAndReport(const std::shared_ptr<Start>& start) {
  start->thread = gettid();
  SpawnPlan plan;
  pid_t pid = 0;
  int error = plan.Prepare(start->spec.output.get(), start->spec.errors.get());
  if (error == 0) {
    error =
        posix_spawnp(&pid, start->spec.argv.front().c_str(), plan.actions(), plan.attributes(),
                     Pointers(start->spec.argv).data(), Pointers(start->spec.environment).data());
  }
  start->spec.output = UniqueFd();
  start->spec.errors = UniqueFd();
  {
    const std::lock_guard lock(start->mutex);
    start->has_ended = true;
    start->error = error;
    start->pid = pid;
    if (!start->is_abandoned) {
      eventfd_write(start->ended.get(), 1);
      return;
    }
  }
  // The caller has given up, so kill the process. Use a pidfd, because the process may be reaped
  // elsewhere; see HasEnded.
  const UniqueFd process(error == 0 ? pidfd_open(pid, 0) : -1);
  if (!process) return;
  pidfd_send_signal(process.get(), SIGKILL, nullptr, 0);
  const auto id = static_cast<id_t>(process.get());
  siginfo_t ended;
  if (waitid(P_PIDFD, id, &ended, WEXITED | WNOWAIT) != 0) return;
  kill(-pid, SIGKILL);  // it may already have started other processes
  waitid(P_PIDFD, id, &ended, WEXITED);
}

/// Returns the child process of a thread that is in posix_spawn, or 0 if it has none. Returns
/// nothing if the kernel does not report it (CONFIG_PROC_CHILDREN).
std::optional<pid_t> ChildOf(pid_t thread) {
  std::ifstream children(Format("/proc/self/task/{}/children", thread));
  if (!children) return std::nullopt;
  pid_t child = 0;
  children >> child;
  return child;
}

/// Returns whether the process exists and does not execute its program yet. Reads the flag
/// PF_FORKNOEXEC (include/linux/sched.h in the kernel source) in the ninth field of /proc/PID/stat;
/// see proc(5).
bool IsInExec(pid_t process) {
  constexpr unsigned kForkNoExec = 0x40;
  std::ifstream stat(Format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // after the program name
  std::string skipped;
  for (int i = 3; i < 9; ++i) fields >> skipped;
  unsigned flags = 0;
  fields >> flags;
  return (flags & kForkNoExec) != 0;
}

/// Returns whether the thread is before or after exec, where it cannot hang.
bool CannotHang(const Start& start) {
  if (start.thread == 0) return true;
  const std::optional<pid_t> child = ChildOf(start.thread);
  return child && !IsInExec(*child);
}

/// Returns a pidfd of the child process of a thread that is in posix_spawn. Empty if there is none
/// or it cannot be opened.
UniqueFd ProcessOf(pid_t thread) {
  const std::optional<pid_t> child = ChildOf(thread);
  if (child.value_or(0) == 0) return {};
  UniqueFd process(pidfd_open(*child, 0));
  // If the child has changed, the pidfd may refer to another process.
  return ChildOf(thread) == child ? std::move(process) : UniqueFd();
}

/// Kills a process. Returns whether it has ended; a process that hangs in the kernel does not.
bool KillProcess(const UniqueFd& process) {
  pidfd_send_signal(process.get(), SIGKILL, nullptr, 0);
  pollfd ended = {process.get(), POLLIN, 0};
  return poll(&ended, 1, kEndMs) > 0;
}

}  // namespace

Result<Spawned> Spawn(SpawnSpec spec, std::chrono::steady_clock::time_point deadline,
                      const Cancellation& cancellation) {
  using std::chrono::milliseconds;
  if (spec.argv.empty()) return Fail(ErrorKind::kInvalid, "there is no program to run");
  const std::string what = "cannot run " + Truncate(spec.argv.front(), 100);
  if (std::any_of(spec.argv.begin(), spec.argv.end(), HoldsNul) ||
      std::any_of(spec.environment.begin(), spec.environment.end(), HoldsNul)) {
    return Fail(ErrorKind::kInvalid, what + ": an argument or variable contains a NUL byte");
  }
  const auto start = std::make_shared<Start>();
  start->spec = std::move(spec);
  start->ended = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!start->ended) return FailErrno(what, errno);
  std::thread thread;
  try {
    thread = std::thread([start] { SpawnAndReport(start); });
  } catch (const std::system_error& problem) {
    return Fail(ErrorKind::kUnavailable, Format("{}: {}", what, problem.what()));
  }
  std::array<pollfd, 2> fds = {{{start->ended.get(), POLLIN, 0}, {cancellation.fd(), POLLIN, 0}}};
  do {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    poll(fds.data(), fds.size(),
         static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
  } while (fds[0].revents == 0 && fds[1].revents == 0 &&
           std::chrono::steady_clock::now() < deadline);
  // After exec, wait for the report of the thread: the caller of Spawn stops the whole process
  // group, with SIGTERM first.
  while (fds[0].revents == 0 && CannotHang(*start)) poll(fds.data(), 1, 1);
  {
    const std::lock_guard lock(start->mutex);
    start->is_abandoned = !start->has_ended;
  }
  if (start->is_abandoned) {
    Spawned none;
    none.cancelled = fds[1].revents != 0;
    none.timed_out = !none.cancelled;
    UniqueFd process = ProcessOf(start->thread);
    const bool is_reaped = ChildOf(start->thread) == std::optional<pid_t>(0);
    if (is_reaped || (process && KillProcess(process))) {
      thread.join();  // the thread reaps the process
    } else {
      thread.detach();
      none.left_behind = std::move(process);
    }
    return none;
  }
  thread.join();
  if (start->error == 0) return Spawned{.pid = start->pid};
  Error failure = FailErrno(what, start->error).value();
  failure.message += HintFor(start->error);
  return Failure(std::move(failure));
}

}  // namespace patchbay
