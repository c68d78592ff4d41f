#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace patchbay {

/// A container that uses a device.
struct Holder {
  std::string pod_namespace;
  std::string pod;
  std::string container;

  auto operator<=>(const Holder&) const = default;  // NOLINT(modernize-use-nullptr): for its own 0
};

/// The containers that use the devices of one resource, by the ID for the kubelet. No entry is
/// empty.
using DeviceHolders = std::map<std::string, std::set<Holder>>;

/// The DeviceHolders of all resources of the node, by resource name.
using Holders = std::map<std::string, DeviceHolders>;

/// Identifies a device of a DRA driver, as in a ResourceSlice.
struct PoolDevice {
  std::string pool;
  std::string device;

  auto operator<=>(const PoolDevice&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// A container that uses a device through a ResourceClaim, which is in the namespace of the pod.
struct ClaimHolder {
  Holder holder;
  std::string claim;

  auto operator<=>(const ClaimHolder&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// The containers that use the devices of one DRA driver. No entry is empty.
using DriverHolders = std::map<PoolDevice, std::set<ClaimHolder>>;

/// The devices of one resource that are in use.
struct PodUsage {
  DeviceHolders holders = {};  ///< by device ID, without replica
  std::size_t units = 0;       ///< the number of IDs of the kubelet that are in use
  bool operator==(const PodUsage&) const = default;
};

}  // namespace patchbay
