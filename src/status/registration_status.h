#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// Registration of a resource with the kubelet. The names are values in /api/v1/status.
enum class RegistrationState {
  kWaiting,      ///< for the kubelet's socket
  kRegistering,  ///< an attempt is in progress
  kRetrying,     ///< the last attempt failed; the next one follows after a pause
  kRegistered,   ///< the kubelet reads the device list
  kRetiring,     ///< the resource was removed, or the process shuts down
};
/// "waiting", "registering", …
std::string_view Name(RegistrationState state);

struct RegistrationStatus {
  RegistrationState state = RegistrationState::kWaiting;
  std::string reason = {};  ///< what it waits for, or the last failure; empty if there is none

  bool operator==(const RegistrationStatus&) const = default;
};

}  // namespace patchbay
