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

/// The devices of one resource that are in use.
struct PodUsage {
  DeviceHolders holders = {};  ///< by device ID, without replica
  std::size_t units = 0;       ///< the number of IDs of the kubelet that are in use
  bool operator==(const PodUsage&) const = default;
};

}  // namespace patchbay
