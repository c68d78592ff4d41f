#pragma once

#include <optional>

#include "base/result.h"

namespace patchbay {

/// Where this process is PID 1, as in a container whose image has no init, orphans are its
/// children, and stay zombies for ever unless it reaps them; RunChild reaps only its own. So this
/// forks. In the copy, which is to do the work and which the kernel ends with PID 1, it returns
/// nothing at once. PID 1 stays in here as an init: it reaps all that ends, passes SIGHUP, SIGINT,
/// SIGQUIT, SIGUSR1, SIGUSR2 and SIGTERM on to the copy, and returns the exit code once the copy
/// has ended: its own, or 128 and its signal. Where the process is not PID 1 this does nothing and
/// returns nothing. Call it before there are threads, which a copy would lack, and before memory is
/// filled, which there would be twice. If there can be no copy that is an error, after which all is
/// as before.
Result<std::optional<int>> RunAsInit();

}  // namespace patchbay
