#include "api_server_sim/faults.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"

namespace patchbay::api_sim {

bool IsPerformed(FaultType type) {
  switch (type) {
    case FaultType::kError:
    case FaultType::kReset:
    case FaultType::kHang:
    case FaultType::kEndlessBody: return false;
    case FaultType::kLoseResponse:
    case FaultType::kSlowBody:
    case FaultType::kMalformedJson:
    case FaultType::kCutBody: break;
  }
  return true;
}

std::optional<Fault> FaultPlan::Take(Verb verb, Kind kind) {
  const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.verb.value_or(verb) == verb && fault.kind.value_or(kind) == kind;
  });
  if (found == faults_.end()) return std::nullopt;
  const Fault fault = *found;
  if (found->times == 1) {
    faults_.erase(found);
  } else if (found->times > 1) {
    --found->times;
  }
  return fault;
}

int FaultPlan::Left() const {
  return std::accumulate(faults_.begin(), faults_.end(), 0,
                         [](int sum, const Fault& fault) { return sum + fault.times; });
}

ApiError ErrorOf(const Fault& fault) {
  ApiError error = ErrorFor(fault.code, Format("fault injected: status {}", fault.code));
  error.retry_after = fault.retry_after;
  return error;
}

}  // namespace patchbay::api_sim
