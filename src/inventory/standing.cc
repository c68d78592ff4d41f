#include "inventory/standing.h"

namespace patchbay {

std::string_view Name(StandingState state) {
  switch (state) {
    case StandingState::kWaiting: return "waiting";
    case StandingState::kRegistering: return "registering";
    case StandingState::kRetrying: return "retrying";
    case StandingState::kRegistered: return "registered";
    case StandingState::kRetiring: return "retiring";
  }
  return "";
}

}  // namespace patchbay
