#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/child.h"
#include "os/unique_fd.h"

namespace patchbay {

/// A program to start, see ChildSpec.
struct SpawnSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value
  UniqueFd output;                       ///< its stdout
  UniqueFd errors;                       ///< its stderr
};

/// What came of it. One of the three is so: there is a `pid`, it `timed_out`, or it was
/// `cancelled`.
struct Spawned {
  pid_t pid = 0;  ///< of the process and its group; to be reaped by the caller
  bool timed_out = false;
  bool cancelled = false;
  UniqueFd left_behind = {};  ///< without a `pid`, see ChildResult
};

/// Starts a program, in a process group of its own. The start itself hangs while the file system of
/// the program does; at `deadline`, and when it is cancelled, the new process is killed. Fails
/// where the program cannot be executed, with what to do.
Result<Spawned> Spawn(SpawnSpec spec, std::chrono::steady_clock::time_point deadline,
                      const Cancellation& cancellation);

}  // namespace patchbay
