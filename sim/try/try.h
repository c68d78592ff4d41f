#pragma once

#include "cli/arguments.h"

namespace patchbay {

/// Runs `try`: the daemon against a built-in kubelet and API server, until a signal or, with
/// --once, the end of the report. Returns the exit code of the process. Blocks. Call it once,
/// before other threads start.
int RunWithSimulators(const Arguments& arguments, Streams streams);

}  // namespace patchbay
