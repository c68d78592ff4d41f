#include "model/device.h"

namespace patchbay {

std::string_view Name(Health health) {
  return health == Health::kHealthy ? "Healthy" : "Unhealthy";
}

}  // namespace patchbay
