#pragma once

#include "dra/claim.h"
#include "dra/wanted_pool.h"
#include "status/dra_status.h"

namespace patchbay {

/// The parts of a DraStatus, from the values of dra/. Pure.

/// Returns what `pool` determines: devices, taints by the IDs of `devices`, problems, and the
/// reason if the resource is not served. What the API server has is not set.
DraPoolStatus StatusOfPool(const WantedPool& pool, const NamedDevices& devices);

DraClaimStatus StatusOfClaim(const PreparedClaim& prepared);

}  // namespace patchbay
