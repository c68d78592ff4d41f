#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "model/device.h"
#include "model/spec.h"
#include "os/host_root.h"
#include "os/subprocess.h"

namespace patchbay {

/// What one run of a probe came to. The names are values of a metric label.
enum class ProbeResult {
  kSuccess,
  kFailure,  ///< the probe says that the device does not work
  kTimeout,  ///< no answer in time
  kError,    ///< the probe could not be run: a missing program, a right that is not there
};
inline constexpr ProbeResult kAllProbeResults[] = {ProbeResult::kSuccess, ProbeResult::kFailure,
                                                   ProbeResult::kTimeout, ProbeResult::kError};
/// "success", "failure", "timeout", "error"
std::string_view Name(ProbeResult result);

struct ProbeOutcome {
  ProbeResult result = ProbeResult::kError;
  std::string reason = {};  ///< one line for people, bounded, of all but a success
  std::string output = {};  ///< what a program printed, cut at 4 KiB; any bytes
  std::chrono::nanoseconds took = {};
  bool hangs = false;         ///< it is still under way; another outcome will follow
  bool over = false;          ///< one that hung has ended, and says nothing more than that
  UniqueFd left_behind = {};  ///< see SubprocessResult; ProbePool takes it
};

/// What a probe needs to know besides the device.
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
