// posix_spawn returns when the program is executed, and hangs as long as exec hangs, so the process
// to kill is not known. After fork it is. The child executes the program by system calls only, and
// reports a failure through a pipe that the kernel closes when the program is executed.

#include "os/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

// In glibc 2.36 this header lacks its own extern "C".
extern "C" {
#include <sys/pidfd.h>
}

#include "base/escape.h"
#include "base/format.h"
#include "os/descriptors.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using SpawnClock = std::chrono::steady_clock;

/// The time for a killed process to end.
constexpr milliseconds kKillTime{500};
/// The time for a program to start that was stopped: it then receives SIGTERM first, as others.
constexpr milliseconds kStartTime{100};
/// The lowest number of a descriptor that does not become one of the child's.
constexpr int kFirstFree = STDERR_FILENO + 2;
constexpr int kReport = STDERR_FILENO + 1;
/// An oom_score_adj between those that the kubelet sets for pods of low and of high importance
/// (1000 for BestEffort, -997 for Guaranteed).
constexpr std::string_view kOomScore = "500";

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
             "has (see \"In the DaemonSet\" in docs/health.md)";
    case EACCES:
      return "; the program must be an executable file: for a script from a ConfigMap set "
             "defaultMode: 0755 on the volume";
    case ENOEXEC:
      return "; the program must be built for this machine, or start with a line like #!/bin/sh";
    case E2BIG: return "; an argument is limited to 128 KiB";
    default: return "";
  }
}

bool HoldsNul(const std::string& text) { return text.find('\0') != std::string::npos; }

/// Returns the paths at which a program is looked up, as execvp(3) does.
std::vector<std::string> PathsOf(const std::string& program,
                                 const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  if (program.empty() || program.find('/') != std::string::npos) return {program};
  std::vector<std::string> paths;
  for (const std::string& variable : environment) {
    if (!variable.starts_with(kPath)) continue;
    std::string_view left = std::string_view(variable).substr(kPath.size());
    while (!left.empty()) {
      const std::string_view directory = left.substr(0, left.find(':'));
      if (!directory.empty()) paths.push_back(Format("{}/{}", directory, program));
      left.remove_prefix(std::min(left.size(), directory.size() + 1));
    }
  }
  return paths;
}

/// The values that the child uses. Made before the fork, because it must not allocate memory.
struct ChildPlan {
  std::vector<char*> paths;
  std::vector<char*> argv;
  std::vector<char*> environment;
  int input;
  int output;
  int errors;
  int report;
};

void RaiseOomScore() {
  // When memory runs out, the kernel kills a leaking program and not this process, whose protection
  // the child would inherit otherwise. This needs no privilege. A higher score is not lowered.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  static_cast<void>(!write(score, kOomScore.data(), kOomScore.size()));
  close(score);
}

/// Executes the program. Returns the error number if that fails.
int Execute(const ChildPlan& plan) {
  setpgid(0, 0);
  RaiseOomScore();
  RestoreDescriptorLimit();
  if (dup2(plan.input, STDIN_FILENO) < 0 || dup2(plan.output, STDOUT_FILENO) < 0 ||
      dup2(plan.errors, STDERR_FILENO) < 0 || close_range(kFirstFree, ~0U, 0) != 0 ||
      chdir("/") != 0) {
    return errno;
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (char* const path : plan.paths) {
    if (path == nullptr) break;
    execve(path, plan.argv.data(), plan.environment.data());
    if (error != EACCES) error = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  return error;
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  const int report = dup3(plan.report, kReport, O_CLOEXEC);
  const int error = report < 0 ? errno : Execute(plan);
  static_cast<void>(!write(report < 0 ? plan.report : report, &error, sizeof error));
  _exit(127);
}

/// Forks with all signals blocked, so that no handler of this process runs in the child.
pid_t ForkBlocked() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int error = errno;
  if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

/// Waits until a descriptor is readable; false at the deadline.
bool AwaitReadable(int fd, milliseconds limit) {
  pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, static_cast<int>(limit.count())) > 0;
}

/// Waits until the program is executed or fails to; false at the deadline and on cancellation.
bool AwaitReport(int report, SpawnClock::time_point deadline, const Cancellation& cancellation) {
  std::array<pollfd, 2> fds = {{{report, POLLIN, 0}, {cancellation.fd(), POLLIN, 0}}};
  do {
    const auto left = std::chrono::ceil<milliseconds>(deadline - SpawnClock::now());
    poll(fds.data(), fds.size(),
         static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
  } while (fds[0].revents == 0 && fds[1].revents == 0 && SpawnClock::now() < deadline);
  return fds[0].revents != 0 || AwaitReadable(report, kStartTime);
}

UniqueFd MoveUp(const UniqueFd& fd) {
  return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFree));
}

}  // namespace

Result<Spawned> Spawn(SpawnSpec spec, SpawnClock::time_point deadline,
                      const Cancellation& cancellation) {
  if (spec.argv.empty()) return Fail(ErrorKind::kInvalid, "there is no program to run");
  const std::string what = "cannot run " + Truncate(spec.argv.front(), 100);
  if (std::ranges::any_of(spec.argv, HoldsNul) || std::ranges::any_of(spec.environment, HoldsNul)) {
    return Fail(ErrorKind::kInvalid, what + ": an argument or variable contains a NUL byte");
  }
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno(what, errno);
  const UniqueFd report(ends[0]);
  UniqueFd low(ends[1]);
  UniqueFd write_end = MoveUp(low);
  const UniqueFd input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd high_input = MoveUp(input);
  UniqueFd output = MoveUp(spec.output);
  UniqueFd errors = MoveUp(spec.errors);
  if (!write_end || !high_input || !output || !errors) return FailErrno(what, errno);
  std::vector<std::string> paths = PathsOf(spec.argv.front(), spec.environment);
  const ChildPlan plan = {.paths = Pointers(paths),
                          .argv = Pointers(spec.argv),
                          .environment = Pointers(spec.environment),
                          .input = high_input.get(),
                          .output = output.get(),
                          .errors = errors.get(),
                          .report = write_end.get()};
  const pid_t pid = ForkBlocked();
  if (pid == 0) RunChild(plan);
  if (pid < 0) return FailErrno(what, errno);
  setpgid(pid, pid);  // in both processes, because either can be first
  for (UniqueFd* fd : {&low, &write_end, &output, &errors, &spec.output, &spec.errors}) {
    *fd = UniqueFd();
  }
  UniqueFd process(pidfd_open(pid, 0));
  if (!process) {
    const int error = errno;
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);  // returns soon: it was just started, and is killed
    return FailErrno(what, error);
  }
  if (!AwaitReport(report.get(), deadline, cancellation)) {
    Spawned none;
    none.cancelled = cancellation.triggered();
    none.timed_out = !none.cancelled;
    pidfd_send_signal(process.get(), SIGKILL, nullptr, 0);
    if (!AwaitReadable(process.get(), kKillTime)) {
      none.left_behind = std::move(process);  // it hangs in the kernel
    } else {
      waitpid(pid, nullptr, 0);
    }
    return none;
  }
  int error = 0;
  if (read(report.get(), &error, sizeof error) != sizeof error) {
    return Spawned{.pid = pid, .process = std::move(process)};
  }
  waitpid(pid, nullptr, 0);
  Error failure = FailErrno(what, error).value();
  failure.message += HintFor(error);
  return Failure(std::move(failure));
}

}  // namespace patchbay
