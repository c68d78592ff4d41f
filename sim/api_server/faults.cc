#include "sim/api_server/faults.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay::api_sim {

bool IsPerformed(FaultType type) { return type >= FaultType::kLoseResponse; }

std::optional<Fault> TakeFault(std::vector<Fault>& faults, Verb verb) {
  const auto found = std::ranges::find_if(
      faults, [&](const Fault& fault) { return fault.verb.value_or(verb) == verb; });
  if (found == faults.end()) return std::nullopt;
  const Fault fault = *found;
  if (found->times == 1) {
    faults.erase(found);
  } else if (found->times > 1) {
    --found->times;
  }
  return fault;
}

ApiError ErrorOf(const Fault& fault) {
  ApiError error = ErrorFor(fault.code, Format("fault injected: status {}", fault.code));
  error.retry_after = fault.retry_after;
  return error;
}

}  // namespace patchbay::api_sim
