#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/subprocess.h"
#include "os/unique_fd.h"

namespace patchbay {

/// A program to start; see SubprocessSpec.
struct SpawnSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value; the program is looked up in its PATH
  UniqueFd output;                       ///< its stdout
  UniqueFd errors;                       ///< its stderr
};

/// The result: exactly one of `pid`, `timed_out` and `cancelled` is set.
struct Spawned {
  pid_t pid = 0;          ///< of the process and its group; the caller reaps it
  UniqueFd process = {};  ///< its pidfd
  bool timed_out = false;
  bool cancelled = false;
  UniqueFd left_behind = {};  ///< set only without a `pid`; see SubprocessResult
};

/// Starts a program in a new process group. Blocks while the file system of the program blocks; at
/// `deadline` and on cancellation the new process is killed, so that the program never starts.
/// Fails with a hint if the program cannot be executed.
Result<Spawned> Spawn(SpawnSpec spec, std::chrono::steady_clock::time_point deadline,
                      const Cancellation& cancellation);

}  // namespace patchbay
