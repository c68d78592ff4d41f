#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace patchbay {

/// The ResourceClaim of resource.k8s.io/v1 as plain values: what its driver needs to prepare it.
/// claim_json.h reads it.

/// The maximum number of devices of a claim (kubernetes/api resource/v1/types.go,
/// AllocationResultsMaxSize).
inline constexpr std::size_t kMaxClaimDevices = 32;

/// Identifies a claim.
struct ClaimKey {
  std::string uid;
  std::string namespace_name;
  std::string name;
  bool operator==(const ClaimKey&) const = default;
};

/// One of status.allocation.devices.results.
struct AllocatedDevice {
  std::string request;  ///< "request", or "request/subrequest" of a prioritized list
  std::string pool;
  std::string device;         ///< its name in the slice
  std::string share_id = {};  ///< empty unless the device allows several allocations
  bool admin_access = false;
  bool tolerates_unhealthy = false;  ///< the claim tolerates kUnhealthyTaint
  std::int64_t slots = 1;            ///< of the capacity `slots`
  bool operator==(const AllocatedDevice&) const = default;
};

/// Parameters of a claim or a device class for this driver.
struct DeviceConfig {
  std::vector<std::string> requests;  ///< the names of requests; empty: all
  std::map<std::string, std::string>
      env;  ///< valid names and values, in addition to the resource's
  bool operator==(const DeviceConfig&) const = default;
};

struct ResourceClaim {
  ClaimKey key;
  bool is_allocated = false;
  std::vector<AllocatedDevice> devices;  ///< of this driver
  /// In increasing order of precedence: those of device classes, then those of the claim.
  std::vector<DeviceConfig> configs;
  bool operator==(const ResourceClaim&) const = default;
};

}  // namespace patchbay
