#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dra/claim.h"
#include "dra/wanted_pool.h"

namespace patchbay {

/// A device of a claim.
struct PlannedDevice {
  std::string pool;
  std::string device;         ///< its name in the slice
  std::string device_id;      ///< of the snapshot
  std::string share_id = {};  ///< empty unless the device allows several allocations
  /// The replicas of the device that the claim gets. With admin access, the first one, which other
  /// claims can have as well.
  std::vector<int> replicas;
  bool admin_access = false;
  bool operator==(const PlannedDevice&) const = default;
};

/// The devices of one resource that a request of a claim gets: the unit that Allocate renders.
struct PlannedRequest {
  std::string request;  ///< without a subrequest, as the kubelet expects it
  std::string resource;
  std::vector<PlannedDevice> devices = {};
  std::vector<std::string> units = {};  ///< the advertised IDs of all replicas
  /// The units of the resource in earlier requests of the claim: `{slot}` counts from here, because
  /// a container can have all requests.
  std::int64_t first_slot = 0;
  std::map<std::string, std::string> env = {};  ///< of the parameters of the claim and its classes
  bool operator==(const PlannedRequest&) const = default;
};

/// How to prepare a claim.
struct ClaimPlan {
  ClaimKey claim;
  std::vector<PlannedRequest> requests;
  bool operator==(const ClaimPlan&) const = default;
};

/// A device that is prepared for a claim, with admin access or not.
struct PreparedUse {
  ClaimKey claim;
  PlannedDevice device;
  std::string file = {};  ///< the record of the claim
};

/// The resources that this Kubernetes node serves, by the name of the pool; null for one that was
/// not scanned yet.
using ServedPools = std::map<std::string, const NamedDevices*, std::less<>>;

/// A claim that the kubelet wants prepared.
struct ClaimRequest {
  ClaimKey key;  ///< from the kubelet
  /// From the API server: kNotFound if it has none; another error if it could not be read.
  Result<ResourceClaim> claim;
};

/// Returns a plan or an error for each claim, in their order. Claims of one call see the devices of
/// the earlier ones as prepared; otherwise an error does not affect the other claims.
///
/// The message of an error names the claim, the device and a fix, and is printable. Fails with
/// kNotFound if the claim, the pool or the device does not exist; with kPrecondition if the claim
/// has another UID or no allocation, or if a device is unhealthy or prepared for another claim;
/// with kInvalid for more devices than max_per_container. Pure.
std::vector<Result<ClaimPlan>> PlanClaims(std::span<const ClaimRequest> claims,
                                          std::string_view driver, const ServedPools& pools,
                                          std::span<const PreparedUse> prepared);

/// Returns the name of a request for the kubelet: without the subrequest of a prioritized list.
std::string_view MainRequest(std::string_view request);

}  // namespace patchbay
