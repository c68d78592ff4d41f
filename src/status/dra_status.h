#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace patchbay {

/// The slices of one resource at the API server.
struct DraPoolStatus {
  std::string pool;
  std::string device_class = {};  ///< the name of its DeviceClass
  std::size_t devices = 0;        ///< that are to be published
  std::size_t slices = 0;         ///< at the API server
  std::int64_t generation = 0;
  bool is_current = false;  ///< the API server has the devices as they are now
  std::uint64_t writes = 0;
  std::uint64_t failures = 0;
  std::string error = {};                          ///< of the last write; empty after a success
  std::string not_served = {};                     ///< why the resource has no slice
  std::map<std::string, std::string> taints = {};  ///< "patchbay.dev/gone:NoExecute" by device ID
  std::vector<std::string> problems = {};          ///< what is not published, and why
  bool operator==(const DraPoolStatus&) const = default;
};

/// A device of a prepared claim.
struct DraClaimDevice {
  std::string resource;
  std::string device_id;
  std::string request;
  bool admin_access = false;
  bool operator==(const DraClaimDevice&) const = default;
};

/// A claim that is prepared on this node.
struct DraClaimStatus {
  std::string uid;
  std::string namespace_name;
  std::string name;
  std::vector<DraClaimDevice> devices;
  bool operator==(const DraClaimStatus&) const = default;
};

/// Dynamic Resource Allocation on this node at one moment. A value, immutable once shared.
struct DraStatus {
  std::string driver;
  bool registered = false;              ///< with the kubelet
  std::string registration_error = {};  ///< of the last attempt; empty after a success
  std::string api_server = {};          ///< its URL
  bool api_server_up = false;
  std::string api_server_error = {};             ///< of the last request; empty after a success
  std::vector<std::string> dropped_fields = {};  ///< that the API server does not store
  /// Requests since the start, by verb and result, see ApiStats.
  std::map<std::pair<std::string, std::string>, std::uint64_t> requests = {};
  std::map<std::string, DraPoolStatus> resources = {};
  std::vector<DraClaimStatus> claims = {};  ///< ordered by namespace and name
  bool operator==(const DraStatus&) const = default;
};

}  // namespace patchbay
