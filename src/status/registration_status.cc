#include "status/registration_status.h"

namespace patchbay {

std::string_view Name(RegistrationState state) {
  switch (state) {
    case RegistrationState::kWaiting: return "waiting";
    case RegistrationState::kRegistering: return "registering";
    case RegistrationState::kRetrying: return "retrying";
    case RegistrationState::kRegistered: return "registered";
    case RegistrationState::kRetiring: return "retiring";
  }
  return "";
}

}  // namespace patchbay
