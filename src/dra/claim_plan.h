#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dra/claim.h"
#include "dra/wanted_pool.h"

namespace patchbay {

/// The resources that this Kubernetes node serves, by the name of the pool; null for one that was
/// not scanned yet.
using ServedPools = std::map<std::string, const NamedDevices*, std::less<>>;

/// The state of this Kubernetes node in which a claim is prepared. A view.
struct ClaimContext {
  std::string_view driver;
  const ServedPools& pools;
  std::span<const PreparedClaim* const> prepared = {};  ///< all claims, with this one
  std::string_view records = {};                        ///< the directory of their records
};

/// Returns the devices and the variables that a claim gets. What depends on the nodes of the
/// devices is not set: CDI devices, hashes and the CDI file. `key` is from the kubelet; `claim`
/// from the API server: kNotFound if it has none, another error if it could not be read.
///
/// The message of an error names the claim, the device and a fix, and is printable. Fails with
/// kNotFound if the claim, the pool or the device does not exist; with kPrecondition if the claim
/// has another UID or no allocation, or if a device is unhealthy or prepared for another claim;
/// with kInvalid for more devices than max_per_container. Pure.
Result<PreparedClaim> PlanClaim(const ClaimKey& key, const Result<ResourceClaim>& claim,
                                const ClaimContext& context);

}  // namespace patchbay
