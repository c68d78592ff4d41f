#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Stops any number of subprocesses from another thread. It cannot be reset. Thread-safe; it must
/// outlive the calls of RunSubprocess that use it.
class Cancellation {
 public:
  static Result<Cancellation> Create();

  void Trigger() const;
  bool triggered() const;
  /// Returns a descriptor that becomes readable after Trigger.
  int fd() const { return fd_.get(); }

 private:
  explicit Cancellation(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

/// A program to run, and its limits. Its stdin is /dev/null and its working directory is "/". It
/// inherits no other descriptors, and signals have their default action. Its environment is PATH of
/// this process, HOME=/, LANG=C.UTF-8 and `environment`. The kernel's OOM killer prefers it to this
/// process. Its descriptor limit is the one this process was started with.
struct SubprocessSpec {
  /// Action if the program prints more than `max_output`: kill it, or discard the rest.
  enum class Excess { kEnd, kDiscard };
  /// The number of bytes of stderr that are kept; the rest is discarded.
  static constexpr std::size_t kMaxErrors = 4096;

  /// The program, as a path or a name in the PATH of its environment, and its arguments. No shell
  /// is involved.
  std::vector<std::string> argv;
  std::chrono::milliseconds timeout{};
  std::size_t max_output = 0;                      ///< bytes of stdout that are kept
  Excess excess = Excess::kEnd;                    ///< action above `max_output`
  std::map<std::string, std::string> environment;  ///< can override PATH, HOME and LANG
};

/// How a subprocess ended.
enum class SubprocessEnd {
  kExited,         ///< with an exit code
  kSignalled,      ///< by a signal that this process did not send
  kTimedOut,       ///< stopped at its timeout
  kCancelled,      ///< stopped, or never started, because of the Cancellation
  kTooMuchOutput,  ///< killed because it printed more than `max_output`
  kFailed,         ///< it could not be started or watched
};

struct SubprocessResult {
  SubprocessEnd end = SubprocessEnd::kFailed;
  int code = 0;       ///< the exit code of kExited, the signal of kSignalled
  std::string error;  ///< the reason for kFailed
  std::string output;
  bool output_cut = false;   ///< the program printed more than is kept
  std::string error_output;  ///< the beginning of stderr
  /// The pidfd of a process that hangs in the kernel and did not end after SIGKILL. Call HasEnded
  /// until it returns true, or a zombie remains. Normally empty.
  UniqueFd left_behind;
};

/// Runs a program in a new process group and blocks until it has ended: call it on a pool thread,
/// never on the loop. At the timeout and on cancellation the group receives SIGTERM, and SIGKILL
/// one second later. Processes that remain in the group when the program ends are killed. Returns
/// at most two seconds after the timeout, even if the program hangs in the kernel. Processes that
/// left the group, such as daemons, continue to run and are reaped by their new parent: in a
/// container, by its init process.
SubprocessResult RunSubprocess(const SubprocessSpec& spec, const Cancellation& cancellation);

/// Returns whether a process that was left behind has ended, and reaps it in that case. Its pidfd
/// becomes readable when the process ends.
bool HasEnded(const UniqueFd& left_behind);

/// Describes how the program ended: `/bin/card-ok ended with exit code 1`. One line of limited
/// length, safe to print.
std::string DescribeEnd(const SubprocessSpec& spec, const SubprocessResult& result);

/// Returns the text, followed by the last line of stderr, if there is one: `…: no card`.
std::string WithErrorLine(std::string text, const SubprocessResult& result);

/// Like DescribeEnd, followed by the last line of stderr: `…: no card`.
std::string Describe(const SubprocessSpec& spec, const SubprocessResult& result);

/// Like DescribeEnd, followed by the first lines of stderr and stdout: `…: no card; see dmesg`.
std::string DescribeWithOutput(const SubprocessSpec& spec, const SubprocessResult& result);

}  // namespace patchbay
