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

/// Ends running children from another thread, once and for all. Thread-safe; it must outlive the
/// calls of RunChild that it was given to, of which there may be many.
class Cancellation {
 public:
  static Result<Cancellation> Create();

  void Trigger() const;
  bool triggered() const;
  /// Can be read once it was triggered.
  int fd() const { return fd_.get(); }

 private:
  explicit Cancellation(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

/// A program to run, and its bounds. It gets /dev/null as stdin, no other descriptor but stdout and
/// stderr, "/" as its directory, signals as a login has them, and of the environment only PATH
/// beside HOME=/, LANG=C.UTF-8 and what is given here. When memory runs out it goes before this
/// process. Its limit of descriptors is the one this process was started with.
struct ChildSpec {
  enum class Excess { kEnd, kDiscard };
  /// Bytes of stderr that are kept; more is discarded.
  static constexpr std::size_t kMostErrors = 4096;

  /// The program, by its path or as a name to be looked for in PATH, and its arguments. No shell.
  std::vector<std::string> argv;
  std::chrono::milliseconds timeout{};
  std::size_t most_output = 0;                     ///< bytes of stdout that are kept
  Excess excess = Excess::kEnd;                    ///< what becomes of a child that prints more
  std::map<std::string, std::string> environment;  ///< may replace the three above
};

/// How a child ended.
enum class ChildEnd {
  kExited,         ///< by itself, with an exit code
  kSignalled,      ///< by a signal that is not ours
  kTimedOut,       ///< stopped at its timeout
  kCancelled,      ///< stopped, or not even started, because of the Cancellation
  kTooMuchOutput,  ///< killed since it printed more than `most_output`
  kFailed,         ///< it could not be started or watched
};

struct ChildResult {
  ChildEnd end = ChildEnd::kFailed;
  int code = 0;       ///< the exit code of kExited, the signal of kSignalled
  std::string error;  ///< of kFailed: why
  std::string output;
  bool output_cut = false;   ///< there was more than is kept
  std::string error_output;  ///< the beginning of stderr
  /// A process that not even SIGKILL has ended, since it hangs in the kernel: its pidfd, to be
  /// given to HasEnded until that is so, lest a zombie stays. Normally empty.
  UniqueFd left_behind;
};

/// Runs a program in a process group of its own, and blocks until it has ended: for a worker, never
/// for the loop. At its timeout, and when it is cancelled, the group gets SIGTERM, and SIGKILL a
/// second later; what a child leaves in its group when it ends is killed. Whatever the child does,
/// this returns within the timeout and two seconds more. What left the group, as a daemon does,
/// lives on, and is reaped by whoever is its parent then: PID 1, which os/init.h sees to.
ChildResult RunChild(const ChildSpec& spec, const Cancellation& cancellation);

/// Whether a process that was left behind has ended by now; if so, nothing of it is left.
/// The pidfd becomes readable when that happens.
bool HasEnded(const UniqueFd& left_behind);

/// How it ended, as a sentence with the program's name: `/bin/card-ok ended with exit code 1`. One
/// line, safe to print, and bounded.
std::string DescribeEnd(const ChildSpec& spec, const ChildResult& result);

/// The same, and the last line that it printed to stderr: `…: no card`.
std::string Describe(const ChildSpec& spec, const ChildResult& result);

/// The same, and the first lines of all that it printed, errors first: `…: no card; see dmesg`.
std::string DescribeWithOutput(const ChildSpec& spec, const ChildResult& result);

}  // namespace patchbay
