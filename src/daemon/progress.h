#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "http/routes.h"

namespace patchbay {

/// Time limits for the work that registration and pod admission depend on.
struct ProgressLimits {
  /// For creating or removing a socket, which normally takes less than a second.
  std::chrono::milliseconds server = std::chrono::seconds(30);
  /// For a check of the kubelet's directory, which normally takes milliseconds.
  std::chrono::milliseconds directory = std::chrono::seconds(30);
  /// For an Allocate or PreStartContainer call. Lookups end after 5 s and hooks after 27 s at most.
  std::chrono::milliseconds call = std::chrono::seconds(60);
};

/// The work of this kind that is in progress.
struct Progress {
  using Time = std::chrono::steady_clock::time_point;
  /// The time that the oldest start or stop of a server has waited or run.
  std::chrono::nanoseconds server{};
  std::chrono::nanoseconds directory{};  ///< the same for the check of the kubelet's directory
  /// The call that has been pending longest: its start and its resource.
  std::optional<std::pair<Time, std::string>> call;
};

/// Decides if the process can still serve the kubelet; if not, a restart may help. Pure.
CheckResult CheckProgress(const Progress& progress, const ProgressLimits& limits,
                          Progress::Time now);

}  // namespace patchbay
