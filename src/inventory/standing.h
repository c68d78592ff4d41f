#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// How far a resource is with the kubelet. The names are values in /api/v1/status.
enum class StandingState {
  kWaiting,      ///< for the kubelet's socket
  kRegistering,  ///< under way
  kRetrying,     ///< it failed; the next attempt comes after a pause
  kRegistered,   ///< the kubelet reads its list
  kRetiring,     ///< it is no more, or the process ends
};
/// "waiting", "registering", …
std::string_view Name(StandingState state);

struct Standing {
  StandingState state = StandingState::kWaiting;
  std::string reason = {};  ///< what is waited for, or what failed last; empty where all is well

  bool operator==(const Standing&) const = default;
};

}  // namespace patchbay
