// Spawn starts the program, and a Watch follows it with poll(2) until it has ended and both output
// streams are closed. A Watch passes through phases with a deadline each: run, terminate (SIGTERM),
// kill (SIGKILL). A child that survives the last phase is left behind. When the program ends while
// descendants still hold its streams open, these get a short time to close them.
//
// The child is not reaped before Finish, so its ID, which is also that of its group, cannot be
// reused while signals are sent to it.

#include "os/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

// In glibc 2.36 this header lacks its own extern "C".
extern "C" {
#include <sys/pidfd.h>
}

#include "base/escape.h"
#include "base/format.h"
#include "os/spawn.h"

namespace patchbay {
namespace {

using Clock = std::chrono::steady_clock;

/// Time for a group to end after SIGTERM, for a process to end after SIGKILL, and for descendants
/// of the child to close its output.
constexpr std::chrono::milliseconds kTermGrace{1000};
constexpr std::chrono::milliseconds kKillGrace{500};
constexpr std::chrono::milliseconds kPipeGrace{100};

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("cannot create a pipe", errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> EnvironmentOf(const SubprocessSpec& spec) {
  const char* path = std::getenv("PATH");
  std::map<std::string, std::string> variables = spec.environment;
  variables.emplace("PATH", path != nullptr ? path : kDefaultPath);
  variables.emplace("HOME", "/");
  variables.emplace("LANG", "C.UTF-8");
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

/// One of the two output streams of a child, and its content.
struct Stream {
  UniqueFd fd;  ///< empty after end of file
  std::size_t most = 0;
  std::string text = {};
  bool cut = false;

  void Close() { fd = UniqueFd(); }
  void Read() {
    std::array<char, 64 * 1024> buffer;
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return Close();
    const std::size_t kept = std::min(static_cast<std::size_t>(count), most - text.size());
    text.append(buffer.data(), kept);
    if (kept < static_cast<std::size_t>(count)) cut = true;
  }
};

/// Supervises a child from its start to its end.
class Watch {
 public:
  Watch(const SubprocessSpec& spec, const Cancellation& cancellation, Clock::time_point deadline,
        pid_t pid, UniqueFd process, UniqueFd output, UniqueFd errors)
      : spec_(spec),
        cancellation_(cancellation),
        pid_(pid),
        process_(std::move(process)),
        output_{std::move(output), spec.max_output},
        errors_{std::move(errors), SubprocessSpec::kMaxErrors},
        deadline_(deadline) {}

  SubprocessResult Run() {
    do {
      Await();
    } while ((!ended_ || output_.fd || errors_.fd) && (Clock::now() < deadline_ || NextPhase()));
    return Finish();
  }

 private:
  /// The last action on the child: started, sent SIGTERM, or sent SIGKILL.
  enum class Phase { kRun, kTerminate, kKill };

  void Await();
  bool NextPhase();
  void Stop(SubprocessEnd why, Phase phase);
  void OnCancelled();
  void OnExcess();
  SubprocessResult Finish();
  void ReadStatus(SubprocessResult& result);

  const SubprocessSpec& spec_;
  const Cancellation& cancellation_;
  pid_t pid_;  ///< of the process and its group; not reused, since it is not reaped before Finish
  UniqueFd process_;
  Stream output_;
  Stream errors_;
  Phase phase_ = Phase::kRun;
  Clock::time_point deadline_;  ///< of the phase, or of the streams after the child has ended
  bool ended_ = false;
  std::optional<SubprocessEnd> why_;  ///< set when the child is stopped
};

/// Waits for the next event or the deadline, and handles the event.
void Watch::Await() {
  const bool may_cancel = phase_ == Phase::kRun;
  std::array<pollfd, 4> fds = {{{ended_ ? -1 : process_.get(), POLLIN, 0},
                                {output_.fd.get(), POLLIN, 0},
                                {errors_.fd.get(), POLLIN, 0},
                                {may_cancel ? cancellation_.fd() : -1, POLLIN, 0}}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
  if (fds[1].revents != 0) output_.Read();
  if (fds[2].revents != 0) errors_.Read();
  if (fds[0].revents != 0) {
    ended_ = true;
    if (phase_ == Phase::kRun) deadline_ = Clock::now() + kPipeGrace;
  }
  if (fds[3].revents != 0) OnCancelled();
  if (output_.cut && output_.fd && spec_.excess == SubprocessSpec::Excess::kEnd) OnExcess();
}

/// Called at the deadline: enters the next phase. Returns false if there is none.
bool Watch::NextPhase() {
  if (ended_ || phase_ == Phase::kKill) return false;
  if (phase_ == Phase::kRun) {
    Stop(SubprocessEnd::kTimedOut, Phase::kTerminate);
  } else {
    Stop(*why_, Phase::kKill);
  }
  return true;
}

void Watch::OnCancelled() {
  Stop(SubprocessEnd::kCancelled, Phase::kTerminate);
  if (ended_) deadline_ = Clock::now();
}

void Watch::OnExcess() {
  output_.Close();
  Stop(why_.value_or(SubprocessEnd::kTooMuchOutput), Phase::kKill);
}

void Watch::Stop(SubprocessEnd why, Phase phase) {
  why_ = why;
  phase_ = phase;
  if (phase == Phase::kTerminate) {
    kill(-pid_, SIGTERM);
    deadline_ = Clock::now() + kTermGrace;
  } else {
    kill(-pid_, SIGKILL);
    pidfd_send_signal(process_.get(), SIGKILL, nullptr, 0);  // the child may have left its group
    deadline_ = Clock::now() + kKillGrace;
  }
}

SubprocessResult Watch::Finish() {
  SubprocessResult result;
  if (ended_) {
    kill(-pid_, SIGKILL);
    ReadStatus(result);
  } else {
    result.left_behind = std::move(process_);
  }
  if (why_) result.end = *why_;
  result.output = std::move(output_.text);
  result.output_cut = output_.cut;
  result.error_output = std::move(errors_.text);
  return result;
}

/// Reaps the child and stores its exit status.
void Watch::ReadStatus(SubprocessResult& result) {
  siginfo_t info = {};
  if (waitid(P_PIDFD, static_cast<id_t>(process_.get()), &info, WEXITED | WNOHANG) != 0) {
    // This happens if this process was started with SIGCHLD ignored.
    result.error = FailErrno("cannot read the exit status of the program", errno).value().message;
    return;
  }
  result.end = info.si_code == CLD_EXITED ? SubprocessEnd::kExited : SubprocessEnd::kSignalled;
  result.code = info.si_status;
}

Result<SubprocessResult> Run(const SubprocessSpec& spec, const Cancellation& cancellation) {
  const Clock::time_point deadline = Clock::now() + spec.timeout;
  Pipe output = TRY(MakePipe());
  Pipe errors = TRY(MakePipe());
  Spawned spawned =
      TRY(Spawn({spec.argv, EnvironmentOf(spec), std::move(output.write), std::move(errors.write)},
                deadline, cancellation));
  if (spawned.pid == 0) {
    SubprocessResult nothing;
    nothing.end = spawned.cancelled ? SubprocessEnd::kCancelled : SubprocessEnd::kTimedOut;
    nothing.left_behind = std::move(spawned.left_behind);
    return nothing;
  }
  return Watch(spec, cancellation, deadline, spawned.pid, std::move(spawned.process),
               std::move(output.read), std::move(errors.read))
      .Run();
}

}  // namespace

Result<Cancellation> Cancellation::Create() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return FailErrno("cannot create an eventfd", errno);
  return Cancellation(std::move(fd));
}

void Cancellation::Trigger() const { eventfd_write(fd_.get(), 1); }

bool Cancellation::triggered() const {
  pollfd fd = {fd_.get(), POLLIN, 0};
  return poll(&fd, 1, 0) > 0;
}

SubprocessResult RunSubprocess(const SubprocessSpec& spec, const Cancellation& cancellation) {
  SubprocessResult nothing;
  if (cancellation.triggered()) {
    nothing.end = SubprocessEnd::kCancelled;
    return nothing;
  }
  auto result = Run(spec, cancellation);
  if (result) return std::move(*result);
  nothing.error = std::move(result).error().message;
  return nothing;
}

bool HasEnded(const UniqueFd& left_behind) {
  siginfo_t info = {};
  const int result =
      waitid(P_PIDFD, static_cast<id_t>(left_behind.get()), &info, WEXITED | WNOHANG);
  return result != 0 || info.si_pid != 0;
}

}  // namespace patchbay
