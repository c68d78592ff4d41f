#pragma once

#include <string_view>

#include "dra/health_list.h"
#include "dra/published_pool.h"

namespace patchbay {

/// Returns the health of all devices of a resource that have a name, also of missing ones, in the
/// order of the snapshot. The message of an unhealthy device is the reason. Evicts no pod; see
/// kUnhealthyTaint for that. Pure.
PoolHealth HealthOfPool(const NamedDevices& devices, std::string_view node_name);

}  // namespace patchbay
