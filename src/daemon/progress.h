#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "http/routes.h"

namespace patchbay {

/// What bounds the work without which the kubelet cannot register a resource or admit a pod.
struct ProgressLimits {
  /// Of the start or stop of a gRPC server, which takes less than a second.
  std::chrono::milliseconds server = std::chrono::seconds(30);
  /// Of a look at the kubelet's directory, which takes milliseconds.
  std::chrono::milliseconds look = std::chrono::seconds(30);
  /// Of an Allocate or PreStartContainer call. Lookups end after 5 s and hooks after 27 s at most.
  std::chrono::milliseconds call = std::chrono::seconds(60);
};

/// The work of this kind that is under way.
struct Progress {
  using Time = std::chrono::steady_clock::time_point;
  /// For how long the oldest start or stop of a server has waited or run.
  std::chrono::nanoseconds server{};
  std::chrono::nanoseconds look{};  ///< the same of the look at the kubelet's directory
  /// The call that is pending for longest: since when, and of which resource.
  std::optional<std::pair<Time, std::string>> call;
};

/// Whether the process can still do what the kubelet needs it for; if not, a restart may help.
Verdict JudgeProgress(const Progress& progress, const ProgressLimits& limits, Progress::Time now);

}  // namespace patchbay
