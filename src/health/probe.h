#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "model/device.h"
#include "model/spec.h"
#include "os/host_root.h"
#include "os/subprocess.h"

namespace patchbay {

/// The result of one run of a probe. The names are values of a metric label.
enum class ProbeResult {
  kSuccess,
  kFailure,  ///< the probe reports that the device does not work
  kTimeout,  ///< the timeout was exceeded
  kError,    ///< the probe could not run: a missing program or permission
};
inline constexpr ProbeResult kAllProbeResults[] = {ProbeResult::kSuccess, ProbeResult::kFailure,
                                                   ProbeResult::kTimeout, ProbeResult::kError};
/// Returns "success", "failure", "timeout" or "error".
std::string_view Name(ProbeResult result);

struct ProbeOutcome {
  ProbeResult result = ProbeResult::kError;
  std::string reason = {};  ///< one line of limited length; empty for a success
  std::string output = {};  ///< the output of the program, at most 4 KiB; any bytes
  std::chrono::nanoseconds took = {};
  bool hangs = false;         ///< the run continues; another outcome follows
  bool over = false;          ///< a run that hung has ended; this is not a result
  UniqueFd left_behind = {};  ///< see SubprocessResult; ProbePool takes it
};

/// The environment of a probe.
struct ProbeContext {
  std::string resource;
  std::string node_name;  ///< of the Kubernetes node
  HostRoot host;
  std::shared_ptr<const Cancellation> cancellation;
};

/// Runs the probe once and blocks. Run it on a pool thread: opening a broken device can hang
/// forever. A program is limited by its timeout, see RunSubprocess.
ProbeOutcome RunProbe(const ProbeSpec& spec, const Device& device, const ProbeContext& context);

}  // namespace patchbay
