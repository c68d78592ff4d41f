#include "model/device.h"

#include <algorithm>

namespace patchbay {

void MergeValues(NamedValues from, NamedValues& into) {
  for (auto& value : from) {
    const bool known = std::any_of(into.begin(), into.end(),
                                   [&](const auto& other) { return other.first == value.first; });
    if (!known) into.push_back(std::move(value));
  }
}

std::string_view Name(Health health) {
  return health == Health::kHealthy ? "Healthy" : "Unhealthy";
}

}  // namespace patchbay
