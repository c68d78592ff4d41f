#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// A claim as plain values: what is allocated to it, of the ResourceClaim of resource.k8s.io/v1,
/// which claim_json.h reads; and what is prepared for its containers, which claim_plan.h computes
/// and claim_record.h keeps.

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
  std::string pod_claim_name = {};  ///< in the pod whose template made the claim; or ""
  bool is_allocated = false;
  std::vector<AllocatedDevice> devices;  ///< of this driver
  /// In increasing order of precedence: those of device classes, then those of the claim.
  std::vector<DeviceConfig> configs;
  bool operator==(const ResourceClaim&) const = default;
};

/// Returns the name of a request for the kubelet: without the subrequest of a prioritized list.
inline std::string_view MainRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

/// A device that is prepared for a claim.
struct PreparedDevice {
  std::string pool;
  std::string device;          ///< its name in the slice
  std::string device_id = {};  ///< of the snapshot
  std::string share_id = {};   ///< empty unless the device allows several allocations
  /// The replicas of the device that the claim has. With admin access, the first one, which other
  /// claims can have as well.
  std::vector<int> replicas = {};
  bool admin_access = false;
  bool operator==(const PreparedDevice&) const = default;
};

/// The devices of one resource for a request of a claim: what Allocate renders, and one CDI device.
struct PreparedRequest {
  std::string request;          ///< without a subrequest
  std::string subrequest = {};  ///< "request/subrequest" of a prioritized list, or ""
  std::string resource = {};
  std::vector<PreparedDevice> devices = {};  ///< at least one
  /// The replicas of the resource in earlier requests of the claim: `{slot}` counts from here,
  /// because a container can have all requests.
  std::int64_t first_slot = 0;
  std::map<std::string, std::string> env = {};  ///< of the parameters of the claim and its classes
  std::vector<std::string> cdi_devices = {};    ///< "vendor/class=name", of all devices together
  std::vector<std::string> nodes = {};          ///< of all devices: "c 188:0 /dev/ttyUSB0"
  std::string config = {};                      ///< a hash of the templates of the resource
  std::string values = {};                      ///< a hash of the variables that they had
  bool operator==(const PreparedRequest&) const = default;
};

/// The content of the metadata file of a request, see claim_metadata.h.
struct ClaimMetadata {
  std::string request;
  std::string text;
  bool operator==(const ClaimMetadata&) const = default;
};

struct PreparedClaim {
  ClaimKey claim;
  std::string pod_claim_name = {};
  std::vector<PreparedRequest> requests;
  std::vector<ClaimMetadata> metadata = {};  ///< for some or all requests
  std::string boot = {};                     ///< the boot of the host in which the hooks ran
  /// False: hooks of the claim may have run in part, before or after containers had it. There is no
  /// CDI file, Prepare runs all hooks again, and Unprepare runs `release`.
  bool is_finished = false;
  std::string cdi_file = {};  ///< its text
  bool operator==(const PreparedClaim&) const = default;
};

}  // namespace patchbay
